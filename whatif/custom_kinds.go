// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// customKind returns a custom kind, which is known from then on. The caller holds mu.
func (k *kinds) customKind(gvk schema.GroupVersionKind) *kind {
	found := k.custom[gvk]
	if found == nil {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		found = &kind{GroupVersionKind: gvk, resource: resource, rank: rankOfOthers}
		if gvk.Kind == apihttp.DefinitionKind {
			found.rank = rankOfDefinitions
		}
		k.custom[gvk] = found
		k.generation.Add(1)
	}
	return found
}

// placed reports whether an object of a custom kind belongs to a namespace. Without a definition those do of which one object
// has a namespace.
func (k *kinds) placed(of *kind, o object) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !of.defined && o.GetNamespace() != "" {
		of.namespaced = true
	}
	return of.namespaced
}

// learn takes what an object, or the definition of a custom resource, says of a custom kind.
func (k *kinds) learn(o object) {
	written, untyped := o.(*unstructured.Unstructured)
	if !untyped {
		return
	}
	if written.GetKind() != apihttp.DefinitionKind {
		if of, err := k.of(o); err == nil {
			k.placed(of, o)
		}
		return
	}
	gk, definition := apihttp.ReadDefinition(written)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, version := range definition.Versions {
		defined := k.customKind(gk.WithVersion(version))
		defined.defined, defined.namespaced = true, definition.Namespaced
		if definition.Plural != "" {
			defined.resource.Resource = definition.Plural
		}
		k.generation.Add(1)
	}
}

// ofResource returns the kind of a resource, nil if none is known.
func (k *kinds) ofResource(gvr schema.GroupVersionResource) *kind {
	if found := k.byResource[gvr]; found != nil {
		return found
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, custom := range k.custom {
		if custom.resource == gvr {
			return custom
		}
	}
	// Without a definition a kind has the plural by which it is first asked for.
	for _, custom := range k.custom {
		if !custom.defined && custom.GroupVersion() == gvr.GroupVersion() && slices.Contains(apihttp.Plurals(custom.Kind), gvr.Resource) {
			custom.resource = gvr
			return custom
		}
	}
	return nil
}

// find returns how clients see a kind, nil if it is not known. Without a definition it is namespaced if a request names a
// namespace.
func (k *kinds) find(gvr schema.GroupVersionResource, namespaced bool) *apihttp.Resource {
	found := k.ofResource(gvr)
	if found == nil {
		return nil
	}
	if found.typed != nil {
		return found.served()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	found.namespaced = found.namespaced || namespaced && !found.defined
	return found.served()
}

// resourceOf returns the resource of a kind.
func (k *kinds) resourceOf(of *kind) schema.GroupVersionResource {
	if of.typed != nil {
		return of.resource
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return of.resource
}

func (k *kind) served() *apihttp.Resource {
	return &apihttp.Resource{GroupVersionResource: k.resource, Kind: k.Kind, Namespaced: k.namespaced, Typed: k.typed != nil}
}

// served returns how clients see all kinds.
func (k *kinds) served() []*apihttp.Resource {
	var all []*apihttp.Resource
	for _, kind := range k.byResource {
		all = append(all, kind.served())
	}
	k.mu.Lock()
	for _, kind := range k.custom {
		all = append(all, kind.served())
	}
	k.mu.Unlock()
	slices.SortFunc(all, func(a, b *apihttp.Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	return all
}
