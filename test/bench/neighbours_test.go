// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

func TestNeighboursArePlacedByBothContenders(t *testing.T) {
	const nodes, pods = 120, warmUpPods + 20
	for _, c := range neighbourCases() {
		cluster := objects.NewNeighbours(c.shape, nodes)
		for who, build := range map[string]func(context.Context, *objects.Neighbours) (decider, error){
			"rouse": newRouseWithNeighbours, "kube-scheduler": newKubeSchedulerWithNeighbours,
		} {
			t.Run(c.name+"/"+who, func(t *testing.T) {
				d, err := build(t.Context(), cluster)
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				if _, err := measureNeighbours(t.Context(), &meter{}, d, cluster, pods); err != nil {
					t.Fatal(err)
				}
				for i := range pods {
					node, err := d.nodeOf(cluster.Incoming(i))
					if err != nil || node == "" {
						t.Fatalf("pod %d has no node: %v", i, err)
					}
					if strings.Contains(string(c.shape), "terms of others") && node == cluster.Pods[i].Spec.NodeName {
						t.Errorf("pod %d is on node %s, next to the pod that must not have such pods there", i, node)
					}
				}
			})
		}
	}
}
