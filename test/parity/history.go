// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// history is a cluster and what happens to it, step by step, while pods come and are scheduled.
type history struct {
	trial
	steps []step
	// devices says that pods have claims, which are served and written.
	devices bool
}

// step is one change of the cluster. After each, the pods that are ready are tried.
type step struct {
	// Object comes, or replaces the one of its name, or goes.
	Object  apiruntime.Object
	Removed bool
	// Later is how much time passes before, so that pods come back from their backoff.
	Later time.Duration
	// Bound says that the pods that were given a node are seen bound before; otherwise they stay assumed.
	Bound bool
	// FailBinding says that the first pod that is given a node after this step is not bound.
	FailBinding bool
}

func (s step) String() string {
	object, err := meta.Accessor(s.Object)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s/%s removed=%t later=%v bound=%t failBinding=%t", s.Object, object.GetNamespace(), object.GetName(), s.Removed,
		s.Later, s.Bound, s.FailBinding)
}

// history returns a history with the profile of the trial, in which pods have claims if it has a cluster with devices.
func (g *generator) history(t trial, devices bool) history {
	h := history{trial: t, devices: devices}
	for i := range historySteps - g.IntN(20) {
		s := step{Bound: !g.oneIn(3), FailBinding: g.oneIn(10), Later: time.Duration(g.IntN(3)) * 5 * time.Second}
		s.Object, s.Removed = g.happening(i)
		if h.devices {
			g.addDevices(&s, t.cluster, i)
		}
		if object, err := meta.Accessor(s.Object); err == nil {
			object.SetResourceVersion(fmt.Sprint(i + 2))
		}
		h.steps = append(h.steps, s)
		if pod, ok := s.Object.(*v1.Pod); ok {
			h.cluster = h.withEphemeralClaims(g, pod)
		}
	}
	return h
}

// historySteps is how many steps a history has at the most.
const historySteps = 32

// withDevices returns a cluster that has devices, too.
func (g *generator) withDevices(c cluster) cluster {
	g.promptDrivers = true
	devices := g.deviceCluster(len(c.nodes), historySteps)
	c.objects = append(c.objects, devices.objects...)
	for _, node := range c.nodes {
		g.prepareForDevices(node)
	}
	return c
}

// prepareForDevices puts a node into a zone. Some nodes offer, or once offered, what devices serve elsewhere.
func (g *generator) prepareForDevices(node *v1.Node) {
	g.putIntoZone(node)
	if g.oneIn(4) {
		node.Status.Allocatable[served] = resource.MustParse(pick(g, "0", "1", "3"))
	}
}

// putIntoZone puts a node into a zone, always the same one: by the name of a node kube-scheduler keeps which devices it
// counts for scores there.
func (g *generator) putIntoZone(node *v1.Node) {
	node.Labels["zone"] = "east"
	if strings.ContainsAny(node.Name, "1357") {
		node.Labels["zone"] = "west"
	}
}

// scoreDevices has a profile count devices where it scores nodes, of classes about which devices of one name don't differ.
func (g *generator) scoreDevices(p profile) {
	fit := p.args["NodeResourcesFit"].(*configv1.NodeResourcesFitArgs)
	fit.ScoringStrategy = g.strategy()
	for _, name := range []v1.ResourceName{impliedResource, servedByAny} {
		fit.ScoringStrategy.Resources = append(fit.ScoringStrategy.Resources, configv1.ResourceSpec{Name: string(name), Weight: 1 + g.Int64N(5)})
	}
	balanced := p.args["NodeResourcesBalancedAllocation"].(*configv1.NodeResourcesBalancedAllocationArgs)
	balanced.Resources = append(balanced.Resources, configv1.ResourceSpec{Name: string(servedByAny), Weight: 1})
}

// addDevices makes a step be about claims and devices, if it is about nothing that goes.
func (g *generator) addDevices(s *step, c cluster, i int) {
	switch object := s.Object.(type) {
	case *v1.Node:
		g.prepareForDevices(object)
	case *v1.Pod:
		if s.Removed || object.Spec.NodeName != "" {
			return
		}
		if g.oneIn(4) {
			s.Object, s.Removed = g.deviceHappening(c, i)
			return
		}
		object.Namespace, object.UID = "default", types.UID(object.Name)
		object.Spec.Volumes = nil
		g.addClaims(object)
		if len(object.Spec.ResourceClaims) == 0 && g.oneIn(2) {
			g.addServedResources(object)
		}
	}
}

// happening returns an object that comes, changes or goes; most of them are new pods.
func (g *generator) happening(i int) (object apiruntime.Object, removed bool) {
	switch g.IntN(12) {
	case 0:
		return g.someNode(), false
	case 1:
		return g.someNode(), g.oneIn(3)
	case 2:
		pod := g.easyPod(fmt.Sprintf("placed-%d", g.IntN(10)))
		pod.Spec.NodeName, pod.Status.Phase = fmt.Sprintf("node-%d", g.IntN(8)), v1.PodRunning
		pod.UID = "uid-of-" + pod.UID
		return pod, g.oneIn(2)
	case 3:
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pick(g, "default", "shop"), Name: fmt.Sprintf("pod-%d", g.IntN(i+1))}}, true
	case 4:
		return g.ownerOrStorage(), g.oneIn(4)
	}
	pod := g.historyPod(fmt.Sprintf("pod-%d", i))
	return pod, false
}

func (g *generator) someNode() *v1.Node {
	if g.oneIn(3) {
		return g.node(g.IntN(8))
	}
	return g.easyNode(g.IntN(8))
}

func (g *generator) historyPod(name string) *v1.Pod {
	pod := g.easyPod(name)
	if g.oneIn(4) {
		pod = g.pod(name)
		pod.Spec.NodeName, pod.Spec.SchedulingGates = "", nil
	}
	if g.oneIn(10) {
		pod.Status.NominatedNodeName = fmt.Sprintf("node-%d", g.IntN(9))
	}
	pod.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever) // who is preempted is compared elsewhere
	return pod
}

func (g *generator) ownerOrStorage() apiruntime.Object {
	if g.oneIn(3) {
		return pick(g, g.owners()...)
	}
	if g.oneIn(3) {
		return pick(g, g.storage()...)
	}
	return pick(g, g.easyStorage()...)
}
