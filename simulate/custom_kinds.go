// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// customKind is what is known of a custom kind: from its definition, or else from objects.
type customKind struct {
	apihttp.Definition
	defined bool
}

// learnKinds takes what objects, and the definitions of custom resources among them, say of their kinds, and makes room for
// objects of these. Without a definition a kind is namespaced if one of its objects is.
func (s *store) learnKinds(objects []object) {
	var learned []schema.GroupVersionKind
	for _, o := range objects {
		gvk := kindOf(o)
		switch {
		case gvk.Kind == "": // an object of a type that says its kind
		case gvk.Kind == apihttp.DefinitionKind:
			written, untyped := o.(*unstructured.Unstructured)
			if !untyped {
				continue
			}
			gk, definition := apihttp.ReadDefinition(written)
			s.custom[gk] = customKind{Definition: definition, defined: true}
			for _, version := range definition.Versions {
				learned = append(learned, gk.WithVersion(version))
			}
		case s.kinds.byKind[gvk] == nil:
			if known := s.custom[gvk.GroupKind()]; !known.defined && o.GetNamespace() != "" {
				s.custom[gvk.GroupKind()] = customKind{Definition: apihttp.Definition{Namespaced: true}}
			}
			learned = append(learned, gvk)
		}
	}
	for _, gvk := range learned {
		s.collectionOf(s.kinds.find(gvk))
	}
}

// learnScheme makes room for objects of all kinds that a scheme has a type for. Unless something else is known of them, they
// are taken to be namespaced, as most are.
func (s *store) learnScheme(types *apiruntime.Scheme) {
	for gvk := range types.AllKnownTypes() {
		typed, err := types.New(gvk)
		if _, isObject := typed.(object); err != nil || !isObject || gvk.Version == apiruntime.APIVersionInternal || s.kinds.byKind[gvk] != nil {
			continue
		}
		if _, known := s.custom[gvk.GroupKind()]; !known {
			s.custom[gvk.GroupKind()] = customKind{Definition: apihttp.Definition{Namespaced: true}}
		}
		s.collectionOf(s.kinds.find(gvk))
	}
}

// addUnknown makes room for objects of a custom kind of which nothing is known but the resource.
func (s *store) addUnknown(resource schema.GroupVersionResource) *collection {
	return s.addKind(&kind{GroupVersionKind: resource.GroupVersion().WithKind(""), resource: resource})
}

// resolve returns a kind with what is known of it: for a custom one its scope, and the name of its resource, which without
// a definition is the one under which a plugin asks for it.
func (s *store) resolve(k *kind) *kind {
	if !k.custom() {
		return k
	}
	resolved, known := *k, s.custom[k.GroupKind()]
	resolved.namespaced, resolved.defined, resolved.hasStatus = known.Namespaced, known.defined, known.HasStatus
	if known.Plural != "" && s.mayHave(&resolved, known.Plural) {
		resolved.resource.Resource = known.Plural
		return &resolved
	}
	for _, plural := range append([]string{k.resource.Resource}, apihttp.Plurals(k.Kind)...) {
		found := s.collections[k.resource.GroupVersion().WithResource(plural)]
		if found != nil && s.mayHave(&resolved, plural) && (found.used() || found.Kind == k.Kind) {
			resolved.resource.Resource = plural
			return &resolved
		}
	}
	for !s.mayHave(&resolved, resolved.resource.Resource) { // another kind has the name, which no API server lets happen
		resolved.resource.Resource += "-" + strings.ToLower(k.Kind)
	}
	return &resolved
}

// mayHave reports whether no other kind has a plural.
func (s *store) mayHave(k *kind, plural string) bool {
	found := s.collections[k.resource.GroupVersion().WithResource(plural)]
	return found == nil || found.Kind == "" || found.Kind == k.Kind
}

// collectionOf returns the objects of a kind, and makes room for those of a custom one.
func (s *store) collectionOf(k *kind) *collection {
	k = s.resolve(k)
	c := s.find(k.resource)
	if c == nil {
		return s.addKind(k)
	}
	if c.custom() {
		c.Kind, c.namespaced = k.Kind, c.namespaced || k.namespaced
		c.defined, c.hasStatus = k.defined, k.hasStatus
	}
	return c
}

// find returns the objects of a resource; nil if there are none such. A custom kind whose plural is not known has the one by
// which it is first asked for.
func (s *store) find(gvr schema.GroupVersionResource) *collection {
	if c := s.collections[gvr]; c != nil {
		return c
	}
	for resource, c := range s.collections {
		if resource.GroupVersion() != gvr.GroupVersion() || !c.custom() || c.defined || !slices.Contains(apihttp.Plurals(c.Kind), gvr.Resource) {
			continue
		}
		if !c.used() {
			delete(s.collections, resource)
			c.resource = gvr
			s.collections[gvr] = c
		}
		return c
	}
	return nil
}
