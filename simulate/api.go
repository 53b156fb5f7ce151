// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
)

// apiServer answers the requests of a clientset from the store.
type apiServer struct {
	store  *store
	client *client
	// written is called after a request that wrote a volume or a claim of any sort; may be nil.
	written func()
}

// newAPIServer returns a server with the clientset that talks to it. It has every kind that client-go has a type for.
func newAPIServer(s *store) *apiServer {
	server := &apiServer{store: s, client: &client{&fake.Clientset{}}}
	server.client.AddReactor("*", "*", server.react)
	server.client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		return true, nil, apierrors.NewMethodNotSupported(action.GetResource().GroupResource(), "watch")
	})
	return server
}

// forgetRequests drops the record of requests that the fake clientset keeps.
func (a *apiServer) forgetRequests() { a.client.ClearActions() }

// react answers one request. What it returns is the caller's own copy.
func (a *apiServer) react(action clienttesting.Action) (bool, apiruntime.Object, error) {
	handled, result, err := a.request(action)
	switch action.GetResource().Resource {
	case "persistentvolumes", "persistentvolumeclaims", "resourceclaims":
		if written := a.written; written != nil {
			written()
		}
	}
	return handled, result, err
}

func (a *apiServer) request(action clienttesting.Action) (bool, apiruntime.Object, error) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	if action.GetResource().Version == "" { // discovery
		return false, nil, nil
	}
	c := a.store.collections[action.GetResource()]
	if c == nil {
		return true, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, action.GetVerb(),
			action.GetResource().GroupResource(), "", "the simulated cluster does not have this kind", 0, false)
	}
	result, err := a.answer(c, action)
	if err != nil || result == nil {
		return true, nil, err
	}
	return true, result.DeepCopyObject(), nil
}

func (a *apiServer) answer(c *collection, action clienttesting.Action) (apiruntime.Object, error) {
	namespace := action.GetNamespace()
	switch action := action.(type) {
	case clienttesting.GetActionImpl:
		if action.GetSubresource() == "" {
			return c.get(namespace, action.GetName())
		}
	case clienttesting.ListActionImpl:
		return a.list(c, namespace, action.GetListRestrictions())
	case clienttesting.CreateActionImpl:
		return a.create(c, namespace, action)
	case clienttesting.UpdateActionImpl:
		return a.update(c, action)
	case clienttesting.PatchActionImpl:
		scope, err := scopeOf(c, action.GetSubresource())
		if err != nil {
			return nil, err
		}
		return a.store.patch(c, namespace, action.GetName(), action.GetPatchType(), action.GetPatch(), scope)
	case clienttesting.DeleteActionImpl:
		return nil, a.delete(c, namespace, action.GetName(), action.GetDeleteOptions().Preconditions)
	case clienttesting.DeleteCollectionActionImpl:
		for _, found := range a.matching(c, namespace, action.GetListRestrictions()) {
			if err := a.store.delete(c, found.GetNamespace(), found.GetName()); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return nil, apierrors.NewMethodNotSupported(c.resource.GroupResource(), action.GetVerb())
}

func (a *apiServer) list(c *collection, namespace string, restrictions clienttesting.ListRestrictions) (apiruntime.Object, error) {
	list, err := scheme.Scheme.New(c.GroupVersion().WithKind(c.Kind + "List"))
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", c.resource.Resource, err)
	}
	var items []apiruntime.Object
	for _, found := range a.matching(c, namespace, restrictions) {
		items = append(items, found)
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("listing %s: %w", c.resource.Resource, err)
	}
	return list, nil
}

func (a *apiServer) matching(c *collection, namespace string, restrictions clienttesting.ListRestrictions) []object {
	var matching []object
	for _, found := range c.sorted(namespace) {
		if restrictions.Labels != nil && !restrictions.Labels.Matches(labels.Set(found.GetLabels())) {
			continue
		}
		if restrictions.Fields != nil && !restrictions.Fields.Matches(selectableFields(found)) {
			continue
		}
		matching = append(matching, found)
	}
	return matching
}

// selectableFields returns what field selectors can ask for.
func selectableFields(o object) fields.Set {
	set := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	if pod, isPod := o.(*v1.Pod); isPod {
		set["spec.nodeName"] = pod.Spec.NodeName
		set["spec.schedulerName"] = pod.Spec.SchedulerName
		set["status.phase"] = string(pod.Status.Phase)
	}
	return set
}

func (a *apiServer) create(c *collection, namespace string, action clienttesting.CreateActionImpl) (apiruntime.Object, error) {
	switch request := action.GetObject().(type) {
	case *v1.Binding:
		return request, a.store.bind(namespace, request)
	case *policyv1.Eviction:
		return request, a.delete(c, namespace, request.Name, nil)
	case object:
		if action.GetSubresource() != "" {
			break
		}
		if request.GetNamespace() == "" {
			request.SetNamespace(namespace)
		}
		return a.store.admit(c, request)
	}
	return nil, apierrors.NewMethodNotSupported(c.resource.GroupResource(), "create "+action.GetSubresource())
}

func (a *apiServer) update(c *collection, action clienttesting.UpdateActionImpl) (apiruntime.Object, error) {
	scope, err := scopeOf(c, action.GetSubresource())
	if err != nil {
		return nil, err
	}
	changed, isObject := action.GetObject().(object)
	if !isObject {
		return nil, apierrors.NewBadRequest("the request has no object")
	}
	current, err := c.get(changed.GetNamespace(), changed.GetName())
	if err != nil {
		return nil, err
	}
	clearType(changed)
	keepOtherPart(current, changed, scope)
	return a.store.update(c, changed, scope)
}

func scopeOf(c *collection, subresource string) (part, error) {
	switch subresource {
	case "":
		return allButStatus, nil
	case "status":
		return statusOnly, nil
	case "resize", "ephemeralcontainers":
		return allButStatus, nil
	}
	return 0, apierrors.NewMethodNotSupported(c.resource.GroupResource(), "update of "+subresource)
}

func (a *apiServer) delete(c *collection, namespace, name string, preconditions *metav1.Preconditions) error {
	current, err := c.get(namespace, name)
	if err != nil {
		return err
	}
	if preconditions != nil && preconditions.UID != nil && *preconditions.UID != current.GetUID() {
		return a.store.conflict(c, name, "the UID is %s, not %s", current.GetUID(), *preconditions.UID)
	}
	return a.store.delete(c, namespace, name)
}

// bind assigns a pod to a node, as the subresource binding does. The pod counts as started at once; nothing else that
// a kubelet would do is simulated.
func (s *store) bind(namespace string, binding *v1.Binding) error {
	c := s.pods()
	found, err := c.get(namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod)
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return s.conflict(c, pod.Name, "the UID is %s, not %s", pod.UID, binding.UID)
	case pod.DeletionTimestamp != nil:
		return s.conflict(c, pod.Name, "the pod is being deleted and cannot be assigned to a node")
	case pod.Spec.NodeName != "":
		return s.conflict(c, pod.Name, "the pod is assigned to node %s already", pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return s.conflict(c, pod.Name, "the pod has scheduling gates")
	case binding.Target.Name == "":
		return apierrors.NewBadRequest("the binding names no node")
	}
	bound := ownCopy(pod).(*v1.Pod)
	bound.Spec.NodeName = binding.Target.Name
	bound.Status.NominatedNodeName = ""
	if len(binding.Annotations) > 0 {
		annotations := make(map[string]string, len(pod.Annotations)+len(binding.Annotations))
		maps.Copy(annotations, pod.Annotations)
		maps.Copy(annotations, binding.Annotations)
		bound.Annotations = annotations
	}
	now := metav1.NewTime(s.clock.Now()).Rfc3339Copy()
	bound.Status.StartTime = &now
	setScheduled(bound, now)
	s.put(c, keyOf(namespace, pod.Name), pod, bound)
	return nil
}

// setScheduled sets the condition that tells a pod has a node, in a list of its own.
func setScheduled(pod *v1.Pod, now metav1.Time) {
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: now}
	pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == v1.PodScheduled {
			pod.Status.Conditions[i] = scheduled
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, scheduled)
}

// patchNow applies a strategic merge patch to the whole object, which is how scenarios change objects.
func (s *store) patchNow(c *collection, namespace, name string, data []byte) (object, error) {
	return s.patch(c, namespace, name, types.StrategicMergePatchType, data, wholeObject)
}
