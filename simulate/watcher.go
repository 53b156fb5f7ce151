// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"

	"github.com/rouse-scheduler/rouse/cache"
)

// Watcher follows a simulation from close by: it is called between the things that happen, by the goroutine that runs
// the simulation. It may look at everything, but must not change anything nor let time pass.
type Watcher interface {
	// Changed is called when the scheduler has been told of a change, before any pod is tried because of it.
	Changed(Change)
	// Worked is called after everything else that happens at once: an attempt, a part of a binding cycle, a timer, or
	// pods that moved because their time in a pool was over. The scheduler has not been told yet of what it wrote.
	Worked()
	// Settled is called whenever nothing more can happen without time passing.
	Settled()
}

// Watch has a watcher follow the simulation from now on, in place of the one before; nil ends it.
func (c *Cluster) Watch(watcher Watcher) {
	if watcher == nil {
		watcher = nopWatcher{}
	}
	c.watcher = watcher
}

// nopWatcher is the watcher of a simulation without one.
type nopWatcher struct{}

func (nopWatcher) Changed(Change) {}
func (nopWatcher) Worked()        {}
func (nopWatcher) Settled()       {}

// deliverTo hands a change to the informers of its kind, and tells the watcher if anybody could see it.
func (c *Cluster) deliverTo(made change) {
	to := made.collection.informer
	to.Deliver(made.key, made.current)
	if untyped := made.collection.untyped; untyped != nil {
		untyped.Deliver(made.key, withoutType(made.collection.kind, made.current))
	}
	old, current := to.Shown(made.previous), to.Shown(made.current)
	if !made.collection.used() || old == nil && current == nil {
		return
	}
	named := made.current
	if named == nil {
		named = made.previous
	}
	c.watcher.Changed(Change{
		Resource:  made.collection.resource,
		Kind:      made.collection.Kind,
		Namespace: named.GetNamespace(),
		Name:      named.GetName(),
		Old:       old,
		New:       current,
		Minor:     made.minor,
	})
}

// Snapshot brings the snapshot that plugins see up to date, as the next scheduling cycle would, and returns it. Plugins
// of the profiles can then be asked what they think of a pod at this moment.
func (c *Cluster) Snapshot() (*cache.Snapshot, error) {
	for _, profile := range c.scheduler.Profiles() {
		snapshot, shared := profile.SnapshotSharedLister().(*cache.Snapshot)
		if !shared {
			break
		}
		if err := c.scheduler.Cache().UpdateSnapshot(snapshot); err != nil {
			return nil, fmt.Errorf("bringing the snapshot of the simulation up to date: %w", err)
		}
		return snapshot, nil
	}
	return nil, errors.New("the scheduler of the simulation has no snapshot")
}
