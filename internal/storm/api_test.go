// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientset "k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

type object interface {
	metav1.Object
	apiruntime.Object
}

// kind is one of those of which there are events.
type kind int

const (
	pods kind = iota
	nodes
	budgets
	kinds
)

func (k kind) String() string { return [...]string{"pods", "nodes", "budgets"}[k] }

// change is one event of a watch; an object that is gone has no current state.
type change struct {
	key               string
	previous, current object
}

// keptChanges is how many changes that every informer has seen are kept, for schedulers that begin with an old list.
const keptChanges = 40

// apiServer has the truth. Objects in it are never changed, only replaced.
type apiServer struct {
	version int
	objects [kinds]map[string]object
	// log has the changes of each kind; first is the number of the first in it.
	log   [kinds][]change
	first [kinds]int
}

func newAPIServer() *apiServer {
	a := &apiServer{}
	for k := range kinds {
		a.objects[k] = map[string]object{}
	}
	return a
}

func key(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

func kindOf(o object) kind {
	switch o.(type) {
	case *v1.Pod:
		return pods
	case *v1.Node:
		return nodes
	case *policyv1.PodDisruptionBudget:
		return budgets
	}
	panic(fmt.Sprintf("%T is none of the kinds of this world", o))
}

// put stores the new state of an object.
func (w *world) put(o object) {
	a, k := w.api, kindOf(o)
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	a.log[k] = append(a.log[k], change{key(o), a.objects[k][key(o)], o})
	w.changed(a.objects[k][key(o)], o)
	a.objects[k][key(o)] = o
}

// remove forgets an object.
func (w *world) remove(o object) {
	a, k := w.api, kindOf(o)
	a.version++
	a.log[k] = append(a.log[k], change{key(o), o, nil})
	w.changed(o, nil)
	delete(a.objects[k], key(o))
}

// end returns the number that the next change of a kind gets.
func (a *apiServer) end(k kind) int { return a.first[k] + len(a.log[k]) }

// trim forgets changes that are older than what anyone needs.
func (a *apiServer) trim(k kind, needed int) {
	if drop := min(needed, a.end(k)) - keptChanges - a.first[k]; drop > 4*keptChanges {
		a.log[k] = slices.Delete(a.log[k], 0, drop)
		a.first[k] += drop
	}
}

// before returns the objects of a kind as they were some changes ago.
func (a *apiServer) before(k kind, changes int) map[string]object {
	was := maps.Clone(a.objects[k])
	for i := range changes {
		undone := a.log[k][len(a.log[k])-1-i]
		if undone.previous == nil {
			delete(was, undone.key)
		} else {
			was[undone.key] = undone.previous
		}
	}
	return was
}

func (a *apiServer) pod(name string) *v1.Pod {
	pod, _ := a.objects[pods]["default/"+name].(*v1.Pod)
	return pod
}

func (a *apiServer) node(name string) *v1.Node {
	node, _ := a.objects[nodes][name].(*v1.Node)
	return node
}

// sorted returns the objects of a kind by key.
func sorted[T object](a *apiServer, k kind) []T {
	list := make([]T, 0, len(a.objects[k]))
	for _, key := range slices.Sorted(maps.Keys(a.objects[k])) {
		list = append(list, a.objects[k][key].(T))
	}
	return list
}

func resourcePods() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

func conflict(name, text string) error {
	return apierrors.NewConflict(resourcePods(), name, errors.New(text))
}

// find returns the pod that a request is about.
func (w *world) find(name string, uid types.UID) (*v1.Pod, error) {
	pod := w.api.pod(name)
	switch {
	case pod == nil:
		return nil, apierrors.NewNotFound(resourcePods(), name)
	case uid != "" && uid != pod.UID:
		return nil, conflict(name, "the UID is "+string(pod.UID))
	}
	return pod, nil
}

// bind is what the API server does with a binding.
func (w *world) bind(name string, uid types.UID, node string) error {
	pod, err := w.find(name, uid)
	switch {
	case err != nil:
		return err
	case pod.DeletionTimestamp != nil:
		return conflict(name, "the pod is being deleted")
	case pod.Spec.NodeName != "":
		return conflict(name, "the pod is assigned to node "+pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return conflict(name, "the pod has scheduling gates")
	}
	bound := *pod
	bound.Spec.NodeName = node
	bound.Status.NominatedNodeName = ""
	w.put(&bound)
	return nil
}

// patchStatus is what the API server does with a patch of a status.
func (w *world) patchStatus(name string, patch []byte) (*v1.Pod, error) {
	var about struct {
		Metadata struct{ UID types.UID } `json:"metadata"`
	}
	if err := json.Unmarshal(patch, &about); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	pod, err := w.find(name, about.Metadata.UID)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(&v1.Pod{Status: pod.Status})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, &v1.Pod{})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched, result := *pod, &v1.Pod{}
	if err := json.Unmarshal(after, result); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	patched.Status = result.Status
	w.put(&patched)
	return &patched, nil
}

// deletePod is what the API server does with a deletion: pods with a node, or with finalizers, take their time.
func (w *world) deletePod(name string, uid types.UID) error {
	pod, err := w.find(name, uid)
	if err != nil {
		return err
	}
	if len(pod.Finalizers) == 0 && (pod.Spec.NodeName == "" || !w.gracefully) {
		w.remove(pod)
		return nil
	}
	if pod.DeletionTimestamp == nil {
		ending := *pod
		now := metav1.NewTime(w.clock.Now())
		ending.DeletionTimestamp = &now
		w.put(&ending)
	}
	return nil
}

// client is how a scheduler reaches the API server. It has the requests that schedulers make of their own accord.
type client struct {
	clientset.Interface
	in *instance
}

// CoreV1 implements clientset.Interface.
func (c client) CoreV1() typedv1.CoreV1Interface { return coreClient{in: c.in} }

type coreClient struct {
	typedv1.CoreV1Interface
	in *instance
}

// Pods implements typedv1.CoreV1Interface.
func (c coreClient) Pods(string) typedv1.PodInterface { return podClient{in: c.in} }

type podClient struct {
	typedv1.PodInterface
	in *instance
}

// Get implements typedv1.PodInterface.
func (c podClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (pod *v1.Pod, err error) {
	err = c.in.request(ctx, request{verb: "get", pod: name}, func() (err error) {
		pod, err = c.in.find(name, "")
		return err
	})
	if err == nil && pod.Spec.NodeName != "" {
		c.in.confirmed(pod)
	}
	return pod, err
}

// Bind implements typedv1.PodInterface.
func (c podClient) Bind(ctx context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	c.in.bindingSent(binding)
	err := c.in.request(ctx, request{verb: "bind", pod: binding.Name, writes: true}, func() error {
		err := c.in.bind(binding.Name, binding.UID, binding.Target.Name)
		if err == nil {
			c.in.bindingLanded(binding)
		}
		return err
	})
	if err == nil {
		c.in.bound[binding.UID] = binding.Target.Name
	}
	return err
}

// Patch implements typedv1.PodInterface.
func (c podClient) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (pod *v1.Pod, err error) {
	err = c.in.request(ctx, request{verb: "patch", pod: name, writes: true}, func() (err error) {
		pod, err = c.in.patchStatus(name, data)
		return err
	})
	return pod, err
}

// Delete implements typedv1.PodInterface.
func (c podClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return c.in.request(ctx, request{verb: "delete", pod: name, writes: true}, func() error {
		var uid types.UID
		if options.Preconditions != nil && options.Preconditions.UID != nil {
			uid = *options.Preconditions.UID
		}
		return c.in.deletePod(name, uid)
	})
}

// request is one call of the API server.
type request struct {
	verb, pod string
	writes    bool
}

// request lets a call wait, fail, or get lost, as the step wants.
func (in *instance) request(ctx context.Context, r request, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := in.world
	if in.ended {
		return errEnded()
	}
	fails := w.often(w.rates.failing)
	if r.verb == "get" && fails { // without a pause, as how long it may be asked again is real time
		return apierrors.NewServiceUnavailable("the API server is away")
	}
	if w.often(w.rates.slow) && !w.pause("before %s %s", r.verb, r.pod) {
		if r.writes && w.often(500) { // it was on its way already
			_ = do()
		}
		return errEnded()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if fails {
		return in.fault(r, do)
	}
	err := do()
	if w.often(w.rates.slow) && !w.pause("after %s %s", r.verb, r.pod) {
		return errEnded()
	}
	return err
}

func errEnded() error { return apierrors.NewUnauthorized("the scheduler has ended") }

// fault fails a request.
func (in *instance) fault(r request, do func() error) error {
	w := in.world
	switch choice := w.dice.IntN(10); {
	case choice < 4:
		w.note("the response to %s %s is lost", r.verb, r.pod)
		_ = do()
		return apierrors.NewTimeoutError("the response was lost", 0)
	case choice < 7:
		return apierrors.NewServiceUnavailable("the API server is away")
	case choice < 9:
		return conflict(r.pod, "the object has been modified")
	}
	return apierrors.NewForbidden(resourcePods(), r.pod, errors.New("refused"))
}
