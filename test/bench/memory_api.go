// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

// memoryAPI is as much of an API server as a scheduler writes to: pods can be bound, deleted, and have their status
// patched. It is as cheap as can be, so that what is measured is the scheduler. Changes reach the handlers of its
// informers in the order in which they were made, from a goroutine of their own, as they would from a real informer.
type memoryAPI struct {
	client    clientset.Interface
	informers informers.SharedInformerFactory
	pods      *watched
	nodes     *watched

	mu      sync.Mutex
	current map[string]*v1.Pod // by name; all are in one namespace
	version int
	// changes are on their way to the informers.
	changes []change
	more    *sync.Cond
	closed  bool
	// bound and rejected count the bindings, and the pods whose status tells that they fit nowhere.
	bound, rejected int
	goals           []goal
}

// change is a pod before and after; one of the two may be nil.
type change struct{ old, new *v1.Pod }

// goal is closed once it is reached.
type goal struct {
	reached func(*memoryAPI) bool
	done    chan struct{}
}

// newMemoryAPI returns an API without nodes and pods.
func newMemoryAPI() *memoryAPI {
	a := &memoryAPI{pods: newWatched(&v1.Pod{}), nodes: newWatched(&v1.Node{}), current: map[string]*v1.Pod{}}
	a.more = sync.NewCond(&a.mu)
	a.client = &memoryClient{Clientset: fake.NewClientset(), api: a}
	a.informers = informers.NewSharedInformerFactory(a.client, 0)
	a.informers.InformerFor(&v1.Pod{}, a.pods.instead)
	a.informers.InformerFor(&v1.Node{}, a.nodes.instead)
	return a
}

// addNodes adds nodes, and returns when all handlers have heard of them.
func (a *memoryAPI) addNodes(nodes []*v1.Node) error {
	for _, node := range nodes {
		if err := a.nodes.GetIndexer().Add(node); err != nil {
			return err
		}
		for _, handler := range a.nodes.handlers {
			handler.OnAdd(node, true)
		}
	}
	return nil
}

// addPods adds pods, and returns when all handlers have heard of them. It must not be called while changes are delivered.
func (a *memoryAPI) addPods(pods []*v1.Pod) error {
	for _, pod := range pods {
		a.current[pod.Name] = pod
		if err := a.deliver(change{new: pod}); err != nil {
			return err
		}
	}
	return nil
}

// create adds pods that the handlers hear of in time.
func (a *memoryAPI) create(pods []*v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pod := range pods {
		a.current[pod.Name] = pod
		a.changes = append(a.changes, change{new: pod})
	}
	a.more.Signal()
}

// deliverChanges delivers what is changed until the API is closed.
func (a *memoryAPI) deliverChanges() error {
	for {
		a.mu.Lock()
		for len(a.changes) == 0 && !a.closed {
			a.more.Wait()
		}
		changes := a.changes
		a.changes = nil
		closed := a.closed
		a.mu.Unlock()
		if closed {
			return nil
		}
		for _, c := range changes {
			if err := a.deliver(c); err != nil {
				return err
			}
		}
	}
}

func (a *memoryAPI) deliver(c change) error {
	indexer := a.pods.GetIndexer()
	switch {
	case c.old == nil:
		if err := indexer.Add(c.new); err != nil {
			return err
		}
		for _, handler := range a.pods.handlers {
			handler.OnAdd(c.new, false)
		}
	case c.new == nil:
		if err := indexer.Delete(c.old); err != nil {
			return err
		}
		for _, handler := range a.pods.handlers {
			handler.OnDelete(c.old)
		}
	default:
		if err := indexer.Update(c.new); err != nil {
			return err
		}
		for _, handler := range a.pods.handlers {
			handler.OnUpdate(c.old, c.new)
		}
	}
	return nil
}

// close ends deliverChanges.
func (a *memoryAPI) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.more.Broadcast()
}

// when returns a channel that is closed once something is so.
func (a *memoryAPI) when(reached func(*memoryAPI) bool) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := goal{reached: reached, done: make(chan struct{})}
	a.goals = append(a.goals, g)
	a.checkGoals()
	return g.done
}

// checkGoals needs mu.
func (a *memoryAPI) checkGoals() {
	a.goals = slices.DeleteFunc(a.goals, func(g goal) bool {
		if !g.reached(a) {
			return false
		}
		close(g.done)
		return true
	})
}

// change replaces a pod by what edit makes of a copy of it, or deletes it if that is nil.
func (a *memoryAPI) change(name string, edit func(*v1.Pod) (*v1.Pod, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.current[name]
	if old == nil {
		return apierrors.NewNotFound(v1.Resource("pods"), name)
	}
	edited := *old // what is edited is replaced as a whole
	pod, err := edit(&edited)
	if err != nil {
		return err
	}
	if pod == nil {
		delete(a.current, name)
	} else {
		a.version++
		pod.ResourceVersion = strconv.Itoa(a.version)
		a.current[name] = pod
	}
	a.changes = append(a.changes, change{old: old, new: pod})
	a.more.Signal()
	a.checkGoals()
	return nil
}

func (a *memoryAPI) bind(binding *v1.Binding) error {
	return a.change(binding.Name, func(pod *v1.Pod) (*v1.Pod, error) {
		if pod.Spec.NodeName != "" {
			return nil, fmt.Errorf("pod %s is bound already", pod.Name)
		}
		pod.Spec.NodeName = binding.Target.Name
		a.bound++
		return pod, nil
	})
}

// patchStatus applies a strategic merge patch of conditions and nominated node, which is all that schedulers patch.
func (a *memoryAPI) patchStatus(name string, data []byte) error {
	var patch struct {
		Status struct {
			Conditions        []v1.PodCondition `json:"conditions"`
			NominatedNodeName json.RawMessage   `json:"nominatedNodeName"`
		} `json:"status"`
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return a.change(name, func(pod *v1.Pod) (*v1.Pod, error) {
		if raw := patch.Status.NominatedNodeName; raw != nil {
			var node *string
			if err := json.Unmarshal(raw, &node); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			pod.Status.NominatedNodeName = ""
			if node != nil {
				pod.Status.NominatedNodeName = *node
			}
		}
		conditions := slices.Clone(pod.Status.Conditions)
		for _, condition := range patch.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable {
				a.rejected++
			}
			if i := slices.IndexFunc(conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type }); i >= 0 {
				conditions[i] = condition
			} else {
				conditions = append(conditions, condition)
			}
		}
		pod.Status.Conditions = conditions
		return pod, nil
	})
}
