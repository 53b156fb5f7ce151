// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// A pod that a plugin rejected waits until something happens that the plugin's hint wants it back for.
func Example() {
	hasDisk := func(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
		if newNode.Labels["disk"] == pod.Spec.NodeSelector["disk"] {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	nodeAdded := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	events := framework.EventMap{}
	events.Register("Disks", nodeAdded)
	q, err := queue.New(context.Background(), queue.Options{
		MaxBackoff: -1, // none, for the sake of the example
		Profiles: map[string]queue.Profile{"default-scheduler": {
			Events: events,
			Registrations: map[string][]fwk.ClusterEventWithHint{
				"Disks": {{Event: nodeAdded, QueueingHintFn: framework.HintFor(hasDisk)}},
			},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	q.Add(objects.Pod("database").Namespace("shop").NodeSelector("disk", "ssd").Build())

	attempt, err := q.Pop()
	if err != nil {
		fmt.Println(err)
		return
	}
	attempt.UnschedulablePlugins.Insert("Disks") // no node has such a disk
	if err := q.AddUnschedulable(attempt); err != nil {
		fmt.Println(err)
		return
	}
	for _, disk := range []string{"hdd", "ssd"} {
		added := objects.Node("node").Label("disk", disk).Build()
		q.Move(nodeAdded, nil, added, nil)
		status, _ := q.Lookup("shop", "database")
		fmt.Printf("after a node with an %s: %s\n", disk, status.Pool)
	}
	// Output:
	// after a node with an hdd: unschedulable
	// after a node with an ssd: active
}
