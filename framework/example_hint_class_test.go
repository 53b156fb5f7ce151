// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// samePool is a Filter plugin that accepts the nodes of the pool that a pod names.
type samePool struct{}

var (
	_ framework.HintClassPlugin = samePool{}
	_ fwk.EnqueueExtensions     = samePool{}
)

func (samePool) Name() string { return "SamePool" }

func (samePool) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Labels["example.com/pool"] != pod.Labels["example.com/pool"] {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) in another pool")
	}
	return nil
}

// EventsToRegister implements fwk.EnqueueExtensions. The hint reads nothing but the pool of the pod.
func (samePool) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		QueueingHintFn: framework.HintFor(func(_ klog.Logger, pod *v1.Pod, _, node *v1.Node) (fwk.QueueingHint, error) {
			if node == nil || node.Labels["example.com/pool"] == pod.Labels["example.com/pool"] {
				return fwk.Queue, nil
			}
			return fwk.QueueSkip, nil
		}),
	}}, nil
}

// HintClass implements framework.HintClassPlugin: the pods of a pool are one class.
func (samePool) HintClass(pod *v1.Pod) (string, bool) { return pod.Labels["example.com/pool"], true }

// The queue calls the hint of this plugin once for an event and a pool, however many pods of the pool wait.
func ExampleHintClassPlugin() {
	calls := map[string]int{}
	hints := map[string]fwk.QueueingHint{} // by class
	registered, err := samePool{}.EventsToRegister(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"example.com/pool": "gpu"}}}
	for _, pool := range []string{"gpu", "gpu", "cpu", "gpu", "cpu"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"example.com/pool": pool}}}
		class, _ := samePool{}.HintClass(pod)
		if _, known := hints[class]; known {
			continue
		}
		calls[class]++
		if hints[class], err = registered[0].QueueingHintFn(klog.Logger{}, pod, nil, node); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(calls)
	fmt.Println(hints)
	// Output:
	// map[cpu:1 gpu:1]
	// map[cpu:QueueSkip gpu:Queue]
}
