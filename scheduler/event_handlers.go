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

// addAllEventHandlers adds the event handlers to the informers: for pods and nodes always, for every other kind if a plugin
// registered its events (kube-scheduler: addAllEventHandlers). Registered names that are no resources are logged, as one
// faulty plugin should not keep the others from running.
func (s *Scheduler) addAllEventHandlers() error {
	if err := s.profiles.CheckEventResources(); err != nil {
		s.options.Logger.Error(err, "Incorrect event registration")
	}
	core := s.options.Informers.Core().V1()
	errs := []error{
		s.addHandler(fwk.Pod, core.Pods().Informer(), podHandler{clientcache.ResourceEventHandlerFuncs{
			AddFunc: s.podAdded, UpdateFunc: s.podUpdated, DeleteFunc: s.podDeleted,
		}}),
		s.addHandler(fwk.Node, core.Nodes().Informer(), nodeHandler(s.nodeAdded, s.nodeUpdated, s.nodeDeleted)),
	}
	known := sets.New(fwk.WildCard, fwk.Pod)
	for _, row := range framework.Resources() {
		known.Insert(row.Name)
		if row.Informer.Resource != "pods" && row.Informer.Resource != "nodes" {
			errs = append(errs, s.addKindHandler(row))
		}
	}
	for _, event := range s.eventMap.Events() {
		if !known.Has(event.Resource) {
			known.Insert(event.Resource)
			errs = append(errs, s.addCustomKindHandler(event.Resource))
		}
	}
	return errors.Join(errs...)
}

func (s *Scheduler) addKindHandler(row framework.WatchedResource) error {
	actions := s.eventMap.Actions(row.Name)
	if actions == fwk.None && !s.csi.Follows(row.Name) {
		return nil
	}
	if row.Optional {
		// The API server may not know the kind, and an informer that never syncs would keep the scheduler from starting.
		s.options.Logger.Info("Plugins wait for events of a kind that belongs to a feature that is off; it is not watched",
			"resource", row.Name)
		return nil
	}
	handler := s.objectHandler(row.Name, actions)
	if s.csi.Follows(row.Name) {
		handler = s.csi.Handler(row.Name, handler)
	}
	if registration, err := s.devices.AddHandler(row.Name, handler); registration != nil || err != nil {
		s.handlers = append(s.handlers, handlerRegistration{row.Name, registration})
		return err
	}
	informer, err := s.options.Informers.ForResource(row.Informer)
	if err != nil {
		return fmt.Errorf("watching %s: %w", row.Name, err)
	}
	return s.addHandler(row.Name, informer.Informer(), handler)
}

// addCustomKindHandler watches a kind that is not in the table of events. A name that is not plural.version.group is ignored.
func (s *Scheduler) addCustomKindHandler(name fwk.EventResource) error {
	kind, ok := framework.ParseCustomResource(name)
	if !ok || s.options.DynamicInformers == nil {
		return nil
	}
	informer := s.options.DynamicInformers.ForResource(kind).Informer()
	return s.addHandler(name, informer, s.objectHandler(name, s.eventMap.Actions(name)))
}

// handlerRegistration is an event handler that was added to an informer.
type handlerRegistration struct {
	kind         fwk.EventResource
	registration clientcache.ResourceEventHandlerRegistration
}

func (s *Scheduler) addHandler(kind fwk.EventResource, informer clientcache.SharedIndexInformer, handler clientcache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("adding an event handler: %w", err)
	}
	s.handlers = append(s.handlers, handlerRegistration{kind, registration})
	return nil
}

// objectHandler tells the queue of the changes of a kind that is not cached. An update is the general one, whatever changed;
// the object of a deletion may be a tombstone, which hints unwrap.
func (s *Scheduler) objectHandler(name fwk.EventResource, actions fwk.ActionType) clientcache.ResourceEventHandler {
	move := func(action fwk.ActionType, old, new any) {
		event := fwk.ClusterEvent{Resource: name, ActionType: action}
		defer s.startTimer(event)()
		s.queue.Move(event, old, new, nil)
	}
	var handler clientcache.ResourceEventHandlerFuncs
	if actions&fwk.Add != 0 {
		handler.AddFunc = func(object any) { move(fwk.Add, nil, object) }
	}
	if actions&fwk.Update != 0 {
		handler.UpdateFunc = func(old, new any) { move(fwk.Update, old, new) }
	}
	if actions&fwk.Delete != 0 {
		handler.DeleteFunc = func(object any) { move(fwk.Delete, object, nil) }
	}
	return handler
}

// startTimer starts to measure the handling of an event. The function that it returns ends that and tells the observer.
func (s *Scheduler) startTimer(event fwk.ClusterEvent) (stop func()) {
	started := s.clock.Now()
	return func() { s.options.Observers.Scheduler.EventHandled(event, s.clock.Since(started)) }
}

// nodeHandler returns an informer's handler that calls typed functions. Objects of another type do not reach them;
// deletions are passed as they come, because the last state of the object may have been missed.
func nodeHandler(added func(*v1.Node), updated func(old, new *v1.Node), deleted func(any)) clientcache.ResourceEventHandler {
	return clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if typed, ok := object.(*v1.Node); ok {
				added(typed)
			}
		},
		UpdateFunc: func(old, new any) {
			oldTyped, okOld := old.(*v1.Node)
			newTyped, okNew := new.(*v1.Node)
			if okOld && okNew {
				updated(oldTyped, newTyped)
			}
		},
		DeleteFunc: deleted,
	}
}
