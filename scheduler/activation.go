// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// activate tries at once the pods that plugins asked for during the attempt.
func (s *Scheduler) activate(a *attempt) {
	data, err := a.state.Read(framework.PodsToActivateKey)
	if err != nil {
		return
	}
	lock, pods, ok := podsToActivate(data)
	if !ok {
		s.options.Logger.Error(nil, "The state of an attempt has a value of an unknown type in place of the pods to activate; "+
			"no pod is activated. Use framework.PodsToActivate, or a struct with Lock, Unlock and Map",
			"key", framework.PodsToActivateKey, "type", reflect.TypeOf(data))
		return
	}
	lock.Lock()
	defer lock.Unlock()
	if len(pods()) > 0 {
		s.queue.Activate(s.options.Logger, pods())
		clear(pods())
	}
}

// podsToActivate returns the map of pods in a value of the state, to be read with the lock held. A plugin may have put a
// value of a type of its own there, such as that of k8s.io/kubernetes, which this module can't name: a pointer to a struct
// that is a lock and has the field Map.
func podsToActivate(data fwk.StateData) (lock sync.Locker, pods func() map[string]*v1.Pod, ok bool) {
	if known, ok := data.(*framework.PodsToActivate); ok {
		return known, func() map[string]*v1.Pod { return known.Map }, true
	}
	lock, ok = data.(sync.Locker)
	value := reflect.ValueOf(data)
	if !ok || value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return nil, nil, false
	}
	field := value.Elem().FieldByName("Map")
	if !field.IsValid() || !field.CanInterface() {
		return nil, nil, false
	}
	if _, ok := field.Interface().(map[string]*v1.Pod); !ok {
		return nil, nil, false
	}
	return lock, func() map[string]*v1.Pod { return field.Interface().(map[string]*v1.Pod) }, true
}
