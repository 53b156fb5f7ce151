// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
)

// call is one request for objects.
type call struct {
	*Transport
	request *http.Request
	verb    string
	target  Target
	body    []byte
	options metav1.ListOptions
	encoding
}

func (t *Transport) newCall(request *http.Request, info *apirequest.RequestInfo, body []byte) (*call, error) {
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	resource := t.backend.Resource(gvr, info.Namespace)
	if resource != nil && resource.Kind == "" {
		resource = withoutObjects(resource, request, info.Verb)
	}
	if resource == nil {
		return nil, noSuchResource(gvr, info.Verb)
	}
	c := &call{Transport: t, request: request, verb: info.Verb, body: body, target: Target{
		Resource: resource, Namespace: info.Namespace, Name: info.Name, Subresource: info.Subresource,
	}}
	if !resource.Namespaced {
		c.target.Namespace = ""
	}
	if err := scheme.ParameterCodec.DecodeParameters(request.URL.Query(), v1.SchemeGroupVersion, &c.options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if request.URL.Query().Has("dryRun") {
		return nil, apierrors.NewBadRequest("dry runs are not simulated")
	}
	var err error
	c.encoding, err = t.negotiate(request, resource)
	return c, err
}

// withoutObjects returns how a kind is served that is not known yet. Dynamic clients are shown that there are no objects, and may
// wait for some; the name of the kind does not matter to them. Typed clients have to be told the kind, so that they get an error.
func withoutObjects(resource *Resource, request *http.Request, verb string) *Resource {
	if verb != "list" && verb != "watch" || strings.Contains(request.Header.Get("Accept"), "*/*") {
		return nil
	}
	unknown := *resource
	unknown.Kind = "Unknown"
	return &unknown
}

// noSuchResource is the answer of a server that does not know a kind of object.
func noSuchResource(gvr schema.GroupVersionResource, verb string) error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, verb, gvr.GroupResource(), "",
		"the simulated cluster does not have this kind", 0, false)
	err.ErrStatus.Message = fmt.Sprintf("the server could not find the requested resource (%s %s): the cluster has neither an object of this kind nor its CustomResourceDefinition, and no scheme of the program has its type",
		verb, gvr.GroupResource())
	return err
}

func (c *call) answer() (*http.Response, error) {
	switch c.verb {
	case "get":
		return c.object(http.StatusOK)(c.backend.Get(c.target))
	case "list":
		return c.list()
	case "watch":
		return c.watch()
	case "create":
		return c.create()
	case "update":
		return c.update()
	case "patch":
		return c.object(http.StatusOK)(c.backend.Patch(c.target, c.patchType(), c.body))
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection()
	}
	return nil, apierrors.NewMethodNotSupported(c.target.Resource.GroupResource(), c.verb)
}

// object returns a function that answers with an object.
func (c *call) object(code int) func(Object, error) (*http.Response, error) {
	return func(o Object, err error) (*http.Response, error) {
		if err != nil {
			return nil, err
		}
		if o == nil {
			return success(), nil
		}
		data, err := c.encode(o)
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", c.target.Resource.Kind, o.GetName(), err)
		}
		return respondWith(code, c.contentType, data), nil
	}
}

func (c *call) list() (*http.Response, error) {
	selector, err := c.selector()
	if err != nil {
		return nil, err
	}
	c.target.Name = ""
	all, version := c.backend.List(c.target)
	var chosen []Object
	for _, o := range all {
		if selector.matches(o) {
			chosen = append(chosen, o)
		}
	}
	data, err := c.encodeList(chosen, version)
	if err != nil {
		return nil, fmt.Errorf("encoding a list of %s: %w", c.target.Resource.Resource, err)
	}
	return respondWith(http.StatusOK, c.contentType, data), nil
}

func (c *call) create() (*http.Response, error) {
	created, err := c.decode(c.created())
	if err != nil {
		return nil, err
	}
	return c.object(http.StatusCreated)(c.backend.Create(c.target, created))
}

// created returns the kind of object that a request to create one carries.
func (c *call) created() schema.GroupVersionKind {
	switch c.target.Subresource {
	case "binding":
		return v1.SchemeGroupVersion.WithKind("Binding")
	case "eviction":
		return policyv1.SchemeGroupVersion.WithKind("Eviction")
	}
	return c.target.Resource.GroupVersionKind()
}

func (c *call) update() (*http.Response, error) {
	decoded, err := c.decode(c.target.Resource.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	updated, isObject := decoded.(Object)
	if !isObject || updated.GetName() != c.target.Name || c.target.Namespace != "" && updated.GetNamespace() != "" && updated.GetNamespace() != c.target.Namespace {
		return nil, apierrors.NewBadRequest("the object of the request is not the one that its URL names")
	}
	updated.SetNamespace(c.target.Namespace)
	return c.object(http.StatusOK)(c.backend.Update(c.target, updated))
}

func (c *call) patchType() types.PatchType {
	contentType, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";")
	return types.PatchType(contentType)
}

func (c *call) delete() (*http.Response, error) {
	options, err := c.deleteOptions()
	if err != nil {
		return nil, err
	}
	if err := c.backend.Delete(c.target, options.Preconditions); err != nil {
		return nil, err
	}
	return success(), nil
}

func (c *call) deleteCollection() (*http.Response, error) {
	selector, err := c.selector()
	if err != nil {
		return nil, err
	}
	if _, err := c.deleteOptions(); err != nil {
		return nil, err
	}
	all, _ := c.backend.List(c.target)
	for _, o := range all {
		if !selector.matches(o) {
			continue
		}
		target := c.target
		target.Namespace, target.Name = o.GetNamespace(), o.GetName()
		if err := c.backend.Delete(target, nil); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return success(), nil
}

// deleteOptions reads the options of a deletion, which are its body, if any.
func (c *call) deleteOptions() (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if len(c.body) == 0 {
		return options, nil
	}
	var err error
	if mediaType, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";"); mediaType == "" || mediaType == apiruntime.ContentTypeJSON {
		err = json.Unmarshal(c.body, options)
	} else {
		var info apiruntime.SerializerInfo
		if info, err = negotiation.NegotiateInputSerializer(c.request, false, c.codecs); err == nil {
			_, _, err = info.Serializer.Decode(c.body, nil, options)
		}
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the options of the deletion: %v", err))
	}
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("dry runs are not simulated")
	}
	return options, nil
}
