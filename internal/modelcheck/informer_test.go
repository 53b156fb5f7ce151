// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"slices"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/internal/informer"
)

// kind is the informer of pods or of nodes. What happens to objects becomes events, which are delivered one by one.
//
// In client-go the store of an informer is changed before the handlers are called, in other goroutines. What handlers
// know may be older than what listers return, and that older than what the API server has. A world has one of the two lags,
// so that both are explored and not all of their combinations.
type kind struct {
	*informer.Informer
	name string
	// lister returns what is looked up in the store, and lets other things happen after that.
	lister *pausingIndexer
	// storeIsCurrent has the store follow the API server at once, and only the handlers lag.
	storeIsCurrent bool
	pending        []event
	handlers       []clientcache.ResourceEventHandler
	// known is what the handlers know, by name.
	known map[string]apiruntime.Object
}

// event is a change of an object that handlers don't know of yet; old or new is nil if it did not or does not exist.
type event struct {
	name     string
	old, new apiruntime.Object
	// missed is set for a deletion whose last state the informer missed.
	missed bool
}

func newKind(w *world, name string, storeIsCurrent bool) *kind {
	k := &kind{Informer: informer.New(nil), name: name, storeIsCurrent: storeIsCurrent, known: map[string]apiruntime.Object{}}
	k.lister = &pausingIndexer{Indexer: k.Known(), w: w}
	return k
}

// AddEventHandler implements SharedInformer.
func (k *kind) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	k.handlers = append(k.handlers, handler)
	return registered{}, nil
}

// GetIndexer implements SharedIndexInformer.
func (k *kind) GetIndexer() clientcache.Indexer { return k.lister }

type registered struct {
	clientcache.ResourceEventHandlerRegistration
}

func (k *kind) changed(name string, old, new apiruntime.Object) {
	k.pending = append(k.pending, event{name: name, old: old, new: new})
	if k.storeIsCurrent {
		k.store(old, new)
	}
}

func (k *kind) store(old, new apiruntime.Object) {
	if new == nil {
		_ = k.lister.Delete(old)
		return
	}
	_ = k.lister.Update(new)
}

// relist is what happens when the watch breaks: of all events of an object that are pending only the net effect is seen.
// It reports whether that is any different.
func (k *kind) relist() bool {
	var net []event
	for _, e := range k.pending {
		i := slices.IndexFunc(net, func(n event) bool { return n.name == e.name })
		if i < 0 {
			net = append(net, e)
			continue
		}
		net[i].new = e.new
	}
	net = slices.DeleteFunc(net, func(e event) bool { return e.old == nil && e.new == nil })
	same := len(net) == len(k.pending)
	for i := range net {
		net[i].missed = net[i].new == nil
		same = same && !net[i].missed
	}
	k.pending = net
	return !same
}

// deliver has the handlers told of the oldest event.
func (k *kind) deliver() {
	e := k.pending[0]
	k.pending = slices.Clone(k.pending[1:])
	if !k.storeIsCurrent {
		k.store(e.old, e.new)
	}
	if e.new == nil {
		delete(k.known, e.name)
	} else {
		k.known[e.name] = e.new
	}
	for _, handler := range k.handlers {
		switch {
		case e.old == nil:
			handler.OnAdd(e.new, false)
		case e.new != nil:
			handler.OnUpdate(e.old, e.new)
		case e.missed:
			handler.OnDelete(clientcache.DeletedFinalStateUnknown{Key: "default/" + e.name, Obj: e.old})
		default:
			handler.OnDelete(e.old)
		}
	}
}

// pausingIndexer lets other things happen after the failure handler has looked up its pod.
type pausingIndexer struct {
	clientcache.Indexer
	w *world
}

// GetByKey implements Indexer.
func (p *pausingIndexer) GetByKey(key string) (item any, exists bool, err error) {
	item, exists, err = p.Indexer.GetByKey(key)
	if p.w.pauseAfterLookup {
		p.w.pauseAfterLookup = false
		p.w.pause("looked up")
	}
	return item, exists, err
}
