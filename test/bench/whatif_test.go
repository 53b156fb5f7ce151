// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestQuestions asks every question of both contenders, in a small cluster.
func TestQuestions(t *testing.T) {
	for _, c := range questionCases() {
		c.nodes, c.pods, c.nodeCount = 400, min(c.pods, 70), min(c.nodeCount, 20)
		for who, build := range map[string]newAsker{"rouse": newRouseAsker, "kube-scheduler": newKubeSchedulerAsker} {
			t.Run(c.name+"/"+who, func(t *testing.T) {
				sample, err := c.measure(t.Context(), &meter{}, build)
				if err != nil {
					t.Fatal(err)
				}
				if sample[WallNanos] <= 0 {
					t.Errorf("measured %v", sample)
				}
			})
		}
	}
}
