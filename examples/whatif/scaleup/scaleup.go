// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaleup is the core of an autoscaler: which nodes to add, of the kinds that can be had, for the pods that find no node.
package scaleup

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/whatif"
)

// Plan is what an autoscaler should do.
type Plan struct {
	// Nodes are the nodes to add, made of templates.
	Nodes []*v1.Node
	// Waiting are the pods that get no node even then.
	Waiting []*v1.Pod
}

// Find returns which nodes to add, at most so many: again and again a node of the template that takes the most of the pods that
// are left, of equal ones the first. The cluster does not change.
func Find(ctx context.Context, cluster *whatif.Cluster, templates []*v1.Node, pods []*v1.Pod, most int) (*Plan, error) {
	now := cluster.Fork()
	plan := &Plan{}
	var err error
	if _, plan.Waiting, err = place(ctx, now, pods); err != nil {
		return nil, err
	}
	for len(plan.Nodes) < most && len(plan.Waiting) > 0 {
		var best *whatif.Cluster
		var node *v1.Node
		var waiting []*v1.Pod
		for _, template := range templates {
			fork, added := now.Fork(), nodeOf(template, len(plan.Nodes))
			if err := fork.Add(added); err != nil {
				return nil, err
			}
			placed, left, err := place(ctx, fork, plan.Waiting)
			if err != nil {
				return nil, err
			}
			if placed > 0 && (best == nil || len(left) < len(waiting)) {
				best, node, waiting = fork, added, left
			}
		}
		if best == nil {
			break
		}
		if err := best.Commit(); err != nil {
			return nil, err
		}
		plan.Nodes, plan.Waiting = append(plan.Nodes, node), waiting
	}
	return plan, nil
}

// place puts pods on nodes, and returns how many got one, and those that did not.
func place(ctx context.Context, fork *whatif.Cluster, pods []*v1.Pod) (placed int, waiting []*v1.Pod, err error) {
	placements, err := fork.Place(ctx, pods...)
	if err != nil {
		return 0, nil, err
	}
	for i, placement := range placements {
		if placement.Node == "" {
			waiting = append(waiting, pods[i])
		} else {
			placed++
		}
	}
	return placed, waiting, nil
}

// nodeOf returns a node as a template describes it, with a name of its own.
func nodeOf(template *v1.Node, number int) *v1.Node {
	node := template.DeepCopy()
	node.Name = fmt.Sprintf("%s-%d", template.Name, number)
	node.UID = types.UID(node.Name)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[v1.LabelHostname] = node.Name
	return node
}
