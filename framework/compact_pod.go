// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"sync"
	"weak"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
)

var (
	_ metav1.Object     = &CompactPod{}
	_ apiruntime.Object = &CompactPod{}
)

// CompactPod is a pod in a third of the memory of a v1.Pod, most of which is empty and the same for all pods of a
// Deployment. The v1.Pod is made on demand, and is garbage once it is no longer referenced.
//
// Its fields are set before others see it, and neither they nor what they point to change afterwards. Then it is safe for
// concurrent use.
type CompactPod struct {
	metav1.ObjectMeta
	// NodeName, Affinity and Volumes are fields of the spec.
	NodeName string
	Affinity *v1.Affinity
	Volumes  []v1.Volume
	// Spec is the rest of the spec. It may be that of many pods, and is never nil.
	Spec *v1.PodSpec
	// StartTime is a field of the status.
	StartTime *metav1.Time
	// Status is the rest of the status. It may be that of many pods, and is never nil.
	Status *v1.PodStatus

	mu   sync.Mutex
	made weak.Pointer[v1.Pod] // guarded by mu
}

// Pod returns the pod. All callers get the same one for as long as it is referenced. It must not be changed.
func (c *CompactPod) Pod() *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod := c.made.Value(); pod != nil {
		return pod
	}
	pod := &v1.Pod{}
	c.make(pod)
	return pod
}

// MakeIn makes the pod in memory of the caller. Pod returns that one for as long as it is referenced.
func (c *CompactPod) MakeIn(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make(pod)
}

// make needs the lock.
func (c *CompactPod) make(pod *v1.Pod) {
	*pod = v1.Pod{ObjectMeta: c.ObjectMeta, Spec: *c.Spec, Status: *c.Status}
	pod.Spec.NodeName, pod.Spec.Affinity, pod.Spec.Volumes = c.NodeName, c.Affinity, c.Volumes
	pod.Status.StartTime = c.StartTime
	c.made = weak.Make(pod)
}

// GetObjectKind implements runtime.Object. As that of a v1.Pod from an informer, it is empty.
func (c *CompactPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. A compact pod does not change, so it is its own copy.
func (c *CompactPod) DeepCopyObject() apiruntime.Object { return c }

// PodView reads a pod without a v1.Pod being made of one that is compact. Nothing that its methods return may be changed.
// Make one with [ViewPod].
type PodView struct {
	pod     *v1.Pod
	compact *CompactPod // nil unless the pod is compact
}

// ViewPod returns a view of the pod of a pod info of any type. It costs nothing.
func ViewPod(info fwk.PodInfo) PodView {
	if own, ok := info.(*PodInfo); ok && own.compact != nil {
		return PodView{compact: own.compact}
	}
	return PodView{pod: info.GetPod()}
}

// Meta returns the metadata.
func (v PodView) Meta() *metav1.ObjectMeta {
	if v.compact != nil {
		return &v.compact.ObjectMeta
	}
	return &v.pod.ObjectMeta
}

// Priority returns the priority; zero if the pod has none.
func (v PodView) Priority() int32 {
	if v.compact == nil {
		return corev1helpers.PodPriority(v.pod)
	}
	if priority := v.compact.Spec.Priority; priority != nil {
		return *priority
	}
	return 0
}

// StartTime returns when the kubelet took the pod; nil if it did not yet.
func (v PodView) StartTime() *metav1.Time {
	if v.compact != nil {
		return v.compact.StartTime
	}
	return v.pod.Status.StartTime
}

// Volumes returns the volumes of the spec.
func (v PodView) Volumes() []v1.Volume {
	if v.compact != nil {
		return v.compact.Volumes
	}
	return v.pod.Spec.Volumes
}

func (v PodView) affinity() *v1.Affinity {
	if v.compact != nil {
		return v.compact.Affinity
	}
	return v.pod.Spec.Affinity
}

// spec returns a spec whose containers are those of the pod.
func (v PodView) spec() *v1.PodSpec {
	if v.compact != nil {
		return v.compact.Spec
	}
	return &v.pod.Spec
}
