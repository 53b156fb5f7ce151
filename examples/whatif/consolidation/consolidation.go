// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package consolidation finds nodes that a cluster can do without: those whose pods all find a place on others.
package consolidation

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/whatif"
)

// Move is where a pod of a node that goes would be.
type Move struct {
	Pod, From, To string
}

// Find returns which of the candidates can be removed, one after the other, in the given order, and where their pods go: a node goes if
// everything on it finds a place among the nodes that are left. The cluster does not change.
func Find(ctx context.Context, cluster *whatif.Cluster, candidates []*v1.Node) (removable []*v1.Node, moves []Move, err error) {
	now := cluster.Fork()
	for _, node := range candidates {
		fork := now.Fork()
		placements, err := fork.Drain(ctx, node.Name)
		if err != nil {
			return nil, nil, err
		}
		moved, all := movesOf(placements, node.Name)
		if !all {
			continue // the fork is forgotten, and with it where the pods went
		}
		if err := fork.Remove(node); err != nil {
			return nil, nil, err
		}
		if err := fork.Commit(); err != nil {
			return nil, nil, fmt.Errorf("removing node %s: %w", node.Name, err)
		}
		removable, moves = append(removable, node), append(moves, moved...)
	}
	return removable, moves, nil
}

// movesOf returns where pods went, and reports whether each got a node.
func movesOf(placements []whatif.Placement, from string) (moves []Move, all bool) {
	for _, placement := range placements {
		if placement.Node == "" {
			return nil, false
		}
		moves = append(moves, Move{Pod: placement.Pod.Name, From: from, To: placement.Node})
	}
	return moves, true
}
