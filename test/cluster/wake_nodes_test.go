// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// nodeWakes are pods that a node does not suit, and pods that ask for too much.
func nodeWakes() []wake {
	return slices.Concat(gateWakes(), nodeFilterWakes(), resourceWakes())
}

func gateWakes() []wake {
	return []wake{{
		name:   "SchedulingGates gate removed",
		before: func(c *corner) { c.node("n1") },
		pod:    func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}} },
		reason: "gate",
		change: func(c *corner) { c.changePod("pod", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil }) },
	}, {
		name:   "DefaultPreemption victim gone",
		before: func(c *corner) { c.node("n1"); c.podOn("n1", "victim", asking("4"), protected) },
		pod:    func(pod *v1.Pod) { pod.Spec.PriorityClassName = "system-node-critical" },
		reason: "preemption",
		change: func(c *corner) {
			// The scheduler has asked for the victim's end; the finalizer has kept it until now.
			c.changePod("victim", func(pod *v1.Pod) { pod.Finalizers = nil })
		},
	}}
}

func nodeFilterWakes() []wake {
	suits := func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	ssd := func(node *v1.Node) { node.Labels["disk"] = "ssd" }
	hdd := func(node *v1.Node) { node.Labels["disk"] = "hdd" }
	cordoned := func(node *v1.Node) { node.Spec.Unschedulable = true }
	tainted := func(node *v1.Node) {
		node.Spec.Taints = []v1.Taint{{Key: "broken", Value: "yes", Effect: v1.TaintEffectNoSchedule}}
	}
	tolerate := func(key string) func(*corner) {
		return func(c *corner) {
			c.changePod("pod", func(pod *v1.Pod) {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists})
			})
		}
	}
	restarts := func(pod *v1.Pod) {
		never := v1.ContainerRestartPolicyNever
		pod.Spec.Containers[0].RestartPolicy = &never
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action:    v1.ContainerRestartRuleActionRestartAllContainers,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
	}
	return []wake{
		{"NodeAffinity node added", func(c *corner) { c.node("n1", hdd) }, suits, "affinity/selector",
			func(c *corner) { c.node("n2", ssd) }},
		{"NodeAffinity label changed", func(c *corner) { c.node("n1", hdd) }, suits, "affinity/selector",
			func(c *corner) { c.changeNode("n1", ssd) }},
		{"NodeUnschedulable uncordoned", func(c *corner) { c.node("n1", cordoned) }, nil, "unschedulable",
			func(c *corner) { c.changeNode("n1", func(node *v1.Node) { node.Spec.Unschedulable = false }) }},
		{"NodeUnschedulable toleration added", func(c *corner) { c.node("n1", cordoned) }, nil, "unschedulable",
			tolerate(v1.TaintNodeUnschedulable)},
		{"TaintToleration taint removed", func(c *corner) { c.node("n1", tainted) }, nil, "untolerated taint",
			func(c *corner) { c.changeNode("n1", func(node *v1.Node) { node.Spec.Taints = nil }) }},
		{"TaintToleration toleration added", func(c *corner) { c.node("n1", tainted) }, nil, "untolerated taint",
			tolerate("broken")},
		{"NodeDeclaredFeatures feature declared", func(c *corner) { c.node("n1") }, restarts, "required features",
			func(c *corner) {
				c.changeNode("n1", func(node *v1.Node) {
					node.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"}
				})
			}},
	}
}

func resourceWakes() []wake {
	full := func(c *corner) { c.node("n1"); c.podOn("n1", "other", asking("3500m")) }
	port := func(pod *v1.Pod) {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	}
	deleteOther := func(c *corner) { c.deletePod("other") }
	return []wake{
		{"NodeResourcesFit first node added", nil, nil, "no nodes available", func(c *corner) { c.node("n1") }},
		{"NodeResourcesFit node added", full, nil, "Insufficient cpu", func(c *corner) { c.node("n2") }},
		{"NodeResourcesFit node grown", full, nil, "Insufficient cpu", func(c *corner) {
			c.changeNode("n1", func(node *v1.Node) { node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("8") })
		}},
		{"NodeResourcesFit pod deleted", full, nil, "Insufficient cpu", deleteOther},
		{"NodeResourcesFit other pod resized", full, nil, "Insufficient cpu", func(c *corner) { c.resizePod("other", "1") }},
		{"NodeResourcesFit too many pods", func(c *corner) {
			c.node("n1", func(node *v1.Node) { node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("1") })
			c.podOn("n1", "other")
		}, nil, "Too many pods", deleteOther},
		{"NodePorts pod deleted", func(c *corner) { c.node("n1"); c.podOn("n1", "other", port) }, port, "free ports", deleteOther},
	}
}

// asking makes a pod ask for so much CPU.
func asking(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(cpu)
	}
}

// protected keeps a deleted pod until someone takes the finalizer away, as a kubelet does that takes its time.
func protected(pod *v1.Pod) { pod.Finalizers = []string{"example.com/slow"} }
