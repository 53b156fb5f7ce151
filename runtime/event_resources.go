// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// EventResourceError says that a plugin registered events of a resource that can never be announced, because no resource
// has that name. kube-scheduler logs such registrations, if it notices them, and starts.
type EventResourceError struct {
	Profile, Plugin string
	Resource        fwk.EventResource
	// Suggestion is the name that was probably meant; empty if none is like it.
	Suggestion fwk.EventResource
}

// Error implements error.
func (e *EventResourceError) Error() string {
	end := "a resource that is not in the event table is named plural.version.group, such as configmaps.v1. or queues.v1.example.com"
	if e.Suggestion != "" {
		end = fmt.Sprintf("did you mean %q?", e.Suggestion)
	}
	return fmt.Sprintf("profile %q: plugin %q registers events of %q, but no resource has that name, so it will never receive one; %s",
		e.Profile, e.Plugin, e.Resource, end)
}

// CheckEventResources returns an [*EventResourceError] for every resource that a plugin of one of the profiles registered
// and that can never be announced, joined into one; nil if there is none. Scheduling works without such events, but pods
// that only they could wake wait until they are tried again without an event.
func (p Profiles) CheckEventResources() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p)) {
		errs = append(errs, p[name].checkEventResources())
	}
	return errors.Join(errs...)
}

// checkEventResources is [Profiles.CheckEventResources] for one profile.
func (f *Framework) checkEventResources() error {
	var errs []error
	for _, plugin := range slices.Sorted(maps.Keys(f.hints)) {
		checked := map[fwk.EventResource]bool{}
		for _, registration := range f.hints[plugin] {
			resource := registration.Event.Resource
			if checked[resource] || announced(resource) {
				continue
			}
			checked[resource] = true
			errs = append(errs, &EventResourceError{f.ProfileName(), plugin, resource, suggestResource(resource)})
		}
	}
	return errors.Join(errs...)
}

// announced reports whether there can be events of a resource, as far as its name says. A kind that Kubernetes has is in
// the plural; of others nothing is known.
func announced(name fwk.EventResource) bool {
	if _, known := framework.LookupResource(name); known || name == fwk.Pod || name == fwk.WildCard {
		return true
	}
	custom, ok := framework.ParseCustomResource(name)
	if !ok || strings.ToLower(custom.Resource) != custom.Resource {
		return false
	}
	singular := false
	for kind := range scheme.Scheme.KnownTypes(custom.GroupVersion()) {
		plural, _ := meta.UnsafeGuessKindToResource(custom.GroupVersion().WithKind(kind))
		if plural == custom {
			return true
		}
		singular = singular || strings.ToLower(kind) == custom.Resource
	}
	return !singular
}

// suggestResource returns the resource that is probably meant by a name that is none. Whatever the name says in addition to the
// kind, such as the group, is left out of the comparison.
func suggestResource(name fwk.EventResource) fwk.EventResource {
	word := string(name)
	word = word[strings.LastIndex(word, "/")+1:]
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	names := resourceNames()
	if exact, found := names[word]; found {
		return exact
	}
	return names[manifest.Suggest(word, slices.Sorted(maps.Keys(names)))]
}

// resourceNames returns the official names of all resources of Kubernetes by their kinds and plurals in lower case.
func resourceNames() map[string]fwk.EventResource {
	names := map[string]fwk.EventResource{}
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		for kind := range scheme.Scheme.KnownTypes(version) {
			plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
			lower := strings.ToLower(kind)
			internal := version.Version == apiruntime.APIVersionInternal || strings.HasSuffix(kind, "List") || strings.HasSuffix(kind, "Options")
			if _, better := names[lower]; better || internal {
				continue
			}
			names[lower] = framework.CustomResource(plural)
			names[plural.Resource] = framework.CustomResource(plural)
		}
	}
	for _, row := range framework.Resources() {
		kind := strings.ToLower(string(row.Name[strings.LastIndex(string(row.Name), "/")+1:]))
		names[kind], names[row.Informer.Resource] = row.Name, row.Name
	}
	names["pod"], names["pods"] = fwk.Pod, fwk.Pod
	return names
}
