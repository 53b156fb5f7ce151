// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/profiles"
)

// registrations returns what a plugin registers, in the order of its own list; nothing for a plugin that does not say.
func registrations(ctx context.Context, plugin fwk.Plugin) ([]fwk.ClusterEventWithHint, error) {
	extensions, ok := plugin.(fwk.EnqueueExtensions)
	if !ok {
		return nil, nil
	}
	return extensions.EventsToRegister(ctx)
}

// all returns a profile of every plugin that is built, with default arguments.
func all(available []configv1.Plugin) profile {
	p := profile{plugins: slices.Clone(available), args: map[string]apiruntime.Object{}}
	for _, plugin := range available {
		if args := profiles.DefaultArgs(plugin.Name); args != nil {
			p.args[plugin.Name] = args
		}
	}
	return p
}

// TestEventMap compares what the plugins register: resource, actions, and whether there is a hint.
func TestEventMap(t *testing.T) {
	available, err := built(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	their, our := both(t, cluster{}, all(available))
	compared := 0
	for name := range their.plugins {
		rows := func(s *side) []string {
			events, err := registrations(t.Context(), s.plugins[name])
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, event := range events {
				rows = append(rows, fmt.Sprintf("%s %v hint=%v", event.Event.Resource, framework.ActionNames(event.Event.ActionType), event.QueueingHintFn != nil))
			}
			slices.Sort(rows)
			return rows
		}
		want := rows(their)
		compared += 1 + len(want)
		if diff := cmp.Diff(want, rows(our)); diff != "" {
			t.Errorf("%s registers (-kube-scheduler +rouse):\n%s", name, diff)
		}
	}
	counter{"registration": compared}.report(t)
}

func both(t *testing.T, c cluster, p profile) (their, our *side) {
	t.Helper()
	their, err := theirs(t.Context(), c, p)
	if err != nil {
		t.Fatalf("building kube-scheduler's framework: %v", err)
	}
	if our, err = ours(t.Context(), c, p); err != nil {
		t.Fatalf("building Rouse's framework: %v", err)
	}
	return their, our
}

// TestHints compares every queueing hint on random objects: new, changed and deleted ones, tombstones, none at all, and
// objects of the wrong kind.
func TestHints(t *testing.T) {
	settings := readSettings(t)
	available, err := built(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := counter{}
	for i := range settings.rounds {
		seed := settings.seed + uint64(i)
		g := newGenerator(seed)
		p := g.profile(available)
		their, our := both(t, g.cluster(), p)
		for name, plugin := range their.plugins {
			want, err := registrations(t.Context(), plugin)
			if err != nil {
				t.Fatal(err)
			}
			got, err := registrations(t.Context(), our.plugins[name])
			if err != nil {
				t.Fatal(err)
			}
			for _, registered := range want {
				twin := slices.IndexFunc(got, func(e fwk.ClusterEventWithHint) bool { return e.Event == registered.Event })
				if registered.QueueingHintFn == nil || twin < 0 {
					continue // TestEventMap compares those
				}
				for range 4 {
					pod := g.pod("pending")
					oldObj, newObj := g.change(registered.Event)
					wantHint := hint(registered.QueueingHintFn, pod, oldObj, newObj)
					gotHint := hint(got[twin].QueueingHintFn, pod, oldObj, newObj)
					counts[name]++
					if wantHint != gotHint && !knownHintDifference(plugin, oldObj, newObj, gotHint) {
						t.Fatalf("SEED=%d N=1: hint of %s for %s: kube-scheduler says %s, Rouse %s\n%s", seed, name,
							registered.Event.Label(), wantHint, gotHint, objectsText(pod, oldObj, newObj, p))
					}
				}
			}
		}
	}
	counts.report(t)
}

// knownHintDifference tells whether a difference is one on purpose: given no object at all, which no informer does,
// Rouse wakes the pod, and kube-scheduler's answer depends on the plugin, or it panics. And where kube-scheduler leaves a
// pod asleep that the event may help, Rouse wakes it; docs/differences.md lists those.
func knownHintDifference(plugin fwk.Plugin, oldObj, newObj any, got string) bool {
	if oldObj == nil && newObj == nil {
		return true
	}
	if got != fwk.Queue.String() || plugin.Name() != nodeaffinity.Name {
		return false
	}
	oldNode, updated := oldObj.(*v1.Node)
	return updated && violatesAddedAffinity(plugin, oldNode)
}

// violatesAddedAffinity tells whether the affinity that a profile adds keeps all pods off a node.
func violatesAddedAffinity(plugin fwk.Plugin, node *v1.Node) bool {
	nodeInfo := upstream.NewNodeInfo()
	nodeInfo.SetNode(node)
	status := plugin.(fwk.FilterPlugin).Filter(context.Background(), upstream.NewCycleState(), &v1.Pod{}, nodeInfo)
	return !status.IsSuccess()
}

// hint returns the answer of a hint as text; an error counts as Queue, whatever it says.
func hint(fn fwk.QueueingHintFn, pod *v1.Pod, oldObj, newObj any) (answer string) {
	defer func() {
		if value := recover(); value != nil {
			answer = "panic"
		}
	}()
	advice, err := fn(klog.Background(), pod, oldObj, newObj)
	if err != nil {
		return fwk.Queue.String() // which is what the queue makes of it
	}
	return advice.String()
}

// change returns two versions of an object to which the event could have happened.
func (g *generator) change(event fwk.ClusterEvent) (oldObj, newObj any) {
	var before, after any
	switch event.Resource {
	case fwk.Node:
		before, after = g.changedNode()
	case fwk.AssignedPod, fwk.TargetPod, fwk.UnscheduledPod, fwk.Pod:
		oldPod, newPod := g.changedPod()
		if event.Resource == fwk.AssignedPod && !g.oneIn(6) {
			oldPod.Spec.NodeName, newPod.Spec.NodeName = "node-0", "node-0"
		}
		before, after = oldPod, newPod
	default:
		before, after = g.changedObject(event.Resource)
	}
	if g.oneIn(20) {
		before, after = "not an object", "not an object"
	}
	deleted := event.ActionType&fwk.Delete != 0
	switch {
	case deleted && (event.ActionType == fwk.Delete || g.oneIn(3)):
		if g.oneIn(4) {
			return clientcache.DeletedFinalStateUnknown{Key: "x", Obj: before}, nil
		}
		return before, nil
	case event.ActionType&fwk.Add != 0 && g.oneIn(2):
		return nil, after
	}
	return before, after
}

func (g *generator) changedNode() (before, after *v1.Node) {
	before = g.node(g.IntN(3))
	if g.oneIn(2) {
		after = g.node(0)
		after.Name = before.Name
		return before, after
	}
	after = before.DeepCopy()
	other := g.node(0)
	switch g.IntN(7) {
	case 0:
		after.Labels = other.Labels
	case 1:
		after.Spec.Taints = other.Spec.Taints
	case 2:
		after.Spec.Unschedulable = !before.Spec.Unschedulable
	case 3:
		after.Status.Allocatable = other.Status.Allocatable
	case 4:
		after.Annotations = map[string]string{"changed": "yes"}
	case 5:
		after.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	case 6:
		after.Status.DeclaredFeatures = []string{"SomeFeature"}
	}
	return before, after
}

func (g *generator) changedPod() (before, after *v1.Pod) {
	before = g.pod("other")
	after = before.DeepCopy()
	other := g.pod("third")
	for range 1 + g.IntN(2) {
		switch g.IntN(6) {
		case 0:
			after.Labels = other.Labels
		case 1:
			after.Spec.Containers = other.Spec.Containers
		case 2:
			after.Spec.Tolerations = other.Spec.Tolerations
		case 3:
			after.Spec.SchedulingGates = other.Spec.SchedulingGates
		case 4:
			after.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: pick(g, "a", "b")}}
		case 5:
			after.Status.NominatedNodeName = pick(g, "", "node-0")
		}
	}
	return before, after
}

// TestObjectDiffs compares how two versions of an object become events.
func TestObjectDiffs(t *testing.T) {
	settings := readSettings(t)
	counts := counter{}
	for i := range settings.rounds * 10 {
		seed := settings.seed + uint64(i)
		g := newGenerator(seed)
		oldNode, newNode := g.changedNode()
		if diff := cmp.Diff(upstream.NodeSchedulingPropertiesChange(newNode, oldNode), framework.NodeEvents(oldNode, newNode)); diff != "" {
			t.Fatalf("seed %d: events of a node (-kube-scheduler +rouse):\n%s", seed, diff)
		}
		oldPod, newPod := g.changedPod()
		target := g.oneIn(2)
		if g.oneIn(3) {
			newPod.Spec.NodeName = "node-0"
		}
		if diff := cmp.Diff(upstream.PodSchedulingPropertiesChange(newPod, oldPod, target), framework.PodEvents(oldPod, newPod, target)); diff != "" {
			t.Fatalf("seed %d: events of a pod (-kube-scheduler +rouse):\n%s", seed, diff)
		}
		counts["node"]++
		counts["pod"]++
	}
	counts.report(t)
}
