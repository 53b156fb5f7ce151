// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// one is a node that is a domain of its own.
func one(name string) *v1.Node {
	return objects.Node(name).Label(v1.LabelHostname, name).Capacity("cpu", "4").Build()
}

// antiAffinityOfSeveralTerms is kubernetes/kubernetes#139161. A pod that one of the two terms of a waiting pod keeps it away
// from is deleted.
func antiAffinityOfSeveralTerms(w *World, start func()) error {
	w.Create(one("n1"), objects.Pod("other").Node("n1").Label("app", "a").Build())
	start()
	w.Create(objects.Pod("waiting").PodAntiAffinity(v1.LabelHostname, "app=a").PodAntiAffinity(v1.LabelHostname, "app=b").Build())
	w.Waits("waiting")
	w.Delete("other")
	return w.Bound("waiting")
}

// antiAffinityOfADeletedPod is kubernetes/kubernetes#134393. A pod that keeps the waiting pod away from itself is deleted.
func antiAffinityOfADeletedPod(w *World, start func()) error {
	w.Create(one("n1"), objects.Pod("other").Node("n1").PodAntiAffinity(v1.LabelHostname, "app=a").Build())
	start()
	w.Create(objects.Pod("waiting").Label("app", "a").Build())
	w.Waits("waiting")
	w.Delete("other")
	return w.Bound("waiting")
}

// ownLabels is kubernetes/kubernetes#135394. The labels of the waiting pod change, so that another pod no longer keeps it away.
func ownLabels(w *World, start func()) error {
	w.Create(one("n1"), objects.Pod("other").Node("n1").PodAntiAffinity(v1.LabelHostname, "app=a").Build())
	start()
	w.Create(objects.Pod("waiting").Label("app", "a").Build())
	w.Waits("waiting")
	w.Update("waiting", func(pod *v1.Pod) { pod.Labels["app"] = "b" })
	return w.Bound("waiting")
}

// firstOfItsKind is kubernetes/kubernetes#141354. A pod wants to be near pods like itself, of which there is one, on a node that
// takes no more pods. When that is deleted the pod may go anywhere.
func firstOfItsKind(w *World, start func()) error {
	cordoned := one("n1")
	cordoned.Spec.Unschedulable = true
	w.Create(cordoned, one("n2"), objects.Pod("other").Node("n1").Label("app", "a").Build())
	start()
	w.Create(objects.Pod("waiting").Label("app", "a").PodAffinity(v1.LabelHostname, "app=a").Build())
	w.Waits("waiting")
	w.Delete("other")
	return w.Bound("waiting")
}

// namespacesByLabel is kubernetes/kubernetes#141953. A term selects namespaces by label, and a pod that meets it appears in one.
func namespacesByLabel(w *World, start func()) error {
	w.Create(one("n1"), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"team": "a"}}})
	start()
	w.Create(objects.Pod("waiting").PodAffinity(v1.LabelHostname, "app=a").With(func(pod *v1.Pod) {
		term := &pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	}).Build())
	w.Waits("waiting")
	w.Create(objects.Pod("other").Namespace("team").Node("n1").Label("app", "a").Build())
	return w.Bound("waiting")
}

// narrowing is kubernetes/kubernetes#138916. Two plugins wait for changes of the labels of nodes, each rejected a pod. One
// narrows the event to its pod, and the queue must not leave out that of the other one for that.
func narrowing(w *World, start func()) error {
	closed := NewLatch()
	rejects := func(name string, narrow fwk.PreQueueingHintFn) {
		w.With(&Plugin{
			PluginName: "Rejects-" + name,
			OnFilter: func(pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
				select {
				case <-closed.open:
				default:
					if pod.Name == name {
						return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not yet")
					}
				}
				return nil
			},
			Events: []fwk.ClusterEventWithHint{{
				Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}, PreQueueingHintFn: narrow,
			}},
		})
	}
	rejects("named", func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return fwk.PreQueueingHintResult{Pods: []types.NamespacedName{{Namespace: metav1.NamespaceDefault, Name: "named"}}}, nil
	})
	rejects("unnamed", nil)
	w.Create(one("n1"))
	start()
	w.Create(objects.Pod("named").Build(), objects.Pod("unnamed").Build())
	w.Waits("named", "unnamed")
	closed.Open()
	w.UpdateNode("n1", func(node *v1.Node) { node.Labels["ready"] = "yes" })
	if err := w.Bound("named"); err != nil {
		return err
	}
	return w.Bound("unnamed")
}

// claimDeallocationMissed is kubernetes/kubernetes#140831. The claim that has the only device is deallocated and deleted while
// the watch of claims is broken: all that there is to see is that a claim is gone that had a device when it was seen last.
func claimDeallocationMissed(w *World, start func()) error {
	claim := func(name string) *resourceapi.ResourceClaim {
		return objects.ResourceClaim(name).Request("gpu", "gpu", 1).Build()
	}
	taken := claim("taken")
	taken.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
		Results: []resourceapi.DeviceRequestAllocationResult{{Request: "gpu", Driver: "example.com", Pool: "n1", Device: "gpu-0"}},
	}}
	w.Create(one("n1"), objects.DeviceClass("gpu"), objects.ResourceSlice("example.com", "n1", "gpu-0"), taken, claim("wanted"))
	start()
	w.Create(objects.Pod("waiting").ResourceClaim("wanted").Build())
	w.Waits("waiting")
	w.Hold("resourceclaims")
	if err := w.fake.Tracker().Delete(resourceOf(taken), taken.Namespace, taken.Name); err != nil {
		w.t.Fatal(err)
	}
	w.Relist("resourceclaims")
	return w.Bound("waiting")
}
