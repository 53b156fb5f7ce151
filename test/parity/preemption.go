// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

const preemptionPlugin = "DefaultPreemption"

// preemptionCase is a full cluster and a pod that may have to preempt. No two pods were started at the same time, so
// that of two nodes one is always the better one to preempt on.
type preemptionCase struct {
	cluster
	pod       *v1.Pod
	budgets   []*policyv1.PodDisruptionBudget
	nominated map[string][]*v1.Pod // by node
	fault     preemptionFault
}

// preemptionFault is what the API server answers to one kind of request for one pod; nothing if the verb is empty.
type preemptionFault struct {
	verb, pod string
	err       error
}

func (g *generator) preemptionCase() preemptionCase {
	c := preemptionCase{nominated: map[string][]*v1.Pod{}}
	for i := range 1 + g.IntN(6) {
		c.nodes = append(c.nodes, g.preemptionNode(i))
	}
	starts := g.Perm(60)
	for i := range 4 + g.IntN(24) {
		pod := g.preemptionPod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = pick(g, c.nodes...).Name
		pod.Status.StartTime = &metav1.Time{Time: time.Date(1999, time.May, 1, 12, starts[i], 0, 0, time.UTC)}
		if g.oneIn(12) {
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
			if g.oneIn(2) {
				pod.Status.Conditions = []v1.PodCondition{{
					Type: v1.DisruptionTarget, Status: pick(g, v1.ConditionTrue, v1.ConditionFalse),
					Reason: pick(g, v1.PodReasonPreemptionByScheduler, "EvictionByEvictionAPI"),
				}}
			}
		}
		c.pods = append(c.pods, pod)
	}
	// Where a pod belongs to several budgets, the order matters in which a lister has them; for kube-scheduler there is none.
	for _, namespace := range []string{"default", "shop"} {
		if g.oneIn(3) {
			continue
		}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "budget"}}
		budget.Spec.Selector = g.labelSelector()
		budget.Status.DisruptionsAllowed = g.Int32N(3)
		if g.oneIn(3) {
			budget.Status.DisruptedPods = map[string]metav1.Time{pick(g, c.pods...).Name: {}}
		}
		c.budgets = append(c.budgets, budget)
	}
	for i := range g.IntN(3) {
		pod, node := g.preemptionPod(fmt.Sprintf("nominated-%d", i)), pick(g, c.nodes...).Name
		if !g.oneIn(4) {
			pod.Status.NominatedNodeName = node
		}
		c.nominated[node] = append(c.nominated[node], pod)
	}
	if g.oneIn(3) {
		name, pods := pick(g, c.pods...).Name, schema.GroupResource{Resource: "pods"}
		c.fault = preemptionFault{
			verb: pick(g, "patch", "delete"), pod: name,
			err: pick(g, error(apierrors.NewForbidden(pods, name, nil)), error(apierrors.NewNotFound(pods, name))),
		}
	}
	c.objects = append(g.owners(), g.easyStorage()...)
	c.pod = g.preemptionPod("preemptor")
	if !g.oneIn(4) {
		c.pod.Status = v1.PodStatus{} // no node has reported on it
	}
	c.pod.Spec.Priority = ptr.To(pick[int32](g, 0, 10, 10, 1000))
	c.pod.Spec.PreemptionPolicy = pick(g, nil, nil, nil, ptr.To(v1.PreemptLowerPriority), ptr.To(v1.PreemptNever))
	if g.oneIn(4) {
		c.pod.Status.NominatedNodeName = pick(g, "gone", pick(g, c.nodes...).Name)
	}
	return c
}

// preemptionNode returns a node that is full with a few pods, and seldom rejects them for other reasons.
func (g *generator) preemptionNode(i int) *v1.Node {
	node := g.node(i)
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse(pick(g, "2", "3", "4", "6")),
		v1.ResourceMemory: resource.MustParse(pick(g, "1Gi", "16Gi", "16Gi", "16Gi")),
		v1.ResourcePods:   resource.MustParse(pick(g, "3", "5", "110")),
		"hugepages-2Mi":   resource.MustParse(pick(g, "0", "64Mi")),
		extendedResource:  resource.MustParse(pick(g, "0", "1", "2")),
	}
	if !g.oneIn(4) {
		node.Spec.Taints, node.Spec.Unschedulable = nil, false
	}
	return node
}

// preemptionPod returns a pod without a node or gates, that asks mostly for CPUs: in a container, in some that run before or
// next to it, as a whole, and for its overhead.
func (g *generator) preemptionPod(name string) *v1.Pod {
	pod := g.pod(name)
	spec := &pod.Spec
	spec.NodeName, spec.SchedulingGates, spec.Volumes = "", nil, nil
	spec.Containers = []v1.Container{g.preemptionContainer("c0", "0", "500m", "1", "2")}
	spec.Containers[0].Ports = some(g, g.IntN(2)*g.IntN(2), g.port)
	inits := spec.InitContainers
	spec.InitContainers = nil
	if g.oneIn(3) {
		for _, init := range inits {
			own := g.preemptionContainer(init.Name, "0", "500m", "1", "3")
			own.RestartPolicy = init.RestartPolicy
			spec.InitContainers = append(spec.InitContainers, own)
		}
	}
	if !g.oneIn(3) {
		spec.Affinity, spec.NodeSelector, spec.TopologySpreadConstraints = nil, nil, nil
	}
	if g.oneIn(4) {
		spec.Volumes = []v1.Volume{g.contestedVolume()}
	}
	spec.Priority = pick(g, nil, ptr.To[int32](-5), ptr.To[int32](0), ptr.To[int32](5), ptr.To[int32](10))
	return pod
}

func (g *generator) preemptionContainer(name string, cpus ...string) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(g, cpus...))},
	}}
}

// contestedVolume returns a volume that another pod may have to make room for: a disk or a claim that only one pod can use, or
// one of as many as the driver of a node takes.
func (g *generator) contestedVolume() v1.Volume {
	volume := v1.Volume{Name: "data"}
	switch g.IntN(4) {
	case 0:
		volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: pick(g, "disk-a", "disk-b"), ReadOnly: g.oneIn(3)}
	case 1:
		volume.RBD = &v1.RBDVolumeSource{CephMonitors: []string{"a"}, RBDPool: "pool", RBDImage: pick(g, "x", "y"), ReadOnly: g.oneIn(3)}
	default:
		volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: g.claimName()}
	}
	return volume
}
