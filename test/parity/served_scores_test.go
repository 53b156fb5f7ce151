// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// compareServedScores compares how nodes are scored by extended resources that devices serve there.
func (m *machine) compareServedScores(r round) {
	synctest.Test(r.T, func(t *testing.T) {
		g := newGenerator(r.seed)
		g.noBindingConditions = true
		c := g.deviceCluster(1+g.IntN(4), 2)
		g.changeServingClass(c)
		// kube-scheduler keeps by name which devices match, so that those of different generations are mixed up.
		c.objects = slices.DeleteFunc(c.objects, func(object apiruntime.Object) bool {
			slice, ok := object.(*resourceapi.ResourceSlice)
			return ok && slice.Name == "gpu-old"
		})
		p := all([]configv1.Plugin{{Name: "NodeResourcesFit"}, {Name: "NodeResourcesBalancedAllocation"}})
		strategy := g.strategy()
		for _, name := range []v1.ResourceName{served, impliedResource, servedByAny} {
			if g.oneIn(2) {
				strategy.Resources = append(strategy.Resources, configv1.ResourceSpec{Name: string(name), Weight: 1 + g.Int64N(5)})
			}
		}
		p.args["NodeResourcesFit"].(*configv1.NodeResourcesFitArgs).ScoringStrategy = strategy
		balanced := p.args["NodeResourcesBalancedAllocation"].(*configv1.NodeResourcesBalancedAllocationArgs)
		balanced.Resources = append(balanced.Resources, configv1.ResourceSpec{Name: string(servedByAny), Weight: 1})
		var pods []*v1.Pod
		for i := range 3 {
			pods = append(pods, g.podForServedScores(fmt.Sprintf("pod-%d", i)))
		}
		their, our := scoreServed(t, theirs, c, p, pods), scoreServed(t, ours, c, p, pods)
		if diff := difference(their, our); diff != "" {
			t.Fatalf("SEED=%d N=1: scores of devices (-kube-scheduler +rouse):\n%s\n%v", r.seed, diff, profileText(p))
		}
		m.add(their.count())
	})
}

// changeServingClass lets the class that serves an extended resource be another one.
func (g *generator) changeServingClass(c cluster) {
	for _, object := range c.objects {
		class, ok := object.(*resourceapi.DeviceClass)
		if !ok || class.Name != "gpu" {
			continue
		}
		class.Spec.ExtendedResourceName = ptr.To(string(served))
		class.Spec.Selectors = selectors(pick(g, "gpu", "gpu", "model a", "near", "model a, or fails", "large, or fails", "broken"))
	}
}

func (g *generator) podForServedScores(name string) *v1.Pod {
	pod := g.podWithClaims(name)
	pod.Spec.ResourceClaims, pod.Status.ResourceClaimStatuses = nil, nil
	g.addServedResources(pod)
	for i := range pod.Spec.Containers {
		if requests := &pod.Spec.Containers[i].Resources.Requests; g.oneIn(2) {
			if *requests == nil {
				*requests = v1.ResourceList{}
			}
			(*requests)[servedByAny] = *resource.NewQuantity(int64(g.IntN(4)), resource.DecimalSI)
		}
	}
	return pod
}

// scoreServed scores all nodes for pods, with PreScore and without.
func scoreServed(t *testing.T, build builder, c cluster, p profile, pods []*v1.Pod) verdicts {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := build(ctx, c, p)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.nodes()
	if err != nil {
		t.Fatal(err)
	}
	v := verdicts{}
	for _, pod := range pods {
		for _, name := range []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation"} {
			say := func(what, verdict string) {
				v[subject{kind: kind{"scores of devices", name}, pod: pod.Name, node: what}] = verdict
			}
			plugin, state := s.plugins[name], s.newState()
			status := plugin.(fwk.PreScorePlugin).PreScore(ctx, state, pod, nodes)
			say("PreScore", describe(status))
			if status.IsSkip() {
				continue
			}
			for _, node := range nodes {
				score, status := plugin.(fwk.ScorePlugin).Score(ctx, state, pod, node)
				say("Score "+node.Node().Name, fmt.Sprint(describe(status), " ", score))
			}
		}
	}
	return v
}

// TestDevicesAreBalanced shows a difference on purpose: NodeResourcesBalancedAllocation counts devices of classes with
// selectors. There, kube-scheduler panics.
func TestDevicesAreBalanced(t *testing.T) {
	g := newGenerator(1)
	node := g.deviceNode(0)
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8")}
	class := &resourceapi.DeviceClass{}
	class.Name, class.Spec.ExtendedResourceName = "any", ptr.To(string(served))
	slice := &resourceapi.ResourceSlice{}
	slice.Name = "gpus"
	slice.Spec = resourceapi.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "gpus", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourceapi.Device{{Name: "gpu-0"}},
	}
	pod := g.podForServedScores("pod-0")
	pod.Spec.InitContainers = nil
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{served: resource.MustParse("1"), "cpu": resource.MustParse("2")}}}}
	score := func(build builder) (score int64, panicked bool) {
		t.Helper()
		defer func() { panicked = recover() != nil }()
		p := all([]configv1.Plugin{{Name: "NodeResourcesBalancedAllocation"}})
		p.args["NodeResourcesBalancedAllocation"].(*configv1.NodeResourcesBalancedAllocationArgs).Resources = []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: string(served), Weight: 1}}
		s, err := build(t.Context(), cluster{nodes: []*v1.Node{node}, objects: []apiruntime.Object{class, slice}}, p)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := s.nodes()
		if err != nil {
			t.Fatal(err)
		}
		score, status := s.plugins["NodeResourcesBalancedAllocation"].(fwk.ScorePlugin).Score(t.Context(), s.newState(), pod, nodes[0])
		if !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		return score, false
	}
	// CPU 2 of 8 and the only device: the deviation is (1-0.25)/2, so that the balance falls from 100 to 62.
	if got, panicked := score(theirs); got != 56 || panicked {
		t.Errorf("kube-scheduler's score is %d (panic: %t)", got, panicked)
	}
	class.Spec.Selectors = selectors("gpu")
	if got, panicked := score(ours); got != 56 || panicked {
		t.Errorf("the score is %d (panic: %t)", got, panicked)
	}
	if _, panicked := score(theirs); !panicked {
		t.Error("kube-scheduler does not panic any more")
	}
}
