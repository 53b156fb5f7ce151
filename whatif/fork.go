// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Cluster is a cluster about which questions can be asked. Make one with [New], and others from it with [Cluster.Fork].
//
// It is safe for concurrent use: a question is about the cluster as it is when the question is asked, and changes are made one
// after the other. Forks are independent of each other and of what they were made of: a change is seen only in the cluster in which
// it is made, and in forks that are made of that afterwards. To drop a fork is to forget it.
type Cluster struct {
	engine  *engine
	parent  *Cluster // nil for what New returned
	current atomic.Pointer[objects]
	// changing is held by what changes the cluster. That of a fork comes before that of its parent.
	changing sync.Mutex
	base     objects // what the parent had when it was forked; guarded by changing
}

func newCluster(e *engine, parent *Cluster, of objects) *Cluster {
	c := &Cluster{engine: e, parent: parent, base: of}
	c.current.Store(&of)
	return c
}

func (c *Cluster) load() objects { return *c.current.Load() }

// Close ends the plugins of a cluster and of all its forks. Questions that are being answered are waited for; others fail from then
// on. It is an error to close a fork.
func (c *Cluster) Close() error {
	if c.parent != nil {
		return errors.New("closing a fork: only what New returned is to be closed; a fork need not be")
	}
	return c.engine.close()
}

// Fork returns a fork of the cluster, or of the fork. It takes the same time however large the cluster is, and however much was changed.
func (c *Cluster) Fork() *Cluster { return newCluster(c.engine, c, c.load()) }

// ErrParentChanged is the error of [Cluster.Commit] for a fork whose parent has changed since it was made.
var ErrParentChanged = errors.New("the fork's parent has changed since it was forked, and its changes would be lost; ask again in a new fork")

// Commit gives the fork's changes to the one that it was made of, all at once, and makes it a fork of that as it is now. If that has
// changed since, nothing happens, and the error is [ErrParentChanged]. It is an error if there is no parent, as of a cluster.
func (c *Cluster) Commit() error {
	if c.parent == nil {
		return errors.New("committing a cluster: only a fork has a parent")
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	c.parent.changing.Lock()
	defer c.parent.changing.Unlock()
	if !c.parent.load().Same(c.base.Map) {
		return ErrParentChanged
	}
	changed := c.load()
	c.parent.current.Store(&changed)
	c.base = changed
	return nil
}

// Add adds objects: nodes, pods, and whatever else plugins read, such as volumes, claims, classes, namespaces and budgets. A pod
// with a node counts there; one without waits, and counts only if it is nominated for a node. It is an error if an object is there
// already; then none is added. See [Options] for what may be done with the objects afterwards.
func (c *Cluster) Add(added ...apiruntime.Object) error {
	return c.change("adding", added, func(all objects, k key, o object, exists bool) (objects, error) {
		if exists {
			return all, errors.New("it is there already; use Update")
		}
		return all.with(k, o), nil
	})
}

// Update replaces objects by other versions of them. It is an error if an object is not there; then none is replaced.
func (c *Cluster) Update(updated ...apiruntime.Object) error {
	return c.change("updating", updated, func(all objects, k key, o object, exists bool) (objects, error) {
		if !exists {
			return all, errors.New("there is no such object; use Add")
		}
		return all.with(k, o), nil
	})
}

// Remove removes objects, of which only the kind, the namespace and the name matter. The pods of a node that is removed stay, and
// count nowhere, until they are removed too. It is an error if an object is not there; then none is removed.
func (c *Cluster) Remove(removed ...apiruntime.Object) error {
	return c.change("removing", removed, func(all objects, k key, _ object, exists bool) (objects, error) {
		if !exists {
			return all, errors.New("there is no such object")
		}
		return all.without(k), nil
	})
}

// change makes one change for each object, or none at all. Pods come last, because others say what their priority is.
func (c *Cluster) change(doing string, given []apiruntime.Object, change func(objects, key, object, bool) (objects, error)) error {
	type item struct {
		key
		object
	}
	items := make([]item, len(given))
	for _, g := range given {
		if o, isObject := g.(object); isObject {
			c.engine.kinds.learn(o)
		}
	}
	for i, g := range given {
		o, isObject := g.(object)
		if !isObject {
			return fmt.Errorf("%s an object of a cluster: %T has no metadata", doing, g)
		}
		k, err := c.engine.kinds.keyOf(o)
		if err != nil {
			return fmt.Errorf("%s an object of a cluster: %w", doing, err)
		}
		if k.name == "" {
			return fmt.Errorf("%s a %s of a cluster: it has no name", doing, k.kind.Kind)
		}
		items[i] = item{k, o}
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.kind.rank - b.kind.rank })
	c.changing.Lock()
	defer c.changing.Unlock()
	all := c.load()
	for _, given := range items {
		before, exists := all.Get(given.key)
		completed := c.engine.kinds.complete(all, given.key, given.object, before)
		changed, err := change(all, given.key, completed, exists)
		if now, there := changed.Get(given.key); err == nil && there {
			err = all.conflict(given.key, now)
		}
		if all = changed; err != nil {
			return fmt.Errorf("%s %s: %w", doing, given.key, err)
		}
	}
	c.current.Store(&all)
	return nil
}

// Get returns the object of the kind, namespace and name of another, nil if there is none. It must not be changed.
func (c *Cluster) Get(named apiruntime.Object) apiruntime.Object {
	o, isObject := named.(object)
	if !isObject {
		return nil
	}
	k, err := c.engine.kinds.keyOf(o)
	if err != nil {
		return nil
	}
	if found, ok := c.load().Get(k); ok {
		return found
	}
	return nil
}

// Objects returns all objects, by kind and name; pods come last, and nodes before them. They must not be changed.
func (c *Cluster) Objects() []apiruntime.Object {
	all := c.load()
	keys := make([]key, 0, all.Len())
	for k := range all.All() {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	list := make([]apiruntime.Object, len(keys))
	for i, k := range keys {
		list[i], _ = all.Get(k)
	}
	return list
}
