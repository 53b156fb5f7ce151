// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func ExampleNewResource() {
	r := framework.NewResource(v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse("1500m"),
		v1.ResourceMemory: resource.MustParse("1Gi"),
		"example.com/gpu": resource.MustParse("2"),
		"not-a-resource":  resource.MustParse("7"),
	})
	fmt.Println(r.MilliCPU, r.Memory, r.ScalarResources)
	// Output: 1500 1073741824 map[example.com/gpu:2]
}

func ExampleNodeInfo() {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")}},
			Ports:     []v1.ContainerPort{{HostPort: 8080}},
		}}},
	}
	node := framework.NewNodeInfo(pod)
	node.SetNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}},
	})
	fmt.Println(node.GetRequested().GetMilliCPU(), "of", node.GetAllocatable().GetMilliCPU())
	fmt.Println(node.GetUsedPorts().CheckConflict("127.0.0.1", "TCP", 8080))
	// Output:
	// 500 of 4000
	// true
}

// A registration for pods in general is kept as three, one for each kind of pod that events tell apart.
func ExampleEventMap() {
	m := framework.EventMap{}
	m.Register("NodeAffinity", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel})
	m.Register("Quota",
		fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add},
		fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete})
	for _, event := range m.Events() {
		fmt.Println(event.Resource, framework.ActionNames(event.ActionType), sets.List(m[event]))
	}

	happened := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	fmt.Println(happened.Label(), "is for", sets.List(m.Plugins(happened)))
	// Output:
	// AssignedPod [Delete] [Quota]
	// Node [Add] [Quota]
	// Node [Add UpdateNodeLabel] [NodeAffinity]
	// TargetPod [Delete] [Quota]
	// UnscheduledPod [Delete] [Quota]
	// NodeAdd is for [NodeAffinity Quota]
}

func ExamplePodEvents() {
	before := &v1.Pod{Spec: v1.PodSpec{SchedulingGates: []v1.PodSchedulingGate{{Name: "example.com/quota"}}}}
	after := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	for _, event := range framework.PodEvents(before, after, true) {
		fmt.Println(event.Label())
	}
	// Output:
	// TargetPodUpdatePodLabel
	// TargetPodUpdatePodSchedulingGatesEliminated
}

func ExampleNodeEvents() {
	before := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "maintenance", Effect: v1.TaintEffectNoSchedule}}}}
	after := &v1.Node{}
	for _, event := range framework.NodeEvents(before, after) {
		fmt.Println(event.Label())
	}
	fmt.Println(len(framework.NodeEvents(after, after)), "events of a heartbeat")
	// Output:
	// NodeUpdateNodeTaint
	// 0 events of a heartbeat
}

func ExampleMatches() {
	registered := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}
	for _, happened := range []fwk.ClusterEvent{
		{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
		{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint},
		{Resource: fwk.PersistentVolume, ActionType: fwk.Add},
	} {
		fmt.Println(happened.Label(), framework.Matches(registered, happened))
	}
	// Output:
	// NodeUpdateNodeLabel true
	// NodeUpdateNodeTaint false
	// PersistentVolumeAdd false
}

// The NormalizeScore of a plugin that counts things, where fewer are better.
func ExampleDefaultNormalizeScore() {
	scores := fwk.NodeScoreList{{Name: "n1", Score: 4}, {Name: "n2", Score: 1}, {Name: "n3", Score: 0}}
	status := framework.DefaultNormalizeScore(fwk.MaxScore, true, scores)
	fmt.Println(scores, status.IsSuccess())
	// Output: [{n1 0} {n2 75} {n3 100}] true
}

// A plugin that waits for one label of a node registers a hint, so that other labels wake no pod.
func ExampleHintFor() {
	hint := framework.HintFor(func(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
		if newNode.Labels["rack"] == pod.Labels["rack"] {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	})
	registration := fwk.ClusterEventWithHint{
		Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
		QueueingHintFn: hint,
	}

	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"rack": "r7"}}}
	before := &v1.Node{}
	after := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"rack": "r7"}}}
	advice, err := registration.QueueingHintFn(klog.Logger{}, pod, before, after)
	fmt.Println(advice, err)
	advice, err = registration.QueueingHintFn(klog.Logger{}, pod, before, &v1.Pod{})
	fmt.Println(advice, err)
	// Output:
	// Queue <nil>
	// Queue new object of the event: expected *v1.Node, got *v1.Pod
}

func ExampleFitError() {
	statuses := framework.NewDefaultNodeToStatus()
	statuses.Set("n1", fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu"))
	statuses.Set("n2", fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu", "Too many pods"))
	err := &framework.FitError{NumAllNodes: 2, Diagnosis: framework.Diagnosis{NodeToStatus: statuses}}
	fmt.Println(err)
	// Output: 0/2 nodes are available: 1 Too many pods, 2 Insufficient cpu.
}

func ExampleExtendedHandle() {
	// In a factory; the handle of kube-scheduler lacks the extension.
	startTask := func(handle fwk.Handle, task func()) {
		if extended, ok := handle.(framework.ExtendedHandle); ok {
			extended.Go(task)
			return
		}
		go task()
	}

	done := make(chan string)
	var handle fwk.Handle // the one that the factory got
	startTask(handle, func() { done <- "evicted" })
	fmt.Println(<-done)
	// Output: evicted
}
