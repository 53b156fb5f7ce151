// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func full() *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, "node(s) exceed max volume count")
}

func TestPreFilter(t *testing.T) {
	skip := fwk.NewStatus(fwk.Skip)
	csi := v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: ebsDriver}}
	for _, tt := range []struct {
		name string
		pod  *v1.Pod
		want *fwk.Status
	}{
		{"skip: no volumes", objects.Pod("p").Build(), skip},
		{"skip: volumes that are not attached", inline(emptyDir(), v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), skip},
		{"skip: inline CSI volume", inline(csi), skip},
		{"claim", claiming("c"), nil},
		{"claim after others", inline(emptyDir(), claiming("c").Spec.Volumes[0].VolumeSource), nil},
		{"ephemeral", objects.Pod("p").EphemeralVolume("e").Build(), nil},
		{"migrated inline volume", inline(inlineEBS("d")), nil},
		{"inline volume of a driver that has not taken over", inline(inlineVSphere()), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, status := newPlugin(t).PreFilter(t.Context(), framework.NewCycleState(), tt.pod, nil)
			fixture.CheckStatus(t, status, tt.want)
			if result != nil {
				t.Errorf("PreFilter narrowed the nodes to %v", result.NodeNames)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	two, three := csiNode(limit{ebsDriver, 2}), csiNode(limit{ebsDriver, 3})
	abc := bound(ebsDriver, "a", "b", "c")
	inlineHandle := objects.PersistentVolume("pv").CSI(ebsDriver, "a").Build()
	tests := []struct {
		name     string
		pod      *v1.Pod
		onNode   []*v1.Pod
		csiNode  *storagev1.CSINode
		existing []apiruntime.Object
		want     *fwk.Status
	}{
		{"no volumes", objects.Pod("p").Build(), []*v1.Pod{other("a")}, csiNode(limit{ebsDriver, 0}), abc, nil},
		{"limit not reached", claiming("a"), nil, two, abc, nil},
		{"limit just reached", claiming("a"), []*v1.Pod{other("b")}, two, abc, nil},
		{"limit exceeded", claiming("a"), []*v1.Pod{other("b", "c")}, two, abc, full()},
		{"limit exceeded by the pod alone", claiming("a", "b", "c"), nil, two, abc, full()},
		{"limit of zero", claiming("a"), nil, csiNode(limit{ebsDriver, 0}), abc, full()},
		{"no limits: driver without a limit", claiming("a"), []*v1.Pod{other("b", "c")}, csiNode(limit{ebsDriver, -1}), abc, nil},
		{"no limits: no drivers", claiming("a"), []*v1.Pod{other("b", "c")}, csiNode(), abc, nil},
		{"no limits: nil CSINode", claiming("a"), []*v1.Pod{other("b", "c")}, nil, abc, nil},
		{"limit of another driver", claiming("a"), []*v1.Pod{other("b", "c")}, csiNode(limit{gceDriver, 0}), abc, nil},
		{
			"two drivers, one is full", claiming("a", "g"), []*v1.Pod{other("b")}, csiNode(limit{gceDriver, 5}, limit{ebsDriver, 1}),
			slices.Concat(abc, bound(gceDriver, "g")), full(),
		},
		{
			"two drivers, the one that is not wanted is full", claiming("g"), []*v1.Pod{other("a", "b")},
			csiNode(limit{gceDriver, 1}, limit{ebsDriver, 1}), slices.Concat(abc, bound(gceDriver, "g")), nil,
		},
		{"shared claim counts once: with a pod on the node", claiming("a"), []*v1.Pod{other("a", "b")}, two, abc, nil},
		{"shared claim counts once: two pods on the node", claiming("a"), []*v1.Pod{other("b"), other("b")}, two, abc, nil},
		{"shared claim counts once: in the pod", claiming("a", "a", "b"), nil, two, abc, nil},
		{
			"two claims of one disk count once", claiming("a", "a2"), nil, csiNode(limit{ebsDriver, 1}),
			append(bound(ebsDriver, "a"), objects.PersistentVolumeClaim("a2").Bound("pv").Build(), inlineHandle), nil,
		},
		{
			"claims of another namespace are others", claiming("a"), []*v1.Pod{elsewhere(other("a", "b"))}, csiNode(limit{ebsDriver, 1}),
			abc, nil,
		},
		{"volumes that are not attached don't count", claiming("a"), []*v1.Pod{inline(emptyDir())}, csiNode(limit{ebsDriver, 1}), abc, nil},
		{
			"volume of no driver does not count", claiming("nfs"), nil, csiNode(limit{ebsDriver, 0}),
			[]apiruntime.Object{
				objects.PersistentVolumeClaim("nfs").Bound("nfs").Build(),
				objects.PersistentVolume("nfs").With(inTree(v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{}})).Build(),
			}, nil,
		},
		{
			"volume without a handle does not count", claiming("a"), nil, csiNode(limit{ebsDriver, 0}),
			[]apiruntime.Object{objects.PersistentVolumeClaim("a").Bound("a").Build(), objects.PersistentVolume("a").CSI(ebsDriver, "").Build()}, nil,
		},

		{"missing claim", claiming("gone"), nil, three, nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			`looking up PVC default/gone: persistentvolumeclaim "gone" not found`)},
		{"missing claim of a pod on the node", claiming("a"), []*v1.Pod{other("gone", "b", "c")}, two, abc, full()},
		{"claim without a name", claiming(""), nil, three, nil, fwk.NewStatus(fwk.Error, "PersistentVolumeClaim had no name")},
		{"claim without a name of a pod on the node", claiming("a"), []*v1.Pod{other("")}, three, abc,
			fwk.NewStatus(fwk.Error, "PersistentVolumeClaim had no name")},

		{"attached, used by no pod", claiming("a"), []*v1.Pod{other("b")}, two,
			append(slices.Clone(abc), attachment(ebsDriver, "c")), full()},
		{"attached, used by a pod on the node", claiming("a"), []*v1.Pod{other("b")}, two,
			append(slices.Clone(abc), attachment(ebsDriver, "b")), nil},
		{"attached, used by the pod alone: counts twice", claiming("a"), nil, csiNode(limit{ebsDriver, 1}),
			append(slices.Clone(abc), attachment(ebsDriver, "a")), full()},
		{"attached, used by the pod and another", claiming("a"), []*v1.Pod{other("a")}, csiNode(limit{ebsDriver, 1}),
			append(slices.Clone(abc), attachment(ebsDriver, "a")), nil},
		{"attached, without any pods", claiming("a"), nil, three,
			append(slices.Clone(abc), attachment(ebsDriver, "b"), attachment(ebsDriver, "c")), nil},
		{"attached to another node", claiming("a"), nil, csiNode(limit{ebsDriver, 1}),
			append(slices.Clone(abc), attachmentTo("m", ebsDriver, "b")), nil},
		{"attached by another driver", claiming("a"), nil, csiNode(limit{ebsDriver, 1}),
			append(slices.Clone(abc), attachment(gceDriver, "b")), nil},
		{"attached, but the volume is gone", claiming("a"), nil, csiNode(limit{ebsDriver, 1}),
			append(slices.Clone(abc), attachment(ebsDriver, "gone")), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			existing := tt.existing
			if tt.csiNode != nil {
				existing = append(slices.Clone(existing), tt.csiNode)
			}
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, newPlugin(t, existing...).Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)

			if tt.csiNode != nil {
				handle := &fixture.Handle{Informers: fixture.Informers(t, tt.existing...), CSI: fixture.CSINodes{Node: tt.csiNode}}
				t.Run("CSINode from the CSI manager", func(t *testing.T) {
					fixture.CheckStatus(t, buildPlugin(t, handle).Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)
				})
			}
		})
	}
}

// elsewhere moves a pod to another namespace.
func elsewhere(pod *v1.Pod) *v1.Pod {
	pod.Namespace = "elsewhere"
	return pod
}

func TestUnboundClaims(t *testing.T) {
	class := func(name, provisioner string) *storagev1.StorageClass {
		return objects.StorageClass(name, provisioner, storagev1.VolumeBindingWaitForFirstConsumer)
	}
	existing := append(bound(ebsDriver, "a"),
		class("csi", ebsDriver), class("in-tree", "kubernetes.io/aws-ebs"), class("vsphere", "kubernetes.io/vsphere-volume"), class("no-provisioner", ""),
		objects.PersistentVolumeClaim("new").StorageClass("csi").Build(), objects.PersistentVolumeClaim("new2").StorageClass("csi").Build(),
		objects.PersistentVolumeClaim("migrated").StorageClass("in-tree").Build(),
		objects.PersistentVolumeClaim("not-migrated").StorageClass("vsphere").Build(),
		objects.PersistentVolumeClaim("no-provisioner").StorageClass("no-provisioner").Build(),
		objects.PersistentVolumeClaim("invalid-volume").StorageClass("csi").Bound("gone").Build(),
		objects.PersistentVolumeClaim("missing-class").StorageClass("gone").Build(),
		objects.PersistentVolumeClaim("no-class").Build(),
	)
	tests := []struct {
		name   string
		pod    *v1.Pod
		onNode []*v1.Pod
		limit  int32
		want   *fwk.Status
	}{
		{"pending claim fits", claiming("new"), []*v1.Pod{other("a")}, 2, nil},
		{"pending claim does not fit", claiming("new"), []*v1.Pod{other("a")}, 1, full()},
		{"two pending claims", claiming("new", "new2"), nil, 1, full()},
		{"pending claim shared with a pod on the node", claiming("new"), []*v1.Pod{other("new")}, 1, nil},
		{"pending claim of a pod on the node", claiming("a"), []*v1.Pod{other("new")}, 1, full()},
		{"migrated provisioner", claiming("migrated"), []*v1.Pod{other("a")}, 1, full()},
		{"provisioner that is not migrated", claiming("not-migrated"), []*v1.Pod{other("a")}, 0, nil},
		{"class without a provisioner", claiming("no-provisioner"), nil, 0, nil},
		{"invalid volume with a valid class", claiming("invalid-volume"), []*v1.Pod{other("a")}, 1, full()},
		{"missing class", claiming("missing-class"), nil, 0, nil},
		{"no class", claiming("no-class"), nil, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, append(slices.Clone(existing), csiNode(limit{ebsDriver, tt.limit}))...)
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, pl.Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestMigration(t *testing.T) {
	inTreeVolume := objects.PersistentVolume("in-tree").With(inTree(v1.PersistentVolumeSource{AWSElasticBlockStore: ebsDisk("disk")})).Build()
	sameDisk := objects.PersistentVolume("csi").CSI(ebsDriver, "disk").Build()
	broken := objects.PersistentVolume("broken").With(inTree(v1.PersistentVolumeSource{AWSElasticBlockStore: ebsDisk("aws://zone/disk")})).Build()
	vsphere := objects.PersistentVolume("vsphere").With(inTree(v1.PersistentVolumeSource{VsphereVolume: inlineVSphere().VsphereVolume})).Build()
	existing := append(bound(ebsDriver, "a"), inTreeVolume, sameDisk, broken, vsphere,
		objects.PersistentVolumeClaim("in-tree").Bound("in-tree").Build(), objects.PersistentVolumeClaim("csi").Bound("csi").Build(),
		objects.PersistentVolumeClaim("broken").Bound("broken").Build(), objects.PersistentVolumeClaim("vsphere").Bound("vsphere").Build())
	vsphereDriver := "csi.vsphere.vmware.com"
	tests := []struct {
		name    string
		pod     *v1.Pod
		onNode  []*v1.Pod
		csiNode *storagev1.CSINode
		want    *fwk.Status
	}{
		{"on: in-tree volume counts", claiming("in-tree"), []*v1.Pod{other("a")}, csiNode(limit{ebsDriver, 1}), full()},
		{"on: in-tree volume of a pod on the node counts", claiming("a"), []*v1.Pod{other("in-tree")}, csiNode(limit{ebsDriver, 1}), full()},
		{"on: same disk through CSI counts once", claiming("in-tree"), []*v1.Pod{other("csi")}, csiNode(limit{ebsDriver, 1}), nil},
		{"on: volume that can't be translated does not count", claiming("broken"), nil, csiNode(limit{ebsDriver, 0}), nil},
		{"on: inline volume counts", inline(inlineEBS("b")), []*v1.Pod{other("a")}, csiNode(limit{ebsDriver, 1}), full()},
		{"on: inline volume fits", inline(inlineEBS("b")), []*v1.Pod{other("a")}, csiNode(limit{ebsDriver, 2}), nil},
		{"on: inline volume of a pod on the node counts", claiming("a"), []*v1.Pod{inline(inlineEBS("b"))}, csiNode(limit{ebsDriver, 1}), full()},
		{"on: inline volume shared with a pod on the node", inline(inlineEBS("b")), []*v1.Pod{inline(inlineEBS("b"))}, csiNode(limit{ebsDriver, 1}), nil},
		{"on: inline volume that can't be translated", inline(inlineEBS("aws://zone/disk")), nil, csiNode(limit{ebsDriver, 1}), fwk.NewStatus(fwk.Error,
			`translating volume "inline" of pod default/p for its CSI driver: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk)`)},
		{"off: nil CSINode, in-tree volume", claiming("in-tree"), nil, nil, nil},
		{"off: nil CSINode, inline volume", inline(inlineEBS("aws://zone/disk")), nil, nil, nil},
		{"off: driver that has not taken over", claiming("vsphere"), nil, csiNode(limit{vsphereDriver, 0}), nil},
		{"off: inline volume of a driver that has not taken over", inline(inlineVSphere()), nil, csiNode(limit{vsphereDriver, 0}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			known := slices.Clone(existing)
			if tt.csiNode != nil {
				known = append(known, tt.csiNode)
			}
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, newPlugin(t, known...).Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestEphemeralVolumes(t *testing.T) {
	owner := objects.Pod("p").EphemeralVolume("e").Build()
	class := objects.StorageClass("csi", ebsDriver, storagev1.VolumeBindingImmediate)
	boundClaim := objects.PersistentVolumeClaim("p-e").Owner(owner).Bound("disk").Build()
	disk := objects.PersistentVolume("disk").CSI(ebsDriver, "disk").Build()
	stranger := objects.PersistentVolumeClaim("p-e").Bound("disk").Build()
	notOwner := fwk.NewStatus(fwk.Error, "PVC default/p-e was not created for pod default/p (pod is not owner)")
	tests := []struct {
		name     string
		pod      *v1.Pod
		onNode   []*v1.Pod
		limit    int32
		existing []apiruntime.Object
		want     *fwk.Status
	}{
		{"missing", owner, nil, 1, nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			`looking up PVC default/p-e: persistentvolumeclaim "p-e" not found`)},
		{"not owned", owner, nil, 1, []apiruntime.Object{stranger, disk}, notOwner},
		{"not owned, of a pod on the node", claiming("a"), []*v1.Pod{owner}, 2, append(bound(ebsDriver, "a"), stranger, disk), notOwner},
		{"missing, of a pod on the node", claiming("a"), []*v1.Pod{owner}, 1, bound(ebsDriver, "a"), nil},
		{"unbound, fits", owner, nil, 1, []apiruntime.Object{objects.PersistentVolumeClaim("p-e").Owner(owner).StorageClass("csi").Build(), class}, nil},
		{"unbound, limit exceeded", owner, nil, 0, []apiruntime.Object{objects.PersistentVolumeClaim("p-e").Owner(owner).StorageClass("csi").Build(), class}, full()},
		{"bound, fits", owner, nil, 1, []apiruntime.Object{boundClaim, disk}, nil},
		{"bound, limit exceeded", owner, []*v1.Pod{other("a")}, 1, append(bound(ebsDriver, "a"), boundClaim, disk), full()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, append(slices.Clone(tt.existing), csiNode(limit{ebsDriver, tt.limit}))...)
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, pl.Filter(t.Context(), framework.NewCycleState(), tt.pod, nodeInfo), tt.want)
		})
	}
}

func TestDriverNotInstalled(t *testing.T) {
	missing := fwk.NewStatus(fwk.Unschedulable, "ebs.csi.aws.com CSI driver is not installed on the node")
	silent := csiDriver(ebsDriver, false)
	silent.Spec.PreventPodSchedulingIfMissing = nil
	tests := []struct {
		name    string
		driver  *storagev1.CSIDriver
		csiNode *storagev1.CSINode
		want    *fwk.Status
	}{
		{"asks to stay away, installed", csiDriver(ebsDriver, true), csiNode(limit{ebsDriver, -1}), nil},
		{"asks to stay away, not installed", csiDriver(ebsDriver, true), csiNode(limit{gceDriver, 1}), missing},
		{"asks to stay away, nil CSINode", csiDriver(ebsDriver, true), nil, missing},
		{"asks to stay away, installed and full", csiDriver(ebsDriver, true), csiNode(limit{ebsDriver, 0}), full()},
		{"does not ask, not installed", csiDriver(ebsDriver, false), csiNode(limit{gceDriver, 1}), nil},
		{"does not say, not installed", silent, csiNode(limit{gceDriver, 1}), nil},
		{"no such driver", csiDriver(gceDriver, true), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			existing := append(bound(ebsDriver, "a"), tt.driver)
			if tt.csiNode != nil {
				existing = append(existing, tt.csiNode)
			}
			status := newPlugin(t, existing...).Filter(t.Context(), framework.NewCycleState(), claiming("a"), fixture.NodeInfo(objects.Node("n").Build()))
			fixture.CheckStatus(t, status, tt.want)
		})
	}
}

// TestSecondProfile builds the plugin twice on the same informers.
func TestMissingDriversAreAccepted(t *testing.T) {
	handle := &fixture.Handle{Informers: fixture.Informers(t, append(bound(ebsDriver, "a"), csiDriver(ebsDriver, true), csiNode(limit{gceDriver, 1}))...)}
	pl, err := NewWithMissingDrivers(t.Context(), nil, handle)
	if err != nil {
		t.Fatal(err)
	}
	fixture.CheckStatus(t, pl.(fwk.FilterPlugin).Filter(t.Context(), framework.NewCycleState(), claiming("a"), fixture.NodeInfo(objects.Node("n").Build())), nil)
	fixture.CheckStatus(t, buildPlugin(t, handle).Filter(t.Context(), framework.NewCycleState(), claiming("a"), fixture.NodeInfo(objects.Node("n").Build())),
		fwk.NewStatus(fwk.Unschedulable, "ebs.csi.aws.com CSI driver is not installed on the node"))
	if _, err := NewWithMissingDrivers(t.Context(), nil, &fixture.Handle{}); err == nil {
		t.Error("no error without informers")
	}
}

func TestSecondProfile(t *testing.T) {
	handle := &fixture.Handle{Informers: fixture.Informers(t, append(bound(ebsDriver, "a", "b"),
		csiNode(limit{ebsDriver, 1}), attachment(ebsDriver, "b"))...)}
	for range 2 {
		status := buildPlugin(t, handle).Filter(t.Context(), framework.NewCycleState(), claiming("a"), fixture.NodeInfo(objects.Node("n").Build()))
		fixture.CheckStatus(t, status, full())
	}
}
