// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// Create adds copies of objects, as an API server would: with defaults, a UID and, for pods, the priority of their
// class. Pods with a node count as bound already. Objects of custom kinds are unstructured, or of a type that
// [Options.Scheme] has; what is not said by a CustomResourceDefinition, created before, is guessed. The first error ends it.
func (c *Cluster) Create(objects ...apiruntime.Object) error {
	for _, added := range objects {
		o, collection, err := c.locate(added)
		if err != nil {
			return fmt.Errorf("creating an object: %w", err)
		}
		if _, err := c.create(collection, o.DeepCopyObject().(object)); err != nil {
			return fmt.Errorf("creating %s: %w", collection.describe(o.GetNamespace(), o.GetName()), err)
		}
	}
	return nil
}

// Update replaces an object by a copy of another version of it, status and all, with defaults as in [Cluster.Create]. Its
// resource version may be empty; otherwise it must be the current one.
func (c *Cluster) Update(updated apiruntime.Object) error {
	o, collection, err := c.locate(updated)
	if err != nil {
		return fmt.Errorf("updating an object: %w", err)
	}
	copied := o.DeepCopyObject().(object)
	err = c.write(func() error {
		_, err := c.store.admitUpdate(collection, copied)
		return err
	})
	if err != nil {
		return fmt.Errorf("updating %s: %w", collection.describe(o.GetNamespace(), o.GetName()), err)
	}
	return nil
}

// Patch applies a strategic merge patch in JSON, or a merge patch if the object is of a custom kind. Of the object only
// the kind, the namespace and the name matter.
func (c *Cluster) Patch(named apiruntime.Object, patch string) error {
	o, collection, err := c.locate(named)
	if err != nil {
		return fmt.Errorf("patching an object: %w", err)
	}
	return c.patch(collection, o.GetNamespace(), o.GetName(), []byte(patch))
}

// Delete removes an object, or marks it as being deleted if it has finalizers. Of the object only the kind, the
// namespace and the name matter.
func (c *Cluster) Delete(named apiruntime.Object) error {
	o, collection, err := c.locate(named)
	if err != nil {
		return fmt.Errorf("deleting an object: %w", err)
	}
	return c.delete(collection, o.GetNamespace(), o.GetName())
}

// locate returns an object as it is stored, and those of its kind. Typed objects need not say theirs; those of custom kinds
// lose their type.
func (c *Cluster) locate(given apiruntime.Object) (object, *collection, error) {
	o, isObject := given.(object)
	if !isObject {
		return nil, nil, fmt.Errorf("%T is not an object with metadata", given)
	}
	gvk, err := c.kindOf(given)
	if err != nil {
		return nil, nil, err
	}
	k := c.store.kinds.find(gvk)
	if _, untyped := o.(*unstructured.Unstructured); k.custom() && !untyped {
		o = withoutType(k, o).(object)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if k.custom() {
		c.store.learnKinds([]object{o})
	}
	return o, c.store.collectionOf(k), nil
}

// kindOf returns the kind that an object says it has, or else that of its type.
func (c *Cluster) kindOf(given apiruntime.Object) (schema.GroupVersionKind, error) {
	if gvk := given.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk, nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(given)
	if err != nil && c.options.Scheme != nil {
		kinds, _, err = c.options.Scheme.ObjectKinds(given)
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w; set its apiVersion and kind, or Options.Scheme", err)
	}
	return kinds[0], nil
}

// collection returns the objects of a kind.
func (c *Cluster) collection(k *kind) *collection {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.store.collectionOf(k)
}

// write makes a request to the store and lets the informers know.
func (c *Cluster) write(request func() error) error {
	c.store.mu.Lock()
	err := request()
	c.store.mu.Unlock()
	hanging := c.watch(func() error {
		c.deliver()
		return nil
	})
	return cmp.Or(hanging, err)
}

// create takes an object, which it may change.
func (c *Cluster) create(to *collection, created object) (object, error) {
	var stored object
	err := c.write(func() (err error) {
		stored, err = c.store.admit(to, created)
		return err
	})
	return stored, err
}

func (c *Cluster) patch(of *collection, namespace, name string, patch []byte) error {
	namespace = of.namespaceOf(namespace)
	err := c.write(func() error {
		_, err := c.store.patchNow(of, namespace, name, patch)
		return err
	})
	if err != nil {
		return fmt.Errorf("patching %s: %w", of.describe(namespace, name), err)
	}
	return nil
}

func (c *Cluster) delete(of *collection, namespace, name string) error {
	namespace = of.namespaceOf(namespace)
	err := c.write(func() error { return c.store.delete(of, namespace, name) })
	if err != nil {
		return fmt.Errorf("deleting %s: %w", of.describe(namespace, name), err)
	}
	return nil
}

// read reports whether the scheduler or a plugin asked for the objects of a kind.
func (c *Cluster) read(of *collection) bool {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return of.scheduling || of.requested || of.used()
}

// otherVersions returns the versions, other than its own, in which a plugin follows a kind, sorted.
func (c *Cluster) otherVersions(k *kind) []string {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	var versions []string
	for resource, found := range c.store.collections {
		same := resource.Resource == k.resource.Resource || slices.Contains(apihttp.Plurals(k.Kind), resource.Resource)
		if same && resource.Group == k.Group && resource.Version != k.Version && (found.requested || found.used()) {
			versions = append(versions, resource.Version)
		}
	}
	slices.Sort(versions)
	return versions
}

// Objects returns all objects as they are now, by kind and name; pods come last, and nodes before them. They must not be changed.
func (c *Cluster) Objects() []apiruntime.Object {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	rank := func(of *collection) int {
		switch of {
		case c.store.pods():
			return 2
		case c.store.nodes():
			return 1
		}
		return 0
	}
	collections := slices.SortedFunc(maps.Values(c.store.collections), func(a, b *collection) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.resource.String(), b.resource.String()))
	})
	var all []apiruntime.Object
	for _, collection := range collections {
		for _, key := range slices.Sorted(maps.Keys(collection.objects)) {
			all = append(all, collection.objects[key])
		}
	}
	return all
}
