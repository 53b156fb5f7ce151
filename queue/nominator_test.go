// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func podInfo(pod *v1.Pod) *framework.PodInfo {
	info, _ := framework.NewPodInfo(pod)
	return info
}

func override(node string) *fwk.NominatingInfo {
	return &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}
}

func lister(pods ...*v1.Pod) listersv1.PodLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, pod := range pods {
		_ = indexer.Add(pod)
	}
	return listersv1.NewPodLister(indexer)
}

func TestNominate(t *testing.T) {
	plain, nominated := objects.Pod("pod").Build(), objects.Pod("pod").NominatedNode("status").Build()
	assigned, successor := objects.Pod("pod").Build(), objects.Pod("pod").Build()
	assigned.Spec.NodeName, successor.UID = "node", "successor"
	for _, test := range []struct {
		name   string
		lister listersv1.PodLister
		pod    *v1.Pod
		info   *fwk.NominatingInfo
		want   string // the node
	}{
		{"by the status", nil, nominated, nil, "status"},
		{"by the status, without override", nil, nominated, &fwk.NominatingInfo{NominatedNodeName: "ignored"}, "status"},
		{"by override", nil, nominated, override("override"), "override"},
		{"cleared by override", nil, nominated, override(""), ""},
		{"no nomination", nil, plain, nil, ""},
		{"of a pod with a node", nil, assigned, override("override"), ""},
		{"of a pod that exists", lister(plain), plain, override("override"), "override"},
		{"of a pod that is gone", lister(), plain, override("override"), ""},
		{"of a pod that has a node by now", lister(assigned), plain, override("override"), ""},
		{"of a pod that another one replaced", lister(successor), plain, override("override"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := NewNominator(test.lister)
			n.AddNominatedPod(klog.Logger{}, podInfo(plain), override("before"))
			n.AddNominatedPod(klog.Logger{}, podInfo(test.pod), test.info)
			for _, node := range []string{"", "before", "status", "override", "ignored"} {
				pods := n.NominatedPodsForNode(node)
				if pods == nil {
					t.Error("nil slice of pods")
				}
				wantEqual(t, "whether the pod is nominated for "+node, len(pods) == 1, node != "" && node == test.want)
			}
			n.DeleteNominatedPodIfExists(plain)
			n.DeleteNominatedPodIfExists(plain)
			wantEqual(t, "nominations after it is deleted", len(n.NominatedPodsForNode(test.want)), 0)
		})
	}
}

func TestUpdateOfANominatedPod(t *testing.T) {
	plain, first, second := objects.Pod("pod").Build(), objects.Pod("pod").NominatedNode("first").Build(), objects.Pod("pod").NominatedNode("second").Build()
	for _, test := range []struct {
		name           string
		oldPod, newPod *v1.Pod
		want           string
	}{
		{"an unrelated change keeps what is only in memory", plain, plain, "memory"},
		{"the status brings one", plain, second, "second"},
		{"the status changes", first, second, "second"},
		{"the status loses it", first, plain, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := NewNominator(nil)
			n.AddNominatedPod(klog.Logger{}, podInfo(plain), override("memory"))
			n.UpdateNominatedPod(klog.Logger{}, test.oldPod, podInfo(test.newPod))
			for _, node := range []string{"", "memory", "first", "second"} {
				wantEqual(t, "whether the pod is nominated for "+node, len(n.NominatedPodsForNode(node)) == 1, node != "" && node == test.want)
			}
		})
	}
}

func TestNominatedPodsAreInOrderAndStayAsTheyWere(t *testing.T) {
	n := NewNominator(nil)
	queued := framework.NewQueuedPodInfo(objects.Pod("a").Priority(1).Build(), start)
	n.AddNominatedPod(klog.Logger{}, queued, override("node"))
	n.AddNominatedPod(klog.Logger{}, podInfo(objects.Pod("b").Build()), override("node"))
	n.AddNominatedPod(klog.Logger{}, podInfo(objects.Pod("c").Build()), override("node"))
	pods := n.NominatedPodsForNode("node")
	n.DeleteNominatedPodIfExists(objects.Pod("b").Build())
	queued.PodInfo = podInfo(objects.Pod("a").Priority(2).Build())
	wantEqual(t, "pods before", []string{pods[0].GetPod().Name, pods[1].GetPod().Name, pods[2].GetPod().Name}, []string{"a", "b", "c"})
	pods = n.NominatedPodsForNode("node")
	wantEqual(t, "pods after", []string{pods[0].GetPod().Name, pods[1].GetPod().Name}, []string{"a", "c"})
	wantEqual(t, "priority", *pods[0].GetPod().Spec.Priority, 1)
}
