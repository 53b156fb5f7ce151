// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestNodeInfoModel adds and removes random pods, on an original, on clones of it and on successors, and compares each
// node info, the frozen ones too, with one that is built of the pods that are left.
func TestNodeInfoModel(t *testing.T) {
	type branch struct {
		info *framework.NodeInfo
		pods []*v1.Pod
	}
	random := rand.New(rand.NewPCG(3, 4))
	branches := []*branch{{info: framework.NewNodeInfo()}}
	var frozen []*branch // the last few
	for step := range 500 {
		b := branches[random.IntN(len(branches))]
		switch choice := random.IntN(10); {
		case choice == 0:
			clone := &branch{info: b.info.Clone(), pods: slices.Clone(b.pods)}
			if len(branches) < 4 {
				branches = append(branches, clone)
			} else {
				branches[random.IntN(len(branches))] = clone
			}
		case choice == 1:
			b.info.Freeze(nil)
			frozen = append(frozen[max(0, len(frozen)-3):], &branch{info: b.info, pods: slices.Clone(b.pods)})
			b.info = b.info.Successor()
		case len(b.pods) == 0 || choice < 6 && len(b.pods) < 8:
			pod := randomNodePod(random, step)
			b.info.AddPod(pod)
			b.pods = append(b.pods, pod)
		default:
			i := random.IntN(len(b.pods))
			if err := b.info.RemovePod(klog.Logger{}, b.pods[i]); err != nil {
				t.Fatal(err)
			}
			b.pods = slices.Delete(b.pods, i, i+1)
		}
		for _, b := range slices.Concat(branches, frozen) {
			if diff := cmp.Diff(viewNode(framework.NewNodeInfo(b.pods...)), viewNode(b.info)); diff != "" {
				t.Fatalf("step %d (-want +got):\n%s", step, diff)
			}
		}
	}
}

// randomNodePod returns a pod whose host ports no other step's pod has.
func randomNodePod(random *rand.Rand, step int) *v1.Pod {
	pod := randomPod(random)
	pod.Name = "p" + strconv.Itoa(step)
	pod.UID = ""
	if random.IntN(2) == 0 {
		pod.UID = types.UID("uid-" + strconv.Itoa(step))
	}
	builder := objects.PodFrom(pod)
	if random.IntN(3) == 0 {
		builder = builder.Container("server").
			ContainerPort(v1.ContainerPort{HostPort: int32(step + 1), HostIP: []string{"", "10.0.0.1"}[random.IntN(2)]})
	}
	for range random.IntN(3) {
		builder = builder.PersistentVolumeClaim("claim-" + strconv.Itoa(random.IntN(3)))
	}
	switch random.IntN(4) {
	case 0:
		builder = builder.With(withAffinity(&v1.PodAffinity{}))
	case 1:
		builder = builder.PodAntiAffinity("zone", "app=a")
	}
	return builder.Build()
}
