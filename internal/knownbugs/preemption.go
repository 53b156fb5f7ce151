// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// preemptor is a pod that takes cores of its own, or of pods that matter less.
func preemptor(cores string) *v1.Pod {
	return objects.Pod("preemptor").Priority(100).Requests("cpu", cores).Build()
}

// victimsGone is kubernetes/kubernetes#141694. The victims of a pod are evicted, but the scheduler has not seen it yet when
// a change of the node has the pod tried again. It preempts the same victims once more. Their deletions are seen while the pod
// is held back for that; then they turn out to be gone, and no deletion follows that could wake it.
func victimsGone(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "2").Build())
	for _, name := range []string{"victim-1", "victim-2"} {
		w.Create(objects.Pod(name).Node("n1").Requests("cpu", "1").Build())
		w.Slow("patch", name, time.Second/2)
		w.Slow("delete", name, time.Second/2)
	}
	start()
	w.Create(preemptor("2"))
	w.Hold("pods")
	w.After(5 * time.Second) // both are evicted
	w.Waits("preemptor")
	w.UpdateNode("n1", func(node *v1.Node) { node.Status.Allocatable["cpu"] = resource.MustParse("2500m") })
	w.Release()
	return w.Bound("preemptor")
}

// cancelledInPreBind is kubernetes/kubernetes#140082. The only victim is in PreBind, so that its binding is cancelled instead
// of having the API delete it. The failure of the binding is announced while the preemptor is still held back, and
// nothing follows.
func cancelledInPreBind(w *World, start func()) error {
	w.With(&Plugin{PluginName: "Prepare", OnPreBind: func(ctx context.Context, pod *v1.Pod) *fwk.Status {
		if pod.Name != "victim" {
			return nil
		}
		<-ctx.Done()
		return fwk.AsStatus(context.Cause(ctx))
	}})
	return calledOff(w, start)
}

// cancelledInPermit is kubernetes/kubernetes#139554: the same with a victim that waits for permission.
func cancelledInPermit(w *World, start func()) error {
	w.With(&Plugin{PluginName: "Gang", OnPermit: func(pod *v1.Pod) (*fwk.Status, time.Duration) {
		if pod.Name != "victim" {
			return nil, 0
		}
		return fwk.NewStatus(fwk.Wait), 30 * time.Minute
	}})
	return calledOff(w, start)
}

func calledOff(w *World, start func()) error {
	w.OnEvent = func(_, reason string) {
		if reason == "Preempted" { // which is written before the preemptor is released
			time.Sleep(time.Second)
		}
	}
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	start()
	w.Create(objects.Pod("victim").Requests("cpu", "1").Build())
	w.Waits("victim")
	w.Create(preemptor("1"))
	if err := w.Bound("preemptor"); err != nil {
		return err
	}
	w.Waits("victim") // it was not deleted
	return nil
}

// siblingRejects is kubernetes-sigs/scheduler-plugins#1008. One victim is bound, the other waits for permission. While the
// first one is deleted, a plugin rejects the second one, as plugins for gangs do with the siblings of a pod that fits
// nowhere. What is announced then, and the deletion of the first victim, come while the preemptor is held back; the
// deletion of the second one, which has no node any more, wakes no pod.
func siblingRejects(w *World, start func()) error {
	gang := w.With(&Plugin{PluginName: "Gang", OnPermit: func(pod *v1.Pod) (*fwk.Status, time.Duration) {
		if pod.Name != "sibling" {
			return nil, 0
		}
		return fwk.NewStatus(fwk.Wait), 10 * time.Minute
	}})
	w.Create(objects.Node("n1").Capacity("cpu", "2").Build())
	w.Create(objects.Pod("victim").Node("n1").Priority(10).Requests("cpu", "1").Build())
	w.Slow("patch", "victim", time.Second)
	w.Slow("delete", "victim", time.Second)
	start()
	w.Create(objects.Pod("sibling").UID("sibling-uid").Requests("cpu", "1").Build())
	w.Waits("sibling")
	w.Create(preemptor("2"))
	w.After(time.Second)
	waiting := gang.Handle.GetWaitingPod(types.UID("sibling-uid"))
	if waiting == nil || !waiting.Reject("Gang", "a sibling fits nowhere") {
		w.t.Fatal("the sibling does not wait for permission")
	}
	return w.Bound("preemptor")
}

// gatedIsFlushed is kubernetes/kubernetes#139162. A preemptor is tried while its victim is being deleted, and is held back.
// The plugin that rejected it does not count the deletion as a reason to try it again. Only the unschedulable timeout
// is left to bring it back.
func gatedIsFlushed(w *World, start func()) error {
	w.With(&Plugin{
		PluginName: "Picky",
		OnFilter: func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
			if pod.Name == "preemptor" && len(node.GetPods()) > 0 {
				return fwk.NewStatus(fwk.Unschedulable, "the node is not empty")
			}
			return nil
		},
		Events: []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}}},
	})
	w.Create(objects.Node("n1").Capacity("cpu", "2").Build())
	w.Create(objects.Pod("victim").Node("n1").Requests("cpu", "1").Build())
	w.Slow("delete", "victim", 2*time.Second)
	start()
	w.Create(preemptor("1"))
	w.UpdateNode("n1", func(node *v1.Node) { node.Labels = map[string]string{"woken": "yes"} })
	return w.BoundWithin("preemptor", 6*time.Minute)
}

// gatedPodIsFlushed is the same for a pod that any plugin holds back, and lets go of without an event.
func gatedPodIsFlushed(w *World, start func()) error {
	gate := NewLatch()
	w.With(&Plugin{PluginName: "Gate", OnEnqueue: func(*v1.Pod) *fwk.Status {
		select {
		case <-gate.open:
			return nil
		default:
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not yet")
		}
	}})
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	start()
	w.Create(objects.Pod("gated").Requests("cpu", "1").Build())
	w.After(time.Minute)
	w.Waits("gated")
	gate.Open()
	return w.BoundWithin("gated", 6*time.Minute)
}

// slowDeletion is kubernetes/kubernetes#134249. It takes long to delete a victim, and meanwhile other pods end, which wakes
// the preemptor again and again. It must not begin another preemption each time.
func slowDeletion(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "10").Build())
	w.Create(objects.Pod("victim").Node("n1").Requests("cpu", "5").Build())
	const others = 5
	for i := range others {
		w.Create(objects.Pod(fmt.Sprint("other-", i)).Node("n1").Priority(1000).Requests("cpu", "100m").Build())
	}
	w.Slow("delete", "victim", 22*time.Second)
	start()
	w.Create(preemptor("9500m"))
	for i := range others {
		w.After(4 * time.Second)
		w.Waits("preemptor")
		if i < others-1 {
			w.Delete(fmt.Sprint("other-", i))
		}
	}
	if err := w.Bound("preemptor"); err != nil {
		return err
	}
	if calls := w.Calls("delete", "victim"); calls != 1 {
		return fmt.Errorf("%d requests to delete the victim", calls)
	}
	return nil
}

// portFreedFirst was found with these sequences. Of two victims, the first one has the port that the preemptor was rejected
// for, and is deleted while the preemptor is held back. The last one only has the cores that it needs too, so that its deletion
// is no reason to wake for the plugin that rejected the preemptor.
func portFreedFirst(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	w.Create(objects.Pod("port").Node("n1").Priority(10).HostPort(80).Build())
	w.Create(objects.Pod("cores").Node("n1").Requests("cpu", "1").Build())
	w.Slow("delete", "port", time.Second)
	w.Slow("delete", "cores", time.Second)
	start()
	w.Create(objects.Pod("preemptor").Priority(100).HostPort(80).Requests("cpu", "1").Build())
	return w.Bound("preemptor")
}

// heldBackTooLong was found with these sequences, too. An event wakes a preemptor while it is held back. When its victim is on its
// way out nothing holds it back any more, but the queue does not ask again: a node that is added meanwhile is of no use to
// it until the victim has ended.
func heldBackTooLong(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "1100m").Build())
	w.Create(objects.Pod("victim").Node("n1").Requests("cpu", "900m").Build())
	w.Create(objects.Pod("other").Node("n1").Priority(1000).Requests("cpu", "100m").Build())
	w.Slow("delete", "victim", time.Second)
	w.Graceful("victim")
	start()
	w.Create(preemptor("950m"))
	w.Delete("other")
	w.After(10 * time.Second)
	w.Waits("preemptor")
	w.Create(objects.Node("n2").Capacity("cpu", "1").Build())
	return w.Bound("preemptor")
}
