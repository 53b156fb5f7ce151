// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func inUse() *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable,
		"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod")
}

func TestDisks(t *testing.T) {
	noDisk := fwk.NewStatus(fwk.Unschedulable, "node(s) had no available disk")
	gceAndEBS := with(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
	gceAndEBS.Spec.Volumes = append(gceAndEBS.Spec.Volumes, gce("a", false).Spec.Volumes[0], ebs("b", false).Spec.Volumes[0])
	tests := []struct {
		name   string
		pod    *v1.Pod
		onNode []*v1.Pod
		want   *fwk.Status
	}{
		{"GCE: none on the node", gce("a", false), nil, nil},
		{"GCE: same", gce("a", false), []*v1.Pod{gce("a", false)}, noDisk},
		{"GCE: different", gce("a", false), []*v1.Pod{gce("b", false)}, nil},
		{"GCE: both read-only", gce("a", true), []*v1.Pod{gce("a", true)}, nil},
		{"GCE: only the pod read-only", gce("a", true), []*v1.Pod{gce("a", false)}, noDisk},
		{"GCE: only the other read-only", gce("a", false), []*v1.Pod{gce("a", true)}, noDisk},
		{"AWS: none on the node", ebs("a", false), nil, nil},
		{"AWS: same", ebs("a", false), []*v1.Pod{ebs("a", false)}, noDisk},
		{"AWS: different", ebs("a", false), []*v1.Pod{ebs("b", false)}, nil},
		{"AWS: both read-only conflict too", ebs("a", true), []*v1.Pod{ebs("a", true)}, noDisk},
		{"iSCSI: none on the node", iscsi("p", "a", false), nil, nil},
		{"iSCSI: same", iscsi("p", "a", false), []*v1.Pod{iscsi("p", "a", false)}, noDisk},
		{"iSCSI: same through another portal", iscsi("p", "a", false), []*v1.Pod{iscsi("q", "a", false)}, noDisk},
		{"iSCSI: different", iscsi("p", "a", false), []*v1.Pod{iscsi("p", "b", false)}, nil},
		{"iSCSI: both read-only", iscsi("p", "a", true), []*v1.Pod{iscsi("p", "a", true)}, nil},
		{"iSCSI: one read-only", iscsi("p", "a", true), []*v1.Pod{iscsi("p", "a", false)}, noDisk},
		{"RBD: none on the node", rbd("m", "p", "i", false), nil, nil},
		{"RBD: same", rbd("m", "p", "i", false), []*v1.Pod{rbd("m", "p", "i", false)}, noDisk},
		{"RBD: one monitor in common", rbd("m,n", "p", "i", false), []*v1.Pod{rbd("n,o", "p", "i", false)}, noDisk},
		{"RBD: no monitor in common", rbd("m,n", "p", "i", false), []*v1.Pod{rbd("o", "p", "i", false)}, nil},
		{"RBD: different pool", rbd("m", "p", "i", false), []*v1.Pod{rbd("m", "q", "i", false)}, nil},
		{"RBD: different image", rbd("m", "p", "i", false), []*v1.Pod{rbd("m", "p", "j", false)}, nil},
		{"RBD: both read-only", rbd("m", "p", "i", true), []*v1.Pod{rbd("m", "p", "i", true)}, nil},
		{"RBD: one read-only", rbd("m", "p", "i", false), []*v1.Pod{rbd("m", "p", "i", true)}, noDisk},
		{"kinds don't conflict with each other", gce("a", false), []*v1.Pod{ebs("a", false), iscsi("a", "a", false)}, nil},
		{"third volume, second pod", gceAndEBS, []*v1.Pod{gce("c", false), ebs("b", false)}, noDisk},
		{"a pod of another namespace has the disk", gce("a", false), []*v1.Pod{elsewhere(gce("a", false))}, noDisk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, nil), framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, nil)
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestAccessModes(t *testing.T) {
	once := func(name string) *v1.PersistentVolumeClaim {
		return objects.PersistentVolumeClaim(name).AccessModes(v1.ReadWriteOncePod).Build()
	}
	claims := []*v1.PersistentVolumeClaim{
		once("rwop"), once("rwop2"),
		objects.PersistentVolumeClaim("rwx").AccessModes(v1.ReadWriteMany).Build(),
		objects.PersistentVolumeClaim("both").AccessModes(v1.ReadOnlyMany, v1.ReadWriteOncePod).Build(),
	}
	skip := fwk.NewStatus(fwk.Skip)
	tests := []struct {
		name   string
		pod    *v1.Pod
		inUse  []*v1.Pod // on a node other than the one that is filtered
		status *fwk.Status
		want   *fwk.Status
	}{
		{name: "no volumes: skip", pod: objects.Pod("p").Build(), status: skip},
		{name: "volumes without restrictions: skip", pod: with(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}), status: skip},
		{name: "ephemeral volumes are not looked at: skip", pod: objects.Pod("p").EphemeralVolume("vol").Build(), status: skip},
		{name: "no conflict: claim not in use: skip", pod: claiming("rwop"), inUse: []*v1.Pod{claiming("rwop2")}, status: skip},
		{name: "no conflict: claim for several pods: skip", pod: claiming("rwx"), inUse: []*v1.Pod{claiming("rwx")}, status: skip},
		{
			name: "no conflict: same name in another namespace: skip", pod: claiming("rwop"),
			inUse: []*v1.Pod{elsewhere(claiming("rwop"))}, status: skip,
		},
		{name: "one conflict", pod: claiming("rwop"), inUse: []*v1.Pod{claiming("rwop")}, want: inUse()},
		{name: "one conflict of two claims", pod: claiming("rwop2", "rwop"), inUse: []*v1.Pod{claiming("rwop")}, want: inUse()},
		{name: "two conflicts", pod: claiming("rwop", "rwop2"), inUse: []*v1.Pod{claiming("rwop", "rwop2")}, want: inUse()},
		{name: "one of several modes", pod: claiming("both"), inUse: []*v1.Pod{claiming("both")}, want: inUse()},
		{
			name: "missing claim", pod: claiming("rwop", "gone"),
			status: fwk.NewStatus(fwk.UnschedulableAndUnresolvable, `persistentvolumeclaim "gone" not found`),
		},
		{
			name: "claim of another namespace only", pod: elsewhere(claiming("rwop")),
			status: fwk.NewStatus(fwk.UnschedulableAndUnresolvable, `persistentvolumeclaim "rwop" not found`),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := fixture.NodeInfo(objects.Node("other").Build(), tt.inUse...)
			pl, state := newPlugin(t, []*framework.NodeInfo{other}, asObjects(claims)...), framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, tt.status)
			if result != nil {
				t.Errorf("PreFilter narrowed the nodes to %v", result.NodeNames)
			}
			if status.IsSuccess() {
				fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, fixture.NodeInfo(objects.Node("n").Build())), tt.want)
			}
		})
	}
}

// TestExtensions removes and adds pods that use two claims, and looks whether the pod fits after each step.
func TestExtensions(t *testing.T) {
	once := func(name string) *v1.PersistentVolumeClaim {
		return objects.PersistentVolumeClaim(name).AccessModes(v1.ReadWriteOncePod).Build()
	}
	users := fixture.NodeInfo(objects.Node("other").Build(), claiming("one", "two"))
	pl := newPlugin(t, []*framework.NodeInfo{users}, once("one"), once("two"), objects.PersistentVolumeClaim("shared").Build())
	pod, node := claiming("one", "two", "shared"), fixture.NodeInfo(objects.Node("n").Build())
	state := framework.NewCycleState()
	if _, status := pl.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
		t.Fatal(status)
	}
	original := state.Clone()
	info := func(pod *v1.Pod) fwk.PodInfo {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	remove := func(pod *v1.Pod) *fwk.Status {
		return pl.PreFilterExtensions().RemovePod(t.Context(), state, pod, info(pod), node)
	}
	add := func(pod *v1.Pod) *fwk.Status {
		return pl.PreFilterExtensions().AddPod(t.Context(), state, pod, info(pod), node)
	}
	for _, step := range []struct {
		name   string
		change func(*v1.Pod) *fwk.Status
		pod    *v1.Pod
		want   *fwk.Status
	}{
		{"a pod without the claims is removed", remove, claiming("shared"), inUse()},
		{"one claim is freed", remove, claiming("one"), inUse()},
		{"both claims are freed", remove, claiming("two"), nil},
		{"a claim is taken again", add, claiming("two"), inUse()},
		{"and freed", remove, claiming("two"), nil},
		{"a claim of the same name elsewhere counts", add, elsewhere(claiming("one")), inUse()},
	} {
		fixture.CheckStatus(t, step.change(step.pod), nil)
		t.Log(step.name)
		fixture.CheckStatus(t, pl.Filter(t.Context(), state, pod, node), step.want)
	}
	fixture.CheckStatus(t, remove(elsewhere(claiming("one"))), nil)
	fixture.CheckStatus(t, pl.Filter(t.Context(), state, pod, node), nil)
	fixture.CheckStatus(t, pl.Filter(t.Context(), original, pod, node), inUse())
}

func TestWithoutPreFilter(t *testing.T) {
	pl, pod, node := newPlugin(t, nil), gce("a", false), fixture.NodeInfo(objects.Node("n").Build())
	state := framework.NewCycleState()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]*fwk.Status{
		"Filter":    pl.Filter(t.Context(), state, pod, node),
		"AddPod":    pl.AddPod(t.Context(), state, pod, info, node),
		"RemovePod": pl.RemovePod(t.Context(), state, pod, info, node),
	} {
		if !status.IsError() {
			t.Errorf("%s: got %v, want Error", name, status.Code())
		}
	}
}
