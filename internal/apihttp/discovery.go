// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/version"
)

// discover answers what is not about objects: which kinds there are, and the version.
func (t *Transport) discover(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{}, request.Method)
	}
	switch parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/"); {
	case len(parts) == 1 && parts[0] == "version":
		return respondJSON(http.StatusOK, version.Get()), nil
	case len(parts) == 1 && parts[0] == "api":
		return respondJSON(http.StatusOK, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"},
		}), nil
	case len(parts) == 1 && parts[0] == "apis":
		return respondJSON(http.StatusOK, t.groups()), nil
	case len(parts) == 2 && parts[0] == "api":
		return t.resources(schema.GroupVersion{Version: parts[1]})
	case len(parts) == 2 && parts[0] == "apis":
		for _, group := range t.groups().Groups {
			if group.Name == parts[1] {
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return respondJSON(http.StatusOK, &group), nil
			}
		}
	case len(parts) == 3 && parts[0] == "apis":
		return t.resources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil, notServed(request.URL.Path)
}

// notServed is the answer for a path that there is not.
func notServed(path string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "nothing is served at "+path, 0, true)
}

// groups returns the API groups with their versions, the stable ones first.
func (t *Transport) groups() *metav1.APIGroupList {
	versions := make(map[string][]string)
	for _, resource := range t.backend.Resources() {
		if resource.Group != "" && !slices.Contains(versions[resource.Group], resource.Version) {
			versions[resource.Group] = append(versions[resource.Group], resource.Version)
		}
	}
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for name, served := range versions {
		slices.SortFunc(served, func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
		group := metav1.APIGroup{Name: name}
		for _, version := range served {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version})
		}
		group.PreferredVersion = group.Versions[0]
		list.Groups = append(list.Groups, group)
	}
	slices.SortFunc(list.Groups, func(a, b metav1.APIGroup) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// resources returns the kinds of a group and version.
func (t *Transport) resources(gv schema.GroupVersion) (*http.Response, error) {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, resource := range t.backend.Resources() {
		if resource.GroupVersion() != gv {
			continue
		}
		served := metav1.APIResource{
			Name: resource.Resource, SingularName: strings.ToLower(resource.Kind), Kind: resource.Kind, Namespaced: resource.Namespaced,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		}
		status := served
		status.Name, status.SingularName, status.Verbs = served.Name+"/status", "", metav1.Verbs{"get", "patch", "update"}
		list.APIResources = append(list.APIResources, served, status)
	}
	if len(list.APIResources) == 0 {
		return nil, notServed("/apis/" + gv.String())
	}
	return respondJSON(http.StatusOK, list), nil
}
