// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client is the API server model as the scheduler sees it. It has the calls that the scheduler and DefaultPreemption make;
// any other panics.
type client struct {
	clientset.Interface
	w *world
}

func (c *client) CoreV1() typedcorev1.CoreV1Interface { return coreClient{w: c.w} }

type coreClient struct {
	typedcorev1.CoreV1Interface
	w *world
}

func (c coreClient) Pods(string) typedcorev1.PodInterface { return podClient{w: c.w} }

type podClient struct {
	typedcorev1.PodInterface
	w *world
}

// refused is what an API call returns that is to fail for good.
func refused(name string) error {
	return apierrors.NewForbidden(v1.Resource("pods"), name, errors.New("this call was to fail"))
}

// named returns the pod of a name, if it is the one with the UID; an empty UID means any.
func (c podClient) named(name string, uid types.UID) (*v1.Pod, error) {
	pod := c.w.pods[name]
	switch {
	case pod == nil:
		return nil, apierrors.NewNotFound(v1.Resource("pods"), name)
	case uid != "" && pod.UID != uid:
		return nil, apierrors.NewConflict(v1.Resource("pods"), name, fmt.Errorf("the UID is %s", pod.UID))
	}
	return pod, nil
}

// Get implements PodInterface.
func (c podClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1.Pod, error) {
	c.w.pause("get")
	return c.named(name, "")
}

// Bind implements PodInterface. The response can get lost.
func (c podClient) Bind(_ context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	outcome := c.w.pause("bind")
	if outcome == fails {
		return refused(binding.Name)
	}
	pod, err := c.named(binding.Name, binding.UID)
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return apierrors.NewConflict(v1.Resource("pods"), pod.Name, errors.New("it has a node or is being deleted"))
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = binding.Target.Name
	c.w.setPod(pod.Name, bound)
	if outcome == lost {
		return refused(binding.Name)
	}
	return nil
}

// Delete implements PodInterface.
func (c podClient) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	if c.w.pause("evict") == fails {
		return refused(name)
	}
	var uid types.UID
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		uid = *options.Preconditions.UID
	}
	if _, err := c.named(name, uid); err != nil {
		return err
	}
	c.w.deletePod(name)
	return nil
}

// Patch implements PodInterface for the nomination and the conditions of a pod. An API server answers with a conflict to
// a patch for a pod of another UID, which the scheduler would try again in real time; here it is not to be.
func (c podClient) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*v1.Pod, error) {
	c.w.pause("patch")
	var patch struct {
		Metadata struct{ UID types.UID }
		Status   struct {
			NominatedNodeName *string
			Conditions        []v1.PodCondition
		}
	}
	var raw struct {
		Status map[string]json.RawMessage
	}
	if err := errors.Join(json.Unmarshal(data, &patch), json.Unmarshal(data, &raw)); err != nil {
		return nil, err
	}
	pod, err := c.named(name, patch.Metadata.UID)
	if err != nil {
		return nil, apierrors.NewNotFound(v1.Resource("pods"), name)
	}
	patched := pod.DeepCopy()
	if _, given := raw.Status["nominatedNodeName"]; given {
		patched.Status.NominatedNodeName = ""
		if node := patch.Status.NominatedNodeName; node != nil {
			patched.Status.NominatedNodeName = *node
		}
	}
	for _, condition := range patch.Status.Conditions {
		mergeCondition(&patched.Status, condition)
	}
	c.w.setPod(name, patched)
	return patched, nil
}

// mergeCondition merges by type, as a strategic merge patch does: what the patch leaves out stays.
func mergeCondition(status *v1.PodStatus, condition v1.PodCondition) {
	i := slices.IndexFunc(status.Conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	old := &status.Conditions[i]
	for _, field := range []struct{ to, from *string }{
		{(*string)(&old.Status), (*string)(&condition.Status)}, {&old.Reason, &condition.Reason}, {&old.Message, &condition.Message},
	} {
		if *field.from != "" {
			*field.to = *field.from
		}
	}
}
