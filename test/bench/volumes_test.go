// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestBothContendersPlacePodsWithVolumes(t *testing.T) {
	const nodes, pods = 30, warmUpPods + 15
	for _, c := range volumeCases() {
		for who, build := range map[string]newVolumeDecider{"rouse": newRouseForVolumes, "kube-scheduler": newKubeSchedulerForVolumes} {
			t.Run(string(c.shape)+"/"+who, func(t *testing.T) {
				cluster := c.cluster(nodes, pods)
				d, err := build(t.Context(), cluster)
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				if _, err := cluster.measure(t.Context(), &meter{}, d); err != nil {
					t.Fatal(err)
				}
				for _, pod := range cluster.pods {
					if node, err := d.nodeOf(pod); err != nil || node == "" {
						t.Errorf("pod %s has no node: %v", pod.Name, err)
					}
				}
				if attached := len(cluster.attachmentInformer.GetIndexer().List()); attached == 0 && c.attached > 0 {
					t.Error("no volumes are attached")
				}
			})
		}
	}
}
