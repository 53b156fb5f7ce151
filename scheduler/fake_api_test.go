// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// fault is what goes wrong with a call: it fails with the error, after it was carried out or without that.
type fault struct {
	err     error
	carried bool
}

// fakeAPI makes a fake clientset bind as an API server does, and go wrong as a test says.
type fakeAPI struct {
	client *fake.Clientset
	// fault returns what goes wrong with a call, a zero fault for nothing. It sees get, patch and create of pods.
	fault func(verb string) fault

	mu    sync.Mutex
	calls map[string]int    // by verb, create for bindings
	bound map[string]string // every pod that was ever bound
	wrong []string          // what must never happen
}

func newFakeAPI(client *fake.Clientset, goesWrong func(verb string) fault) *fakeAPI {
	a := &fakeAPI{client: client, fault: goesWrong, calls: map[string]int{}, bound: map[string]string{}}
	for _, verb := range []string{"get", "patch", "create"} {
		client.PrependReactor(verb, "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
			if verb == "create" && action.GetSubresource() != "binding" {
				return false, nil, nil
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.calls[verb]++
			f := a.fault(verb)
			if f.err != nil && !f.carried {
				return true, nil, f.err
			}
			var err error
			var handled bool
			var object apiruntime.Object
			if verb == "create" {
				handled = true
				object, err = a.bind(action.(clienttesting.CreateAction).GetObject().(*v1.Binding), action.GetNamespace())
			} else if f.err != nil {
				handled, object, err = clienttesting.ObjectReaction(client.Tracker())(action)
			}
			if f.err != nil {
				return true, nil, f.err
			}
			return handled, object, err
		})
	}
	return a
}

func podsResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// bind refuses what an API server refuses.
func (a *fakeAPI) bind(binding *v1.Binding, namespace string) (apiruntime.Object, error) {
	object, err := a.client.Tracker().Get(podsResource(), namespace, binding.Name)
	if err != nil {
		return nil, err
	}
	pod := object.(*v1.Pod).DeepCopy()
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, pod.Name, fmt.Errorf(format, args...))
	}
	switch {
	case binding.UID != pod.UID:
		return nil, conflict("the UID in the precondition (%s) does not match the UID in record (%s)", binding.UID, pod.UID)
	case pod.DeletionTimestamp != nil:
		return nil, conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return nil, conflict("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	}
	if before := a.bound[string(pod.UID)]; before != "" {
		a.wrong = append(a.wrong, fmt.Sprintf("pod %s was bound to %s and then to %s", pod.Name, before, binding.Target.Name))
	}
	a.bound[string(pod.UID)] = binding.Target.Name
	pod.Spec.NodeName = binding.Target.Name
	pod.ResourceVersion += "1"
	return binding, a.client.Tracker().Update(podsResource(), pod, namespace)
}

// inTurn returns faults one after the other, for calls with one verb, and then none.
func inTurn(verb string, faults ...fault) func(string) fault {
	return func(called string) fault {
		if called != verb || len(faults) == 0 {
			return fault{}
		}
		next := faults[0]
		faults = faults[1:]
		return next
	}
}

// transportError is what a client returns when there was no answer.
func transportError(err error) error { return &url.Error{Op: "Post", URL: "https://api", Err: err} }

// troubles returns the errors of an API server that is in trouble, by name.
func troubles() map[string]error {
	return map[string]error{
		"too many requests":   apierrors.NewTooManyRequests("slowly", 1),
		"internal error":      apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
		"service unavailable": apierrors.NewServiceUnavailable("starting"),
		"timeout":             apierrors.NewTimeoutError("too slow", 0),
		"connection closed":   transportError(io.EOF),
		"connection lost":     transportError(errors.New("http2: client connection lost")),
	}
}

func deleting(pod *v1.Pod) {
	now := metav1.Now()
	pod.DeletionTimestamp = &now
}
