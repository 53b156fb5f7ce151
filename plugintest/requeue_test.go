// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// hint returns a hint that always says the same.
func hint(answer fwk.QueueingHint) fwk.QueueingHintFn {
	return func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return answer, nil }
}

// limitEvents are all events that the plugin Limit has to wait for.
func limitEvents() []fwk.ClusterEventWithHint {
	return []fwk.ClusterEventWithHint{
		on(fwk.AssignedPod, fwk.Delete|fwk.UpdatePodLabel, nil),
		on(fwk.Node, fwk.Add|fwk.UpdateNodeAnnotation, nil),
		on(fwk.TargetPod, fwk.UpdatePodLabel, nil),
	}
}

// limitTransitions are those that have Limit change its mind in a full cluster.
func limitTransitions() []plugintest.Transition {
	return []plugintest.Transition{
		plugintest.Deleted(running()),
		plugintest.Updated(running(), objects.Pod("running").Node("n1").Build()),
		plugintest.Added(objects.Node("n2").Build()),
		plugintest.Updated(fullNode(), objects.Node("n1").Annotation("limit", "2").Build()),
		plugintest.Updated(waiting(), objects.Pod("web").Build()),
	}
}

func TestCheckRequeueOfSoundPlugin(t *testing.T) {
	plugintest.CheckRequeue(t, limitName, newLimit(limitEvents()...), fullCluster(), limitTransitions()...)
}

func TestCheckRequeueFindsForgottenEvents(t *testing.T) {
	prefix := "plugin Limit misses a wake-up: it rejected pod default/web (node is at its limit) and, when "
	wants := []string{
		prefix + "Pod default/running is deleted, accepts it on node n1, but the pod is not woken: " +
			"EventsToRegister does not return AssignedPodDelete",
		prefix + "Pod default/running is updated, accepts it on node n1, but the pod is not woken: " +
			"EventsToRegister does not return AssignedPodUpdatePodLabel",
		prefix + "Node n2 is added, accepts it on node n2, but the pod is not woken: " +
			"EventsToRegister does not return NodeAdd",
		prefix + "Node n1 is updated, accepts it on node n1, but the pod is not woken: " +
			"EventsToRegister does not return NodeUpdateNodeAnnotation",
		prefix + "Pod default/web is updated, accepts it on node n1, but the pod is not woken: " +
			"EventsToRegister does not return TargetPodUpdatePodLabel",
	}
	for i, transition := range limitTransitions() {
		t.Run(transition.String(), func(t *testing.T) {
			events := []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Delete, nil)}
			for j, forgotten := range limitTransitions() {
				if j != i {
					events = append(events, eventOf(forgotten))
				}
			}
			checked := record(t, func(t plugintest.TB) {
				plugintest.CheckRequeue(t, limitName, newLimit(events...), fullCluster(), limitTransitions()...)
			})
			if diff := cmp.Diff(wants[i:i+1], checked.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

// eventOf returns a registration for one of the transitions of limitTransitions.
func eventOf(transition plugintest.Transition) fwk.ClusterEventWithHint {
	return map[string]fwk.ClusterEventWithHint{
		"Pod default/running is deleted": on(fwk.AssignedPod, fwk.Delete, nil),
		"Pod default/running is updated": on(fwk.AssignedPod, fwk.UpdatePodLabel, nil),
		"Node n2 is added":               on(fwk.Node, fwk.Add, nil),
		"Node n1 is updated":             on(fwk.Node, fwk.UpdateNodeAnnotation, nil),
		"Pod default/web is updated":     on(fwk.TargetPod, fwk.UpdatePodLabel, nil),
	}[transition.String()]
}

func TestCheckRequeueFindings(t *testing.T) {
	deleted := plugintest.Deleted(running())
	const missed = "plugin Limit misses a wake-up: it rejected pod default/web (node is at its limit) and, when " +
		"Pod default/running is deleted, accepts it on node n1, but the pod is not woken: "
	const nothing = "nothing was checked: no transition has plugin Limit accept a pod that it rejected before"
	tests := []struct {
		name        string
		change      func(*Limit)
		events      []fwk.ClusterEventWithHint
		options     plugintest.Options
		transitions []plugintest.Transition
		want        []string
	}{
		{
			name:        "hint that skips",
			events:      []fwk.ClusterEventWithHint{on(fwk.AssignedPod, fwk.Delete|fwk.Add, hint(fwk.QueueSkip))},
			transitions: []plugintest.Transition{deleted},
			want:        []string{missed + "the hint for AssignedPod Add|Delete returns QueueSkip"},
		},
		{
			name: "one of two hints queues",
			events: []fwk.ClusterEventWithHint{
				on(fwk.AssignedPod, fwk.Delete, hint(fwk.QueueSkip)), on(fwk.AssignedPod, fwk.Delete, hint(fwk.Queue)),
			},
			transitions: []plugintest.Transition{deleted},
		},
		{
			name: "pod left out before the hint",
			events: []fwk.ClusterEventWithHint{{
				Event: fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
				PreQueueingHintFn: func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
					return fwk.PreQueueingHintResult{Pods: []types.NamespacedName{{Namespace: "default", Name: "other"}}}, nil
				},
			}},
			transitions: []plugintest.Transition{deleted},
			want:        []string{missed + "the PreQueueingHintFn for AssignedPodDelete leaves the pod out"},
		},
		{
			name:        "no events",
			transitions: []plugintest.Transition{deleted},
			want: []string{
				missed + "EventsToRegister does not return AssignedPodDelete",
				"plugin Limit rejects pods, but EventsToRegister returns no event: they are only tried again after five minutes",
			},
		},
		{
			name:        "change without an event",
			events:      limitEvents(),
			change:      func(limit *Limit) { limit.filter = wantsImage },
			transitions: []plugintest.Transition{plugintest.Updated(fullNode(), objects.Node("n1").Image(1, "web:1").Build())},
			options:     plugintest.Options{Pods: []*v1.Pod{objects.Pod("web").Build()}},
			want: []string{
				"plugin Limit misses a wake-up: it rejected pod default/web (no image) and, when Node n1 is updated, " +
					"accepts it on node n1, but the pod is not woken: the scheduler announces no event of such a change",
			},
		},
		{
			name:   "other kind of object",
			events: limitEvents(),
			change: wantsStorageClass, options: plugintest.Options{Nodes: []*v1.Node{fullNode()}, Pods: []*v1.Pod{waiting()}},
			transitions: []plugintest.Transition{plugintest.Added(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}})},
			want: []string{
				"plugin Limit misses a wake-up: it rejected pod default/web (no fast storage) and, when StorageClass fast is added, " +
					"accepts it on node n1, but the pod is not woken: EventsToRegister does not return storage.k8s.io/StorageClassAdd",
			},
		},
		{
			name:   "other kind of object that is waited for",
			events: []fwk.ClusterEventWithHint{on(fwk.StorageClass, fwk.Add, nil)},
			change: wantsStorageClass, options: plugintest.Options{Nodes: []*v1.Node{fullNode()}, Pods: []*v1.Pod{waiting()}},
			transitions: []plugintest.Transition{plugintest.Added(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}})},
		},
		{
			name:        "nothing is rejected",
			events:      limitEvents(),
			options:     plugintest.Options{Nodes: []*v1.Node{fullNode()}, Pods: []*v1.Pod{waiting()}},
			transitions: []plugintest.Transition{plugintest.Added(objects.Node("n2").Build())},
			want: []string{"nothing was checked: plugin Limit rejects none of the waiting pods; " +
				"the options need pods without a node, and nodes that the plugin rejects for them"},
		},
		{
			name:        "nothing is accepted afterwards",
			events:      limitEvents(),
			transitions: []plugintest.Transition{plugintest.Updated(fullNode(), objects.Node("n1").Annotation("limit", "0").Build())},
			want:        []string{nothing},
		},
		{name: "no transitions", want: []string{"nothing was checked: plugin Limit rejects none of the waiting pods; " +
			"the options need pods without a node, and nodes that the plugin rejects for them"}},
		{
			name:   "plugin that fails",
			events: limitEvents(),
			change: func(limit *Limit) {
				limit.filter = func(*v1.Pod, *v1.Node) *fwk.Status { return fwk.AsStatus(errors.New("out of order")) }
			},
			transitions: []plugintest.Transition{deleted},
			want: []string{
				`plugin Limit fails to judge pod default/web: running "Limit" filter plugin: out of order`,
				"nothing was checked: plugin Limit rejects none of the waiting pods; " +
					"the options need pods without a node, and nodes that the plugin rejects for them",
			},
		},
		{
			name:        "transition without an object",
			transitions: []plugintest.Transition{{}},
			want: []string{"checking the wake-ups of plugin Limit, when nothing happens: " +
				"it has no object; create it with Added, Updated or Deleted"},
		},
		{
			name:        "transition of two objects",
			transitions: []plugintest.Transition{plugintest.Updated(running(), waiting())},
			want: []string{"checking the wake-ups of plugin Limit, when Pod default/web is updated: " +
				"it is about two objects, Pod default/running and Pod default/web"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			factory := changedLimit(func(limit *Limit) {
				limit.events = test.events
				if test.change != nil {
					test.change(limit)
				}
			})
			options := test.options
			if options.Pods == nil {
				options = fullCluster()
			}
			checked := record(t, func(t plugintest.TB) {
				plugintest.CheckRequeue(t, limitName, factory, options, test.transitions...)
			})
			if diff := cmp.Diff(test.want, checked.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func wantsImage(_ *v1.Pod, node *v1.Node) *fwk.Status {
	if len(node.Status.Images) == 0 {
		return fwk.NewStatus(fwk.Unschedulable, "no image")
	}
	return nil
}

func wantsStorageClass(limit *Limit) {
	limit.filter = func(*v1.Pod, *v1.Node) *fwk.Status {
		if _, err := limit.handle.SharedInformerFactory().Storage().V1().StorageClasses().Lister().Get("fast"); err != nil {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "no fast storage")
		}
		return nil
	}
}

// TestCheckRequeueHints gives the plugin hints that some call is too much for.
func TestCheckRequeueHints(t *testing.T) {
	nodeHint := framework.HintFor(func(_ klog.Logger, _ *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
		if oldNode.Name == newNode.Name {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	})
	tests := []struct {
		name  string
		event fwk.ClusterEventWithHint
		want  []string
	}{
		{
			name: "added", event: on(fwk.Node, fwk.Add|fwk.UpdateNodeLabel, nodeHint),
			want: []string{"the hint of plugin Limit for Node Add|UpdateNodeLabel panics " +
				"for an object that was added, with a nil old object: runtime error: invalid memory address or nil pointer dereference"},
		},
		{
			name: "deleted", event: on(fwk.Node, fwk.Delete, nodeHint),
			want: []string{
				"the hint of plugin Limit for Node Delete panics " +
					"for an object that was deleted, with a nil new object: runtime error: invalid memory address or nil pointer dereference",
				"the hint of plugin Limit for Node Delete panics " +
					"for a deletion without any object: runtime error: invalid memory address or nil pointer dereference",
			},
		},
		{
			name: "type assertion", event: on(fwk.PersistentVolume, fwk.Delete, func(_ klog.Logger, _ *v1.Pod, oldObj, _ any) (fwk.QueueingHint, error) {
				if _, ok := oldObj.(*v1.PersistentVolume); !ok {
					return fwk.Queue, errors.New("not a volume")
				}
				return fwk.Queue, nil
			}),
			want: []string{
				"the hint of plugin Limit for PersistentVolume Delete fails for a deletion without any object: not a volume",
				"the hint of plugin Limit for PersistentVolume Delete fails for a deletion with a cache.DeletedFinalStateUnknown: not a volume",
			},
		},
		{
			name: "everything", event: on(fwk.WildCard, fwk.All, func(_ klog.Logger, _ *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
				if oldObj == nil && newObj == nil {
					return fwk.Queue, errors.New("what?")
				}
				return fwk.Queue, nil
			}),
			want: []string{"the hint of plugin Limit for * All fails for a deletion without any object: what?"},
		},
		{name: "custom kind", event: on("foos.v1.example.com", fwk.All, hint(fwk.Queue))},
		{name: "no hint", event: on(fwk.Pod, fwk.All, nil)},
		{name: "pods", event: on(fwk.Pod, fwk.Add|fwk.Delete, hint(fwk.Queue))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checked := record(t, func(t plugintest.TB) {
				plugintest.CheckRequeue(t, limitName, newLimit(append(limitEvents(), test.event)...), fullCluster(), plugintest.Deleted(running()))
			})
			if diff := cmp.Diff(test.want, checked.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckRequeueHintFailsInTransition has a hint fail in the transition itself.
func TestCheckRequeueHintFailsInTransition(t *testing.T) {
	failing := on(fwk.AssignedPod, fwk.UpdatePodLabel, func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
		return fwk.QueueSkip, errors.New("no idea")
	})
	checked := record(t, func(t plugintest.TB) {
		plugintest.CheckRequeue(t, limitName, newLimit(failing), fullCluster(), limitTransitions()[1])
	})
	want := []string{"the hint of plugin Limit for AssignedPod UpdatePodLabel fails when Pod default/running is updated: no idea"}
	if diff := cmp.Diff(want, checked.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// classedLimit is Limit with all pods in one class.
type classedLimit struct{ *Limit }

func (classedLimit) HintClass(*v1.Pod) (string, bool) { return "all", true }

func TestCheckRequeueComparesClasses(t *testing.T) {
	// The hint reads the name of the pod, which the class leaves out.
	onlyWeb := func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
		if pod.Name == "web" {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	inner := newLimit(on(fwk.AssignedPod, fwk.Delete, onlyWeb))
	factory := func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		built, err := inner(ctx, args, handle)
		return classedLimit{built.(*Limit)}, err
	}
	options := fullCluster()
	options.Pods = append(options.Pods, limited("another").Build())
	checked := record(t, func(t plugintest.TB) {
		plugintest.CheckRequeue(t, limitName, factory, options, plugintest.Deleted(running()))
	})
	want := []string{
		// web was asked for both, so that the other pod is awake by luck.
		"the hint of plugin Limit for AssignedPod Delete, when Pod default/running is deleted, returns Queue for pod default/web " +
			"and QueueSkip for pod default/another, although they are of one class: " +
			"it reads something of the pod that SignPod does not sign or HintClass leaves out",
	}
	if diff := cmp.Diff(want, checked.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestCheckRequeueNamesClassMate(t *testing.T) {
	inner := newLimit(on(fwk.AssignedPod, fwk.Delete, hint(fwk.QueueSkip)))
	factory := func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		built, err := inner(ctx, args, handle)
		return classedLimit{built.(*Limit)}, err
	}
	options := fullCluster()
	options.Pods = append(options.Pods, limited("another").Build())
	checked := record(t, func(t plugintest.TB) {
		plugintest.CheckRequeue(t, limitName, factory, options, plugintest.Deleted(running()))
	})
	missed := func(pod, why string) string {
		return "plugin Limit misses a wake-up: it rejected pod default/" + pod + " (node is at its limit) and, when " +
			"Pod default/running is deleted, accepts it on node n1, but the pod is not woken: the hint for AssignedPod Delete returns QueueSkip" + why
	}
	want := []string{missed("another", " for pod default/web, which is of the same class"), missed("web", "")}
	if diff := cmp.Diff(want, checked.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}
