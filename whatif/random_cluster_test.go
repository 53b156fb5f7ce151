// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

// randomObjects makes objects of all kinds that the in-tree plugins read, with few names, so that they meet.
type randomObjects struct {
	*rand.Rand
	counter int
}

func (r *randomObjects) one(of ...string) string { return of[r.IntN(len(of))] }

// often is true in so many of ten cases.
func (r *randomObjects) often(inTen int) bool { return r.IntN(10) < inTen }

func (r *randomObjects) zone() string { return r.one("east", "west", "north") }

func (r *randomObjects) node() *v1.Node {
	name := fmt.Sprint("node-", r.IntN(12))
	b := objects.Node(name).Label(v1.LabelHostname, name).
		Capacity("cpu", r.one("2", "4", "8"), "memory", r.one("4Gi", "8Gi"), "pods", r.one("4", "8", "16"))
	if r.often(8) {
		b = b.Label(v1.LabelTopologyZone, r.zone())
	}
	if r.often(4) {
		b = b.Label("disk", r.one("ssd", "hdd"))
	}
	if r.often(3) {
		b = b.Taint("keep", "off", v1.TaintEffect(r.one(string(v1.TaintEffectNoSchedule), string(v1.TaintEffectPreferNoSchedule))))
	}
	return b.With(func(node *v1.Node) {
		node.Spec.Unschedulable = r.often(1)
		if r.often(3) {
			node.Status.Images = []v1.ContainerImage{{Names: []string{"image:a"}, SizeBytes: 700 << 20}, {Names: []string{"image:b"}, SizeBytes: 300 << 20}}[r.IntN(2):]
		}
	}).Build()
}

func (r *randomObjects) term() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{
		TopologyKey:   r.one(v1.LabelHostname, v1.LabelTopologyZone),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": r.one("web", "db")}},
	}
	if r.often(3) {
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": r.one("a", "b")}}
	}
	return term
}

// pod returns a pod without a node. Every seventh is one of few shapes, the others are of any.
func (r *randomObjects) pod() *v1.Pod {
	r.counter++
	b := objects.Pod(fmt.Sprint("pod-", r.counter)).Label("app", r.one("web", "db", "job")).Requests("cpu", r.one("100m", "500m", "1", "2"), "memory", r.one("256Mi", "1Gi"))
	if r.often(1) {
		b = b.Namespace("other")
	}
	if r.often(6) {
		b = b.Priority(int32(r.IntN(4)))
	}
	return b.With(func(pod *v1.Pod) {
		if r.often(5) {
			pod.Status.StartTime = ptr.To(metav1.Unix(int64(r.IntN(3)), 0))
		}
		pod.CreationTimestamp = metav1.Unix(int64(r.IntN(3)), 0)
		if r.often(3) {
			return
		}
		container := &pod.Spec.Containers[0]
		container.Image = "image:" + r.one("a", "b", "c")
		if r.often(2) {
			container.Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP}}
		}
		if r.often(2) {
			pod.Spec.NodeSelector = map[string]string{"disk": r.one("ssd", "hdd")}
		}
		if r.often(3) {
			pod.Spec.Tolerations = []v1.Toleration{{Key: "keep", Operator: v1.TolerationOpExists}}
		}
		if r.often(1) {
			pod.Status.NominatedNodeName = fmt.Sprint("node-", r.IntN(12))
		}
		r.relate(pod)
		r.giveVolumes(pod)
		r.giveDevices(pod)
	}).Build()
}

func (r *randomObjects) relate(pod *v1.Pod) {
	terms := []v1.PodAffinityTerm{r.term()}
	weighted := []v1.WeightedPodAffinityTerm{{Weight: int32(1 + r.IntN(100)), PodAffinityTerm: r.term()}}
	switch r.IntN(10) {
	case 0:
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 1:
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 2:
		pod.Spec.Affinity = &v1.Affinity{
			PodAffinity:     &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted},
			PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted[:r.IntN(2)]},
		}
	case 3:
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}},
		}}}}
	case 4:
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprint("node-", r.IntN(12)), "node-3"}}},
		}}}}}
	case 5, 6:
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			TopologyKey: terms[0].TopologyKey, MaxSkew: int32(1 + r.IntN(2)), LabelSelector: terms[0].LabelSelector,
			WhenUnsatisfiable: v1.UnsatisfiableConstraintAction(r.one(string(v1.DoNotSchedule), string(v1.ScheduleAnyway))),
		}}
	}
}

func (r *randomObjects) claimName() string { return fmt.Sprint("claim-", r.IntN(6)) }

func (r *randomObjects) volumeName() string { return fmt.Sprint("volume-", r.IntN(6)) }

func (r *randomObjects) giveVolumes(pod *v1.Pod) {
	for i := range r.IntN(3) {
		volume := v1.Volume{Name: fmt.Sprint("v", i)}
		switch r.IntN(6) {
		case 0, 1:
			volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: r.claimName()}
		case 2:
			volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: r.one("disk-a", "disk-b")}
		default:
			continue
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

func (r *randomObjects) giveDevices(pod *v1.Pod) {
	if r.often(2) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To(fmt.Sprint("gpus-", r.IntN(3)))}}
	}
}

// other returns an object of a kind other than nodes and pods.
func (r *randomObjects) other() apiruntime.Object {
	switch r.IntN(13) {
	case 0, 1:
		return r.claim()
	case 2, 3:
		return r.volume()
	case 4:
		mode := storagev1.VolumeBindingMode(r.one(string(storagev1.VolumeBindingImmediate), string(storagev1.VolumeBindingWaitForFirstConsumer)))
		return objects.StorageClass(r.className(), r.one("csi-a", "kubernetes.io/no-provisioner"), mode)
	case 5:
		return r.csiNode()
	case 6:
		capacity := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: r.zone(), UID: "1"}, StorageClassName: r.className()}
		capacity.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: r.zone()}}
		capacity.Capacity = ptr.To(resource.MustParse(r.one("0", "2Gi", "8Gi")))
		return capacity
	case 7:
		return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi-a", UID: "1"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(r.often(5))}}
	case 8:
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.one("default", "other"), UID: "1", Labels: map[string]string{"team": r.one("a", "b")}}}
	case 9:
		name := r.one("web", "db")
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}}}
	case 10:
		name := r.one("web", "db")
		return objects.PodDisruptionBudget(name, "app="+name, int32(r.IntN(2)))
	case 11:
		return r.slice()
	}
	return r.deviceObject()
}

func (r *randomObjects) className() string { return r.one("early", "late") }

func (r *randomObjects) claim() *v1.PersistentVolumeClaim {
	b := objects.PersistentVolumeClaim(r.claimName()).StorageClass(r.className()).Request(r.one("1Gi", "4Gi"))
	return b.With(func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.PersistentVolumeAccessMode(r.one(string(v1.ReadWriteOnce), string(v1.ReadWriteOncePod)))}
		claim.UID = types.UID(claim.Name)
		if r.often(5) {
			claim.Spec.VolumeName = r.volumeName()
			claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			claim.Status.Phase = v1.ClaimBound
		}
	}).Build()
}

func (r *randomObjects) volume() *v1.PersistentVolume {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: r.volumeName(), UID: "1"}}
	volume.Spec = v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: r.className(),
		Capacity: objects.Resources("storage", r.one("2Gi", "8Gi")), VolumeMode: ptr.To(v1.PersistentVolumeFilesystem),
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi-a", VolumeHandle: volume.Name}},
	}
	switch r.IntN(3) {
	case 0:
		volume.Labels = map[string]string{v1.LabelTopologyZone: r.zone()}
	case 1:
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{r.zone(), r.zone()}}},
		}}}}
	}
	volume.Status.Phase = v1.VolumeAvailable
	return volume
}

func (r *randomObjects) csiNode() *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", r.IntN(12)), UID: "1"}}
	node.Spec.Drivers = []storagev1.CSINodeDriver{{
		Name: "csi-a", NodeID: node.Name, TopologyKeys: []string{v1.LabelTopologyZone}, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(int32(r.IntN(3)))},
	}}
	return node
}

func (r *randomObjects) slice() *resourceapi.ResourceSlice {
	devices := []string{"a", "b", "c"}
	return objects.ResourceSlice("gpu.example.com", fmt.Sprint("node-", r.IntN(12)), devices[:1+r.IntN(3)]...)
}

func (r *randomObjects) deviceObject() apiruntime.Object {
	switch r.IntN(4) {
	case 0:
		return objects.DeviceClass("gpu")
	case 1:
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high", UID: "1"}, Value: int32(r.IntN(3)), GlobalDefault: r.often(5)}
	}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("gpus-", r.IntN(3)), UID: "1"}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + r.IntN(2)),
	}}}
	if r.often(3) {
		node := fmt.Sprint("node-", r.IntN(12))
		claim.Status.Allocation = &resourceapi.AllocationResult{
			Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "gpu.example.com", Pool: node, Device: "a"}}},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}},
		}
	}
	return claim
}

// change makes a random change in a cluster: something comes, goes, or is another one.
func (r *randomObjects) change(cluster *whatif.Cluster) error {
	var changed apiruntime.Object
	switch r.IntN(10) {
	case 0, 1:
		changed = r.node()
	case 2, 3, 4:
		pod := r.pod()
		if r.often(8) {
			pod.Spec.NodeName, pod.Status.NominatedNodeName = fmt.Sprint("node-", r.IntN(12)), "" // be it there or not
		}
		changed = pod
	case 5, 6, 7:
		if pod := r.anyPod(cluster); pod != nil {
			return r.changePod(cluster, pod)
		}
		return nil
	default:
		changed = r.other()
	}
	switch {
	case cluster.Get(changed) == nil:
		return cluster.Add(changed)
	case r.often(7):
		return cluster.Update(changed)
	}
	return cluster.Remove(changed)
}

func (r *randomObjects) anyPod(cluster *whatif.Cluster) *v1.Pod {
	var pods []*v1.Pod
	for _, o := range cluster.Objects() {
		if pod, ok := o.(*v1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return pods[r.IntN(len(pods))]
}

// changePod removes a pod, lets it finish, or changes it in place.
func (r *randomObjects) changePod(cluster *whatif.Cluster, pod *v1.Pod) error {
	if r.often(6) {
		return cluster.Remove(pod)
	}
	changed := pod.DeepCopy()
	switch r.IntN(4) {
	case 0:
		changed.Labels = map[string]string{"app": r.one("web", "db", "job")}
	case 1:
		changed.Status.Phase = v1.PodSucceeded
	case 2:
		changed.DeletionTimestamp = ptr.To(metav1.Unix(5, 0))
	case 3: // another pod of the same name
		r.counter++
		changed.UID = types.UID(fmt.Sprint(changed.Name, "-again-", r.counter))
		changed.Spec.NodeName = fmt.Sprint("node-", r.IntN(12))
	}
	return cluster.Update(changed)
}
