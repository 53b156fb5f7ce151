// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// generator makes random clusters that reach the corners: few names and few values, so that things collide, and every
// field absent, empty and set.
type generator struct {
	*rand.Rand
	uid int
	// plenty has clusters with devices in which most pods get theirs.
	plenty bool
	// noBindingConditions has no devices that must be made ready before a pod is bound.
	noBindingConditions bool
	// noShares has no devices that several claims can have, as an API server has none where that feature is off.
	noShares bool
	// promptDrivers has drivers say soon whether devices are ready that have to be made ready.
	promptDrivers bool
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
}

// oneIn is true with a chance of one in n.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// some returns up to n values that make returns.
func some[T any](g *generator, n int, make func() T) []T {
	var values []T
	for range g.IntN(n + 1) {
		values = append(values, make())
	}
	return values
}

const extendedResource = "example.com/card"

func (g *generator) resources(node bool) v1.ResourceList {
	list := v1.ResourceList{}
	for _, kind := range []struct {
		name   v1.ResourceName
		values []string
	}{
		{v1.ResourceCPU, []string{"0", "100m", "250m", "1", "1500m", "4"}},
		{v1.ResourceMemory, []string{"0", "1", "64Mi", "200Mi", "1Gi", "3Gi"}},
		{v1.ResourceEphemeralStorage, []string{"0", "1Gi", "5Gi"}},
		{extendedResource, []string{"0", "1", "2", "3"}},
		{"hugepages-2Mi", []string{"0", "2Mi", "64Mi"}},
		{"kubernetes.io/something", []string{"1", "2"}},
		{"attachable-volumes-aws-ebs", []string{"1", "5"}},
		{"unknown", []string{"1"}},
		{"requests.example.com/odd", []string{"1"}},
	} {
		usual := kind.name == v1.ResourceCPU || kind.name == v1.ResourceMemory
		if usual && g.oneIn(4) || !usual && !g.oneIn(5) {
			continue
		}
		quantity := pick(g, kind.values...)
		if node && kind.name == v1.ResourceCPU {
			quantity = pick(g, "0", "500m", "1", "2", "4", "16")
		}
		if node && kind.name == v1.ResourceMemory {
			quantity = pick(g, "0", "512Mi", "1Gi", "4Gi", "16Gi")
		}
		list[kind.name] = resource.MustParse(quantity)
	}
	if node {
		list[v1.ResourcePods] = resource.MustParse(pick(g, "0", "1", "3", "110"))
	}
	return list
}

func (g *generator) labels() map[string]string {
	if g.oneIn(6) {
		return nil
	}
	labels := map[string]string{}
	for _, key := range []string{"disk", "zone", "number", "app"} {
		if !g.oneIn(3) {
			labels[key] = g.labelValue(key)
		}
	}
	return labels
}

func (g *generator) labelValue(key string) string {
	switch key {
	case "disk":
		return pick(g, "ssd", "hdd")
	case "number":
		return pick(g, "1", "2", "10", "x")
	default:
		return pick(g, "a", "b", "c")
	}
}

func (g *generator) node(i int) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: g.labels(), ResourceVersion: "1"},
		Spec: v1.NodeSpec{
			Unschedulable: g.oneIn(6),
			Taints:        some(g, 2, g.taint),
		},
		Status: v1.NodeStatus{Allocatable: g.resources(true), Images: some(g, 3, g.image)},
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	g.addTopology(node)
	node.Status.DeclaredFeatures = g.declaredFeatures()
	return node
}

// addTopology labels a node with its name, seldom with that of another one, and with its zone and region.
func (g *generator) addTopology(node *v1.Node) {
	switch g.IntN(12) {
	case 0:
		delete(node.Labels, v1.LabelHostname)
	case 1:
		node.Labels[v1.LabelHostname] = pick(g, "", "node-0", "node-1", "elsewhere")
	default:
		node.Labels[v1.LabelHostname] = node.Name
	}
	if !g.oneIn(4) {
		node.Labels[v1.LabelTopologyZone] = pick(g, "east", "west")
	}
	if g.oneIn(3) {
		node.Labels[v1.LabelTopologyRegion] = pick(g, "here", "east", "there")
	}
	if g.oneIn(6) {
		node.Labels[v1.LabelFailureDomainBetaZone] = pick(g, "east", "west")
	}
	if g.oneIn(6) {
		node.Labels[v1.LabelFailureDomainBetaRegion] = pick(g, "here", "there")
	}
}

func (g *generator) taint() v1.Taint {
	return v1.Taint{
		Key:    pick(g, "dedicated", "flaky", v1.TaintNodeUnschedulable),
		Value:  pick(g, "", "batch", "web"),
		Effect: pick(g, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
	}
}

func (g *generator) toleration() v1.Toleration {
	return v1.Toleration{
		Key:      pick(g, "", "dedicated", "flaky", v1.TaintNodeUnschedulable),
		Operator: pick(g, "", v1.TolerationOpEqual, v1.TolerationOpExists),
		Value:    pick(g, "", "batch", "web"),
		Effect:   pick(g, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute),
	}
}

func (g *generator) imageName() string {
	return pick(g, "registry.example/web", "registry.example/web:latest", "registry.example/db:1", "registry.example:5000/job",
		"registry.example/web@sha256:0123")
}

func (g *generator) image() v1.ContainerImage {
	return v1.ContainerImage{
		Names:     []string{g.imageName(), g.imageName()},
		SizeBytes: pick[int64](g, 0, 20<<20, 24<<20, 300<<20, 1200<<20),
	}
}

func (g *generator) port() v1.ContainerPort {
	return v1.ContainerPort{
		ContainerPort: 80,
		HostPort:      pick[int32](g, 0, 80, 81),
		HostIP:        pick(g, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1", "0:0:0:0:0:0:0:1"),
		Protocol:      pick(g, "", v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP),
	}
}

func (g *generator) container(i int) v1.Container {
	container := v1.Container{
		Name:  fmt.Sprintf("c%d", i),
		Image: g.imageName(),
		Ports: some(g, 2, g.port),
	}
	if !g.oneIn(5) {
		container.Resources.Requests = g.resources(false)
	}
	if g.oneIn(4) {
		container.Resources.Limits = g.resources(false) // also of what is not requested
	}
	return container
}

// pod returns a pod without a node.
func (g *generator) pod(name string) *v1.Pod {
	g.uid++
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pick(g, "default", "shop"), Name: name, UID: types.UID(fmt.Sprintf("uid-%d", g.uid)),
			Labels: g.labels(), ResourceVersion: "1",
		},
		Spec: v1.PodSpec{
			SchedulerName: "default-scheduler",
			Tolerations:   some(g, 3, g.toleration),
			Affinity:      g.affinity(),
		},
	}
	for i := range 1 + g.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, g.container(i))
	}
	for i := range g.IntN(3) {
		init := g.container(10 + i)
		if g.oneIn(2) {
			init.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, init)
	}
	if g.oneIn(4) {
		pod.Spec.NodeSelector = map[string]string{}
		for range g.IntN(3) {
			key := pick(g, "disk", "zone", "number")
			pod.Spec.NodeSelector[key] = g.labelValue(key)
		}
	}
	if g.oneIn(4) {
		pod.Spec.Priority = ptr.To(pick[int32](g, -5, 0, 10, 1000))
	}
	if g.oneIn(6) {
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("50m"), v1.ResourceMemory: resource.MustParse("16Mi")}
	}
	if g.oneIn(6) {
		pod.Spec.Resources = g.podLevel()
	}
	if g.oneIn(8) {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/a"}, {Name: "example.com/b"}}
	}
	if g.oneIn(12) {
		pod.Spec.NodeName = "node-1"
	}
	if g.oneIn(8) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "image", VolumeSource: v1.VolumeSource{
			Image: &v1.ImageVolumeSource{Reference: g.imageName()},
		}})
	}
	g.addPodAffinity(pod)
	g.addSpread(pod)
	g.addVolumes(pod)
	g.addHostAccess(pod)
	g.addEphemeralContainers(pod)
	if g.oneIn(4) {
		pod.Status = g.resizeStatus(pod)
	}
	return pod
}

func (g *generator) affinity() *v1.Affinity {
	if g.oneIn(2) {
		return nil
	}
	affinity := &v1.Affinity{}
	if g.oneIn(4) {
		return affinity
	}
	affinity.NodeAffinity = g.nodeAffinity()
	return affinity
}

func (g *generator) nodeAffinity() *v1.NodeAffinity {
	affinity := &v1.NodeAffinity{}
	if g.oneIn(2) {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: some(g, 2, g.nodeTerm)}
	}
	if g.oneIn(2) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = some(g, 3, func() v1.PreferredSchedulingTerm {
			return v1.PreferredSchedulingTerm{Weight: pick[int32](g, 0, 1, 50, 100), Preference: g.nodeTerm()}
		})
	}
	return affinity
}

func (g *generator) nodeTerm() v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{
		MatchExpressions: some(g, 2, g.nodeRequirement),
		MatchFields: some(g, g.IntN(2), func() v1.NodeSelectorRequirement {
			return v1.NodeSelectorRequirement{
				Key: "metadata.name", Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn),
				Values: []string{pick(g, "node-0", "node-1", "node-2", "node-99")},
			}
		}),
	}
}

func (g *generator) nodeRequirement() v1.NodeSelectorRequirement {
	key := pick(g, "disk", "zone", "number")
	requirement := v1.NodeSelectorRequirement{
		Key: key,
		Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist,
			v1.NodeSelectorOpGt, v1.NodeSelectorOpLt),
	}
	switch requirement.Operator {
	case v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist:
		if g.oneIn(10) {
			requirement.Values = []string{"not allowed"}
		}
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		requirement.Values = []string{pick(g, "1", "5", "x")}
	default:
		requirement.Values = some(g, 2, func() string { return g.labelValue(key) })
	}
	return requirement
}

// cluster is nodes with pods on them, and other objects.
type cluster struct {
	nodes   []*v1.Node
	pods    []*v1.Pod
	objects []apiruntime.Object
}

func (g *generator) cluster() cluster {
	var c cluster
	for i := range 1 + g.IntN(6) {
		c.nodes = append(c.nodes, g.node(i))
	}
	for i := range g.IntN(8) {
		pod := g.pod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = c.nodes[g.IntN(len(c.nodes))].Name
		pod.Status.Phase = g.placedPhase()
		if g.oneIn(6) {
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		}
		c.pods = append(c.pods, pod)
	}
	c.objects = append(g.owners(), g.storage()...)
	c.objects = append(c.objects, g.ephemeralClaims(c.pods)...)
	return c
}
