// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestBothContendersAllocateDevices(t *testing.T) {
	const nodes, pods = 20, warmUpPods + 15
	for _, c := range deviceCases() {
		for who, build := range map[string]newDeviceDecider{"rouse": newRouseForDevices, "kube-scheduler": newKubeSchedulerForDevices} {
			t.Run(c.name()+"/"+who, func(t *testing.T) {
				cluster := c.cluster(nodes, pods)
				d, err := build(t.Context(), cluster)
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				if _, err := cluster.measure(t.Context(), &meter{}, d); err != nil {
					t.Fatal(err)
				}
				checkDevices(t, cluster, d, pods)
			})
		}
	}
}

// checkDevices checks that the pods that are left have devices, and that none has those of another.
func checkDevices(t *testing.T, cluster *deviceCluster, d deviceDecider, pods int) {
	t.Helper()
	taken := map[string]string{}
	for i := pods - podsAtATime; i < pods; i++ {
		pod := cluster.pods[i]
		if node, err := d.nodeOf(pod); err != nil || node == "" {
			t.Errorf("pod %s has no node: %v", pod.Name, err)
		}
		if len(pod.Spec.ResourceClaims) == 0 {
			continue // the claim for its extended resources has a name that only the scheduler knows
		}
		allocation := d.handle().SharedDRAManager().ResourceClaims().GetPendingAllocation(cluster.claims[i].UID)
		if allocation == nil {
			t.Errorf("the claim of pod %s has no devices", pod.Name)
			continue
		}
		for _, result := range allocation.Devices.Results {
			id := result.Pool + "/" + result.Device
			if result.ShareID != nil {
				id += "/" + string(*result.ShareID)
			}
			if other := taken[id]; other != "" {
				t.Errorf("pods %s and %s have device %s", other, pod.Name, id)
			}
			taken[id] = pod.Name
		}
	}
	for _, claim := range cluster.claims {
		if claim.Status.Allocation == nil {
			continue
		}
		result := &claim.Status.Allocation.Devices.Results[0]
		if other := taken[result.Pool+"/"+result.Device]; other != "" {
			t.Errorf("pod %s has device %s/%s, which was allocated before", other, result.Pool, result.Device)
		}
	}
}
