// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
)

// api is an API server in memory. It binds pods, answers as slowly as it is told to, and holds back what watches report.
type api struct {
	fake *fake.Clientset

	mu     sync.Mutex
	slow   map[call]time.Duration
	fails  map[call]error
	counts map[call]int
	// graceful has the pods that only begin to terminate when they are deleted.
	graceful map[string]bool
	// held is closed when watches of the resource go on; there is none if they do already.
	held map[string]*Latch
	// lost is closed when watches of the resource break.
	lost map[string]*Latch
}

// call is a kind of request about a pod.
type call struct{ verb, pod string }

func newAPI() *api {
	a := &api{
		fake:   fake.NewClientset(),
		slow:   map[call]time.Duration{},
		fails:  map[call]error{},
		counts: map[call]int{},

		graceful: map[string]bool{},
		held:     map[string]*Latch{},
		lost:     map[string]*Latch{},
	}
	a.fake.PrependWatchReactor("*", a.watch)
	return a
}

// Slow makes every request of a kind about a pod take twice the duration: before it has its effect, and after.
func (a *api) Slow(verb, pod string, duration time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slow[call{verb, pod}] = duration
}

// Fail makes the next request of a kind about a pod fail.
func (a *api) Fail(verb, pod string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails[call{verb, pod}] = err
}

// Graceful has a pod terminate for as long as the sequence goes on when the scheduler deletes it.
func (a *api) Graceful(pod string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.graceful[pod] = true
}

// Calls returns how many requests of a kind there were about a pod.
func (a *api) Calls(verb, pod string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[call{verb, pod}]
}

// Hold has watches of a resource report nothing more until Release or Relist.
func (a *api) Hold(resource string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[resource] = NewLatch()
}

// Release has all watches report what they held back.
func (a *api) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for resource, latch := range a.held {
		latch.Open()
		delete(a.held, resource)
	}
}

// Relist breaks the watches of a resource, so that informers list it again; what was held back is lost.
func (a *api) Relist(resource string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if latch := a.lost[resource]; latch != nil {
		latch.Open()
	}
	a.lost[resource] = NewLatch()
	delete(a.held, resource)
}

func (a *api) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	resource := action.GetResource()
	source, err := a.fake.Tracker().Watch(resource, action.GetNamespace())
	if err != nil {
		return true, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost[resource.Resource] == nil {
		a.lost[resource.Resource] = NewLatch()
	}
	w := &heldWatch{source: source, lost: a.lost[resource.Resource], stopped: NewLatch(), results: make(chan watch.Event)}
	go w.forward(func() *Latch {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.held[resource.Resource]
	})
	return true, w, nil
}

// heldWatch is a watch that can be held back, and broken.
type heldWatch struct {
	source        watch.Interface
	lost, stopped *Latch
	results       chan watch.Event
}

// Stop implements watch.Interface.
func (w *heldWatch) Stop() { w.stopped.Open() }

// ResultChan implements watch.Interface.
func (w *heldWatch) ResultChan() <-chan watch.Event { return w.results }

func (w *heldWatch) forward(held func() *Latch) {
	defer close(w.results)
	defer w.source.Stop()
	for {
		var event watch.Event
		select {
		case event = <-w.source.ResultChan():
		case <-w.lost.open:
			event = expired()
		case <-w.stopped.open:
			return
		}
		if latch := held(); latch != nil {
			select {
			case <-latch.open:
			case <-w.lost.open:
				event = expired()
			case <-w.stopped.open:
				return
			}
		}
		select {
		case w.results <- event:
		case <-w.stopped.open:
			return
		}
		if event.Type == watch.Error {
			return
		}
	}
}

// expired is what a watch reports that has to start again.
func expired() watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}}
}

// client returns a client for the API.
func (a *api) client() clientset.Interface { return &client{Clientset: a.fake, api: a} }

type client struct {
	*fake.Clientset
	api *api
}

// CoreV1 implements clientset.Interface.
func (c *client) CoreV1() corev1client.CoreV1Interface { return &core{c.Clientset.CoreV1(), c.api} }

type core struct {
	corev1client.CoreV1Interface
	api *api
}

// Pods implements corev1client.PodsGetter.
func (c *core) Pods(namespace string) corev1client.PodInterface {
	return &pods{c.CoreV1Interface.Pods(namespace), c.api, namespace}
}

type pods struct {
	corev1client.PodInterface
	api       *api
	namespace string
}

// Patch implements corev1client.PodInterface.
func (p *pods) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (pod *v1.Pod, err error) {
	err = p.api.call("patch", name, func() (err error) {
		pod, err = p.api.patch(p.namespace, name, data)
		return err
	})
	return pod, err
}

// Delete implements corev1client.PodInterface.
func (p *pods) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return p.api.call("delete", name, func() error {
		p.api.mu.Lock()
		graceful := p.api.graceful[name]
		p.api.mu.Unlock()
		if !graceful {
			return p.PodInterface.Delete(ctx, name, options)
		}
		pod, err := p.api.get(p.namespace, name)
		if err != nil {
			return err
		}
		now := metav1.Now()
		pod.DeletionTimestamp = &now
		return p.api.update(pod)
	})
}

// Bind implements corev1client.PodInterface.
func (p *pods) Bind(_ context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	return p.api.call("bind", binding.Name, func() error { return p.api.bind(binding, p.namespace) })
}

// call carries out a request as slowly, or badly, as it was told to.
func (a *api) call(verb, pod string, do func() error) error {
	a.mu.Lock()
	key := call{verb, pod}
	a.counts[key]++
	slow, fails := a.slow[key], a.fails[key]
	delete(a.fails, key)
	a.mu.Unlock()
	time.Sleep(slow)
	err := fails
	if err == nil {
		err = do()
	}
	time.Sleep(slow)
	return err
}

// patch applies a strategic merge patch. The patches of a fake clientset leave the resource version as it is, so that they look
// like no change at all.
func (a *api) patch(namespace, name string, data []byte) (*v1.Pod, error) {
	pod, err := a.get(namespace, name)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, data, v1.Pod{})
	if err != nil {
		return nil, err
	}
	patched := &v1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		return nil, err
	}
	return patched, a.update(patched)
}

func (a *api) get(namespace, name string) (*v1.Pod, error) {
	object, err := a.fake.Tracker().Get(podsResource(), namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*v1.Pod).DeepCopy(), nil
}

// update makes an object a new version of itself.
func (a *api) update(object object) error {
	object.SetResourceVersion(object.GetResourceVersion() + "1")
	return a.fake.Tracker().Update(resourceOf(object), object, object.GetNamespace())
}

type object interface {
	apiruntime.Object
	metav1.Object
}

// bind refuses what an API server refuses.
func (a *api) bind(binding *v1.Binding, namespace string) error {
	pod, err := a.get(namespace, binding.Name)
	if err != nil {
		return err
	}
	if pod.UID != binding.UID || pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" {
		return fmt.Errorf("pod %s cannot be bound", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Status.NominatedNodeName = ""
	return a.update(pod)
}

func podsResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// resourceOf returns the resource of an object of a kind whose plural is regular.
func resourceOf(object apiruntime.Object) schema.GroupVersionResource {
	kinds, _, err := clientscheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(err) // only a mistake in a sequence
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource
}
