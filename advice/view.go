// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/rouse-scheduler/rouse/whatif"
)

// view is the cluster that advice is about, and the pod. Nothing in it is changed.
type view struct {
	cluster *whatif.Cluster
	pod     *v1.Pod
	nodes   []*v1.Node
	byName  map[string]*v1.Node
	// on has the pods of each node, the least important first, and nominated those that wait for its room.
	on, nominated map[string][]*v1.Pod
	slices        []*resourceapi.ResourceSlice
	csiNodes      map[string]*storagev1.CSINode
}

func newView(cluster *whatif.Cluster, pod *v1.Pod) *view {
	v := &view{
		cluster: cluster, pod: pod, byName: map[string]*v1.Node{},
		on: map[string][]*v1.Pod{}, nominated: map[string][]*v1.Pod{}, csiNodes: map[string]*storagev1.CSINode{},
	}
	for _, object := range cluster.Objects() {
		switch o := object.(type) {
		case *v1.Node:
			v.nodes = append(v.nodes, o)
			v.byName[o.Name] = o
		case *v1.Pod:
			finished := o.Status.Phase == v1.PodSucceeded || o.Status.Phase == v1.PodFailed
			switch node := o.Status.NominatedNodeName; {
			case finished:
			case o.Spec.NodeName != "":
				v.on[o.Spec.NodeName] = append(v.on[o.Spec.NodeName], o)
			case node != "" && o.UID != pod.UID:
				v.nominated[node] = append(v.nominated[node], o)
			}
		case *resourceapi.ResourceSlice:
			v.slices = append(v.slices, o)
		case *storagev1.CSINode:
			v.csiNodes[o.Name] = o
		}
	}
	for _, pods := range v.on {
		slices.SortStableFunc(pods, lessImportant)
	}
	return v
}

// lessImportant orders pods by how little is lost with them: those that are ending anyway, then those of low priority.
func lessImportant(a, b *v1.Pod) int {
	ending := func(pod *v1.Pod) int {
		if pod.DeletionTimestamp != nil {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(ending(a), ending(b)), cmp.Compare(corev1helpers.PodPriority(a), corev1helpers.PodPriority(b)))
}

// domain returns the pods on all nodes with a label, the least important first.
func (v *view) domain(key, value string) []*v1.Pod {
	var pods []*v1.Pod
	for _, node := range v.nodes {
		if actual, has := node.Labels[key]; has && actual == value {
			pods = append(pods, v.on[node.Name]...)
		}
	}
	slices.SortStableFunc(pods, lessImportant)
	return pods
}

// domains returns the values of a label, the most frequent first, and at most a few.
func (v *view) domains(key string) []string {
	counts := map[string]int{}
	for _, node := range v.nodes {
		if value, has := node.Labels[key]; has {
			counts[value]++
		}
	}
	values := make([]string, 0, len(counts))
	for value := range counts {
		values = append(values, value)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return values[:min(len(values), maxAlternatives)]
}

// namespaceLabels returns the labels of a namespace, none if it does not exist.
func (v *view) namespaceLabels(name string) labels.Set {
	namespace, _ := v.cluster.Get(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}).(*v1.Namespace)
	if namespace == nil {
		return nil
	}
	return namespace.Labels
}

// claim returns a claim of the pod's namespace, nil if it does not exist.
func (v *view) claim(name string) *v1.PersistentVolumeClaim {
	claim, _ := v.cluster.Get(&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.pod.Namespace, Name: name}}).(*v1.PersistentVolumeClaim)
	return claim
}

// volume returns a volume, nil if it does not exist.
func (v *view) volume(name string) *v1.PersistentVolume {
	volume, _ := v.cluster.Get(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}).(*v1.PersistentVolume)
	return volume
}

// class returns a storage class, nil if it does not exist.
func (v *view) class(name string) *storagev1.StorageClass {
	class, _ := v.cluster.Get(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}).(*storagev1.StorageClass)
	return class
}
