// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// registerHandlers connects the informers with the event handlers: pods and nodes always, every other kind when some
// plugin waits for its events. Names that are no resources are logged, as one faulty plugin should not keep the others
// from running.
func (s *Scheduler) registerHandlers() error {
	if err := s.profiles.CheckEventResources(); err != nil {
		s.options.Logger.Error(err, "Incorrect event registration")
	}
	core := s.options.Informers.Core().V1()
	errs := []error{
		s.handle(fwk.Pod, core.Pods().Informer(), handlerOf(s.podAdded, s.podUpdated, s.podDeleted)),
		s.handle(fwk.Node, core.Nodes().Informer(), handlerOf(s.nodeAdded, s.nodeUpdated, s.nodeDeleted)),
	}
	known := sets.New(fwk.WildCard, fwk.Pod)
	for _, row := range framework.Resources() {
		known.Insert(row.Name)
		if row.Informer.Resource != "pods" && row.Informer.Resource != "nodes" {
			errs = append(errs, s.registerKind(row))
		}
	}
	for _, event := range s.events.Events() {
		if !known.Has(event.Resource) {
			known.Insert(event.Resource)
			errs = append(errs, s.registerCustomKind(event.Resource))
		}
	}
	return errors.Join(errs...)
}

func (s *Scheduler) registerKind(row framework.WatchedResource) error {
	actions := s.events.Actions(row.Name)
	if actions == fwk.None {
		return nil
	}
	if row.Optional {
		// The API server may not know the kind, and an informer that never syncs would keep the scheduler from starting.
		s.options.Logger.Info("Plugins wait for events of a kind that belongs to a feature that is off; it is not watched",
			"resource", row.Name)
		return nil
	}
	handler := s.objectHandler(row.Name, actions)
	if registration, err := s.devices.AddHandler(row.Name, handler); registration != nil || err != nil {
		s.handlers = append(s.handlers, handlerOfKind{row.Name, registration})
		return err
	}
	informer, err := s.options.Informers.ForResource(row.Informer)
	if err != nil {
		return fmt.Errorf("watching %s: %w", row.Name, err)
	}
	return s.handle(row.Name, informer.Informer(), handler)
}

// registerCustomKind watches a kind that is not in the table of events. A name that is none is ignored.
func (s *Scheduler) registerCustomKind(name fwk.EventResource) error {
	kind, ok := framework.ParseCustomResource(name)
	if !ok || s.options.DynamicInformers == nil {
		return nil
	}
	informer := s.options.DynamicInformers.ForResource(kind).Informer()
	return s.handle(name, informer, s.objectHandler(name, s.events.Actions(name)))
}

// handlerOfKind is an event handler that was added to an informer.
type handlerOfKind struct {
	kind         fwk.EventResource
	registration clientcache.ResourceEventHandlerRegistration
}

func (s *Scheduler) handle(kind fwk.EventResource, informer clientcache.SharedIndexInformer, handler clientcache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("adding an event handler: %w", err)
	}
	s.handlers = append(s.handlers, handlerOfKind{kind, registration})
	return nil
}

// objectHandler announces the changes of a kind that only plugins care about. An update is the general one, whatever
// changed; the object of a deletion may be a tombstone, which hints unwrap.
func (s *Scheduler) objectHandler(name fwk.EventResource, actions fwk.ActionType) clientcache.ResourceEventHandler {
	announce := func(action fwk.ActionType, old, new any) {
		event := fwk.ClusterEvent{Resource: name, ActionType: action}
		defer s.handling(event)()
		s.queue.Move(event, old, new, nil)
	}
	var handler clientcache.ResourceEventHandlerFuncs
	if actions&fwk.Add != 0 {
		handler.AddFunc = func(object any) { announce(fwk.Add, nil, object) }
	}
	if actions&fwk.Update != 0 {
		handler.UpdateFunc = func(old, new any) { announce(fwk.Update, old, new) }
	}
	if actions&fwk.Delete != 0 {
		handler.DeleteFunc = func(object any) { announce(fwk.Delete, object, nil) }
	}
	return handler
}

// handling returns what is to be called when an event is handled, which it is from now on.
func (s *Scheduler) handling(event fwk.ClusterEvent) (handled func()) {
	started := s.options.Clock.Now()
	return func() { s.options.Observer.EventHandled(event, s.options.Clock.Since(started)) }
}

// handlerOf makes an informer's handler of typed functions. Objects of another type do not reach them; deletions are
// passed as they come, because the last state of the object may have been missed.
func handlerOf[T v1.Pod | v1.Node](added func(*T), updated func(old, new *T), deleted func(any)) clientcache.ResourceEventHandler {
	return clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if typed, ok := object.(*T); ok {
				added(typed)
			}
		},
		UpdateFunc: func(old, new any) {
			oldTyped, okOld := old.(*T)
			newTyped, okNew := new.(*T)
			if okOld && okNew {
				updated(oldTyped, newTyped)
			}
		},
		DeleteFunc: deleted,
	}
}
