// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// change is something that a user, a controller or another scheduler may do.
type change struct {
	name string
	// times is how often it can happen; zero means once.
	times    int
	possible func(w *world) bool
	do       func(w *world)
	// scenario is the step of a scenario that does it, in YAML; empty if there is none.
	scenario string
}

func create(pod *v1.Pod) change {
	return change{
		name: "create pod " + pod.Name, scenario: "create: " + manifest(pod),
		possible: func(w *world) bool { return w.pods[pod.Name] == nil },
		do:       func(w *world) { w.createPod(pod) },
	}
}

func remove(name string) change {
	return change{
		name: "delete pod " + name, scenario: fmt.Sprintf("delete: {apiVersion: v1, kind: Pod, metadata: {name: %s}}", name),
		possible: func(w *world) bool { return w.pods[name] != nil && w.pods[name].DeletionTimestamp == nil },
		do:       func(w *world) { w.deletePod(name) },
	}
}

// recreate has a pod without a node replaced by another of its name.
func recreate(pod *v1.Pod) change {
	return change{
		name:     "delete pod " + pod.Name + " and create another of its name",
		possible: func(w *world) bool { return w.pods[pod.Name] != nil && w.pods[pod.Name].Spec.NodeName == "" },
		do: func(w *world) {
			w.setPod(pod.Name, nil)
			w.createPod(pod)
		},
		scenario: fmt.Sprintf("delete: {apiVersion: v1, kind: Pod, metadata: {name: %s}}\n  - create: %s", pod.Name, manifest(pod)),
	}
}

// changePod is an update of a pod without a node.
func changePod(name, what, patch string, update func(pod *v1.Pod)) change {
	return change{
		name: what + " of pod " + name, scenario: patchOf("Pod", name, patch),
		possible: func(w *world) bool { return w.pods[name] != nil && w.pods[name].Spec.NodeName == "" },
		do: func(w *world) {
			pod := w.pods[name].DeepCopy()
			update(pod)
			w.setPod(name, pod)
		},
	}
}

func ungate(name string) change {
	return changePod(name, "removal of the gate", "spec: {schedulingGates: null}", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
}

// shrink lowers the request of a pod, whether it has a node or not.
func shrink(name, quantity string) change {
	c := changePod(name, "request "+quantity, fmt.Sprintf("spec: {containers: [{name: main, resources: {requests: {cpu: %q}}}]}", quantity),
		func(pod *v1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(quantity)}
		})
	c.possible = func(w *world) bool { return w.pods[name] != nil }
	return c
}

func annotate(name string) change {
	return changePod(name, "annotation", "metadata: {annotations: {note: x}}", func(pod *v1.Pod) { pod.Annotations = map[string]string{"note": "x"} })
}

func relabel(name string) change {
	return changePod(name, "removal of the labels", "metadata: {labels: null}", func(pod *v1.Pod) { pod.Labels = nil })
}

// bindElsewhere has another scheduler bind a pod.
func bindElsewhere(name, node string) change {
	c := changePod(name, "binding to "+node+" by another scheduler", "", func(pod *v1.Pod) { pod.Spec.NodeName = node })
	c.scenario = ""
	return c
}

// changeNode is an update of a node that does not have it yet.
func changeNode(name, what, patch string, has func(node *v1.Node) bool, update func(node *v1.Node)) change {
	return change{
		name: what + " of node " + name, scenario: patchOf("Node", name, patch),
		possible: func(w *world) bool { return w.nodes[name] != nil && !has(w.nodes[name]) },
		do: func(w *world) {
			node := w.nodes[name].DeepCopy()
			update(node)
			w.setNode(name, node)
		},
	}
}

func cordoned(node *v1.Node) bool { return node.Spec.Unschedulable }

func cordon(name string) change {
	return changeNode(name, "cordon", "spec: {unschedulable: true}", cordoned, func(node *v1.Node) { node.Spec.Unschedulable = true })
}

func uncordon(name string) change {
	return changeNode(name, "uncordon", "spec: {unschedulable: false}", func(node *v1.Node) bool { return !cordoned(node) },
		func(node *v1.Node) { node.Spec.Unschedulable = false })
}

func resize(name, quantity string) change {
	size := resource.MustParse(quantity)
	return changeNode(name, "allocatable "+quantity, fmt.Sprintf("status: {allocatable: {cpu: %q}}", quantity),
		func(node *v1.Node) bool { return node.Status.Allocatable.Cpu().Cmp(size) == 0 },
		func(node *v1.Node) { node.Status.Allocatable[v1.ResourceCPU] = size })
}

func labelNode(name, key string) change {
	return changeNode(name, "label "+key, fmt.Sprintf("metadata: {labels: {%s: x}}", key),
		func(node *v1.Node) bool { return node.Labels[key] != "" },
		func(node *v1.Node) { node.Labels[key] = "x" })
}

func addNode(node *v1.Node) change {
	return change{
		name: "create node " + node.Name, scenario: "create: " + manifest(node),
		possible: func(w *world) bool { return w.nodes[node.Name] == nil },
		do:       func(w *world) { w.setNode(node.Name, node) },
	}
}

func removeNode(name string) change {
	return change{
		name: "delete node " + name, scenario: fmt.Sprintf("delete: {apiVersion: v1, kind: Node, metadata: {name: %s}}", name),
		possible: func(w *world) bool { return w.nodes[name] != nil },
		do:       func(w *world) { w.setNode(name, nil) },
	}
}

// relist breaks the watch of pods.
func relist() change {
	return change{
		name:     "the watch of pods breaks, and they are listed again",
		possible: func(w *world) bool { return len(w.podKind.pending) > 0 },
		do:       func(w *world) { w.podKind.relist() },
	}
}

// reject has a Permit plugin turn down whatever pod of a name waits for it.
func reject(name string) change {
	waiting := func(w *world) types.UID {
		for uid, a := range w.attempts {
			if a.permit && !a.answered && len(uid) > len(name) && string(uid[:len(name)]) == name && w.waitingPod(uid) != nil {
				return uid
			}
		}
		return ""
	}
	return change{
		name:     "pod " + name + " is refused permission",
		possible: func(w *world) bool { return waiting(w) != "" },
		do: func(w *world) {
			uid := waiting(w)
			w.attempts[uid].answered = true
			w.waitingPod(uid).Reject("Checker", "refused")
		},
	}
}

// again lets a change happen several times.
func again(times int, c change) change {
	c.times = times
	return c
}

// Objects of instances.

const apartLabel = "apart"

func pod(name, request string, priority int32) objects.PodBuilder {
	return objects.Pod(name).Container("main", "cpu", request).Priority(priority)
}

func bound(name, request string, priority int32, node string) *v1.Pod {
	return pod(name, request, priority).Node(node).Build()
}

func computer(name, size string) objects.NodeBuilder {
	return objects.Node(name).Capacity("cpu", size, "pods", "110").Label("kubernetes.io/hostname", name)
}
