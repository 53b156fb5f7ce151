// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// randomCluster makes clusters of up to eight nodes in which one pod may wait.
type randomCluster struct {
	*rand.Rand
	objects []apiruntime.Object
	nodes   []*v1.Node
	pods    int
}

func (r *randomCluster) one(of ...string) string { return of[r.IntN(len(of))] }

// often is true in so many of ten cases.
func (r *randomCluster) often(inTen int) bool { return r.IntN(10) < inTen }

// causes are the plugins that can have a pod wait, each with what makes it probable that it does.
func causes() map[string]func(*randomCluster, *v1.Pod) {
	return map[string]func(*randomCluster, *v1.Pod){
		"SchedulingGates":      (*randomCluster).gate,
		"NodePorts":            (*randomCluster).ports,
		"NodeUnschedulable":    func(r *randomCluster, _ *v1.Pod) { r.eachNode(func(n *v1.Node) { n.Spec.Unschedulable = true }) },
		"NodeAffinity":         (*randomCluster).nodeAffinity,
		"TaintToleration":      (*randomCluster).taints,
		"NodeResourcesFit":     (*randomCluster).large,
		"PodTopologySpread":    (*randomCluster).spread,
		"InterPodAffinity":     (*randomCluster).podAffinity,
		"NodeDeclaredFeatures": (*randomCluster).features,
		"VolumeRestrictions":   (*randomCluster).exclusiveVolumes,
		"NodeVolumeLimits":     (*randomCluster).volumeLimits,
		"VolumeBinding":        (*randomCluster).claims,
		"VolumeZone":           (*randomCluster).zones,
		"DynamicResources":     (*randomCluster).devices,
	}
}

// build returns the objects of a cluster and the pod that waits there, if it does, mostly because of a plugin.
func (r *randomCluster) build(cause func(*randomCluster, *v1.Pod)) *v1.Pod {
	for i := range 1 + r.IntN(8) {
		name := fmt.Sprint("n", i+1)
		b := objects.Node(name).Label(v1.LabelHostname, name).Capacity("cpu", r.one("1", "2", "4"), "memory", r.one("2Gi", "4Gi"), "pods", r.one("2", "4", "8"))
		if r.often(8) {
			b = b.Label(v1.LabelTopologyZone, r.one("a", "b", "c"))
		}
		if r.often(1) {
			b = b.Taint("dedicated", r.one("x", "y"), v1.TaintEffectNoSchedule)
		}
		node := b.Build()
		node.Spec.Unschedulable = r.often(1)
		r.nodes = append(r.nodes, node)
		r.objects = append(r.objects, node)
		for range r.IntN(4) {
			r.running(node)
		}
	}
	waiting := objects.Pod("waiting").UID("waiting").Label("app", "web").Requests("cpu", r.one("100m", "500m", "1"), "memory", r.one("128Mi", "1Gi")).
		Priority(int32(r.IntN(3))).Build()
	cause(r, waiting)
	if r.often(1) {
		r.large(waiting)
	}
	r.objects = append(r.objects, waiting)
	return waiting
}

func (r *randomCluster) eachNode(do func(*v1.Node)) {
	for _, node := range r.nodes {
		do(node)
	}
}

// running adds a pod on a node.
func (r *randomCluster) running(node *v1.Node, changes ...func(*v1.Pod)) *v1.Pod {
	r.pods++
	name := fmt.Sprint("p", r.pods)
	b := objects.Pod(name).UID(objects.Pod(name).Build().UID).Node(node.Name).Label("app", r.one("web", "db", "job")).Priority(int32(r.IntN(3))).
		Requests("cpu", r.one("100m", "250m", "500m"), "memory", r.one("64Mi", "256Mi", "1Gi"))
	pod := b.With(changes...).Build()
	r.objects = append(r.objects, pod)
	return pod
}

func (r *randomCluster) gate(pod *v1.Pod) {
	for i := range 1 + r.IntN(2) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprint("example.com/gate-", i)})
	}
}

func (r *randomCluster) ports(pod *v1.Pod) {
	want := []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: v1.ProtocolTCP}, {ContainerPort: 81, HostPort: 8081, Protocol: v1.ProtocolUDP}}
	pod.Spec.Containers[0].Ports = want[:1+r.IntN(2)]
	r.eachNode(func(node *v1.Node) {
		for i := range want {
			if r.often(8) {
				r.running(node, func(p *v1.Pod) { p.Spec.Containers[0].Ports = want[i : i+1] })
			}
		}
	})
}

func (r *randomCluster) nodeAffinity(pod *v1.Pod) {
	r.eachNode(func(node *v1.Node) {
		if r.often(5) {
			node.Labels["disk"] = r.one("hdd", "tape")
		}
		if r.often(5) {
			node.Labels["size"] = r.one("1", "2", "3")
		}
	})
	if r.often(5) {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		return
	}
	term := func() v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: [][]v1.NodeSelectorRequirement{
			{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd", "nvme"}}},
			{{Key: "gpu", Operator: v1.NodeSelectorOpExists}, {Key: "disk", Operator: v1.NodeSelectorOpDoesNotExist}},
			{{Key: "size", Operator: v1.NodeSelectorOpGt, Values: []string{"2"}}, {Key: "disk", Operator: v1.NodeSelectorOpNotIn, Values: []string{"hdd"}}},
			{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"d"}}},
		}[r.IntN(4)]}
	}
	terms := []v1.NodeSelectorTerm{term()}
	if r.often(4) {
		terms = append(terms, term())
	}
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}}
}

func (r *randomCluster) taints(*v1.Pod) {
	r.eachNode(func(node *v1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: r.one("gpu", "batch"), Value: r.one("", "true"), Effect: v1.TaintEffect(r.one("NoSchedule", "NoExecute"))})
		if r.often(2) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule})
		}
	})
}

func (r *randomCluster) large(pod *v1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = objects.Resources("cpu", r.one("900m", "1800m", "3", "6"), "memory", r.one("1Gi", "3Gi"))
}

func (r *randomCluster) spread(pod *v1.Pod) {
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		TopologyKey: r.one(v1.LabelTopologyZone, v1.LabelHostname), MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	r.eachNode(func(node *v1.Node) {
		if r.often(7) {
			r.running(node, func(p *v1.Pod) { p.Labels["app"] = "web" })
			return
		}
		node.Spec.Unschedulable = true
	})
}

func (r *randomCluster) podAffinity(pod *v1.Pod) {
	term := v1.PodAffinityTerm{TopologyKey: r.one(v1.LabelTopologyZone, v1.LabelHostname), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": r.one("db", "cache")}}}
	terms := []v1.PodAffinityTerm{term}
	switch r.IntN(3) {
	case 0:
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 1:
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		r.eachNode(func(node *v1.Node) {
			r.running(node, func(p *v1.Pod) { p.Labels["app"] = term.LabelSelector.MatchLabels["app"] })
		})
	default:
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		r.eachNode(func(node *v1.Node) {
			r.running(node, func(p *v1.Pod) {
				p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
			})
		})
	}
}

func (r *randomCluster) features(pod *v1.Pod) {
	always := v1.ContainerRestartPolicyAlways
	pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	pod.Spec.Containers[0].RestartPolicy = &always
}

// claim adds a claim of the pod, bound to a volume unless that has no name.
func (r *randomCluster) claim(pod *v1.Pod, name, volume string, changes ...func(*v1.PersistentVolumeClaim)) {
	b := objects.PersistentVolumeClaim(name).Request("1Gi").StorageClass("later").AccessModes(v1.ReadWriteOnce)
	if volume != "" {
		b = b.Bound(volume)
	}
	r.objects = append(r.objects, b.With(changes...).Build())
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{
		Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
	})
}

func (r *randomCluster) exclusiveVolumes(pod *v1.Pod) {
	if r.often(5) {
		r.objects = append(r.objects, objects.PersistentVolume("v").Capacity("1Gi").StorageClass("later").Build())
		r.claim(pod, "c", "v", func(claim *v1.PersistentVolumeClaim) {
			claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
		})
		r.running(r.nodes[r.IntN(len(r.nodes))], func(p *v1.Pod) { p.Spec.Volumes = pod.Spec.Volumes })
		return
	}
	disk := v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}}
	pod.Spec.Volumes = []v1.Volume{disk}
	r.eachNode(func(node *v1.Node) {
		for range 1 + r.IntN(2) {
			r.running(node, func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{disk} })
		}
	})
}

func (r *randomCluster) volumeLimits(pod *v1.Pod) {
	const driver = "csi.example.com"
	r.objects = append(r.objects, objects.StorageClass("later", driver, storagev1.VolumeBindingWaitForFirstConsumer), objects.PersistentVolume("v").CSI(driver, "v").StorageClass("later").Build())
	r.claim(pod, "c", "v")
	r.eachNode(func(node *v1.Node) {
		if r.often(3) {
			return
		}
		limit := int32(1)
		r.objects = append(r.objects, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: driver, NodeID: node.Name, Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
		}}}})
		name := "used-on-" + node.Name
		r.objects = append(r.objects, objects.PersistentVolume(name).CSI(driver, name).StorageClass("later").Build())
		r.running(node, func(p *v1.Pod) { r.claim(p, name, name) })
	})
	if r.often(5) {
		r.objects = append(r.objects, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}})
	}
}

func (r *randomCluster) claims(pod *v1.Pod) {
	r.objects = append(r.objects, objects.StorageClass("later", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer), objects.StorageClass("now", "csi.example.com", storagev1.VolumeBindingImmediate))
	switch r.IntN(5) {
	case 0:
		r.claim(pod, "c", "", func(claim *v1.PersistentVolumeClaim) { class := "now"; claim.Spec.StorageClassName = &class })
	case 1:
		r.claim(pod, "c", "")
	case 2:
		r.claim(pod, "c", "missing")
	case 3:
		pod.Spec.Volumes = []v1.Volume{{Name: "c", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"}}}}
	default:
		r.objects = append(r.objects, objects.PersistentVolume("v").Capacity("1Gi").StorageClass("later").NodeAffinity(r.one("rack in (1)", "topology.kubernetes.io/zone in (d)")).Build())
		r.claim(pod, "c", "v")
	}
}

func (r *randomCluster) zones(pod *v1.Pod) {
	r.objects = append(r.objects, objects.StorageClass("later", "csi.example.com", storagev1.VolumeBindingWaitForFirstConsumer),
		objects.PersistentVolume("v").Capacity("1Gi").StorageClass("later").Label(v1.LabelTopologyRegion, "r").Label(v1.LabelTopologyZone, r.one("a", "d")).Build())
	r.eachNode(func(node *v1.Node) {
		if r.often(3) {
			delete(node.Labels, v1.LabelTopologyZone)
		}
	})
	r.claim(pod, "c", "v")
}

func (r *randomCluster) devices(pod *v1.Pod) {
	const driver = "gpu.example.com"
	r.objects = append(r.objects, objects.DeviceClass("gpu", "device.driver == 'gpu.example.com'"))
	name := "gpu"
	mine := v1.PodResourceClaim{Name: "gpu", ResourceClaimName: &name}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{mine}
	r.objects = append(r.objects, objects.ResourceClaim(name).Request("r", "gpu", int64(1+r.IntN(2))).Build())
	r.eachNode(func(node *v1.Node) {
		if r.often(3) {
			return
		}
		r.objects = append(r.objects, objects.ResourceSlice(driver, node.Name, "d0"))
		used := "used-on-" + node.Name
		user := r.running(node, func(p *v1.Pod) {
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &used}}
			p.UID = "uid-of-" + p.UID
			p.Name += "-with-gpu"
		})
		slice := r.objects[len(r.objects)-2].(*resourceapi.ResourceSlice)
		r.objects = append(r.objects, objects.ResourceClaim(used).Request("r", "gpu", 1).With(func(claim *resourceapi.ResourceClaim) {
			claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: user.Name, UID: user.UID}}
			claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
				Request: "r", Driver: driver, Pool: slice.Spec.Pool.Name, Device: "d0",
			}}}}
		}).Build())
	})
}
