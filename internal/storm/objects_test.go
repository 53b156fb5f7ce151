// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	finalizer  = "example.com/archive"
	quotaGate  = "example.com/quota"
	flapping   = "node.kubernetes.io/not-ready"
	dedicated  = "dedicated"
	budgetName = "budget"
)

func podName(i int) string  { return fmt.Sprint("p", i) }
func nodeName(i int) string { return fmt.Sprint("n", i) }

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}
}

// oneIn is true once in so many cases.
func (w *world) oneIn(n int) bool { return w.dice.IntN(n) == 0 }

func (w *world) one(of ...string) string { return of[w.dice.IntN(len(of))] }

func (w *world) uid(name string) types.UID {
	w.created++
	return types.UID(fmt.Sprintf("%s-%d", name, w.created))
}

// makeNode returns a node, the same shape for the same number in strict histories, as no other client makes nodes smaller there.
func (w *world) makeNode(i int) *v1.Node {
	cpu := w.one("2", "4", "4", "8")
	if w.strict {
		cpu = "4"
	}
	name := nodeName(i)
	node := objects.Node(name).UID(w.uid(name)).Capacity("cpu", cpu, "memory", "16Gi", "pods", "6").
		Label(v1.LabelHostname, name).Label(v1.LabelTopologyZone, fmt.Sprint("z", i%2))
	if w.oneIn(3) {
		node = node.Label(wants, w.one("x", "y"))
	}
	if w.oneIn(8) {
		node = node.Taint(dedicated, "", v1.TaintEffectNoSchedule)
	}
	return node.Build()
}

// makePod returns a pod that asks for something or other.
func (w *world) makePod(name string) *v1.Pod {
	pod := objects.Pod(name).UID(w.uid(name)).Label("app", w.one("a", "b", "c")).SchedulerName(v1.DefaultSchedulerName).
		Requests("cpu", w.one("250m", "500m", "1", "1", "2", "3")).Priority(int32(w.dice.IntN(4) * 10))
	if w.oneIn(10) {
		pod = pod.PreemptionPolicy(v1.PreemptNever)
	}
	if w.oneIn(8) {
		pod = pod.Label(wants, w.one("x", "y"))
	}
	if w.oneIn(10) {
		pod = pod.Label(held, "yes")
	}
	if w.oneIn(8) {
		pod = pod.Label(gang, "g")
	}
	if w.oneIn(10) {
		pod = pod.SchedulingGate(quotaGate)
	}
	if w.oneIn(4) {
		pod = pod.Toleration(v1.Toleration{Operator: v1.TolerationOpExists})
	}
	if w.oneIn(10) {
		pod = pod.HostPort(8080)
	}
	if w.oneIn(10) {
		pod = pod.NodeSelector(v1.LabelTopologyZone, w.one("z0", "z1"))
	}
	key, selector := w.one(v1.LabelHostname, v1.LabelTopologyZone), "app="+w.one("a", "b", "c")
	switch w.dice.IntN(12) {
	case 0:
		pod = pod.PodAffinity(key, selector)
	case 1:
		pod = pod.PodAntiAffinity(key, selector)
	case 2:
		pod = pod.PodAntiAffinity(v1.LabelHostname, selector).PodAntiAffinity(v1.LabelTopologyZone, "app="+w.one("a", "b", "c"))
	case 3:
		pod = pod.SpreadConstraint(1, key, v1.DoNotSchedule, selector)
	}
	built := pod.Build()
	if w.oneIn(8) {
		built.Finalizers = []string{finalizer}
	}
	built.CreationTimestamp = metav1.NewTime(w.clock.Now())
	return built
}

// changedPod returns a pod with something about it changed.
func (w *world) changedPod(pod *v1.Pod) *v1.Pod {
	changed := pod.DeepCopy()
	waits := pod.Spec.NodeName == ""
	switch w.dice.IntN(6) {
	case 0:
		changed.Labels["app"] = w.one("a", "b", "c")
	case 1:
		toggle(changed.Labels, wants, w.one("x", "y"))
	case 2:
		toggle(changed.Labels, held, "yes")
	case 3:
		changed.Spec.SchedulingGates = nil
	case 4:
		if waits {
			changed.Spec.Tolerations = append(changed.Spec.Tolerations, v1.Toleration{Key: dedicated, Operator: v1.TolerationOpExists})
		}
	case 5:
		w.resize(changed)
	}
	return changed
}

// resize has a pod ask for less, or in histories that are not strict for more, too.
func (w *world) resize(pod *v1.Pod) {
	requests := pod.Spec.Containers[0].Resources.Requests
	cpu := w.one("250m", "500m", "1", "2")
	if quantity := resource.MustParse(cpu); w.strict && quantity.Cmp(requests[v1.ResourceCPU]) > 0 {
		return
	}
	requests = maps.Clone(requests)
	requests[v1.ResourceCPU] = resource.MustParse(cpu)
	pod.Spec.Containers[0].Resources.Requests = requests
}

func toggle(labels map[string]string, key, value string) {
	if labels[key] != "" {
		delete(labels, key)
	} else {
		labels[key] = value
	}
}

// changedNode returns a node with something about it changed.
func (w *world) changedNode(node *v1.Node) *v1.Node {
	changed := node.DeepCopy()
	switch w.dice.IntN(5) {
	case 0:
		toggle(changed.Labels, wants, w.one("x", "y"))
	case 1:
		changed.Spec.Unschedulable = !changed.Spec.Unschedulable
	case 2:
		toggleTaint(changed, v1.Taint{Key: dedicated, Effect: v1.TaintEffectNoSchedule})
	case 3:
		if w.strict {
			changed.Labels[v1.LabelTopologyZone] = w.one("z0", "z1")
			break
		}
		changed.Status.Allocatable = objects.Resources("cpu", w.one("1", "2", "4", "8"), "memory", "16Gi", "pods", w.one("2", "6"))
	case 4:
		changed.Labels[v1.LabelTopologyZone] = w.one("z0", "z1")
	}
	return changed
}

func toggleTaint(node *v1.Node, taint v1.Taint) {
	for i, old := range node.Spec.Taints {
		if old.Key == taint.Key {
			node.Spec.Taints = append(node.Spec.Taints[:i:i], node.Spec.Taints[i+1:]...)
			return
		}
	}
	node.Spec.Taints = append(node.Spec.Taints, taint)
}

func (w *world) makeBudget() *policyv1.PodDisruptionBudget {
	budget := objects.PodDisruptionBudget(budgetName, "app="+w.one("a", "b"), int32(w.dice.IntN(2)))
	budget.Namespace, budget.UID = "default", w.uid(budgetName)
	budget.Spec.MinAvailable = nil
	budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(budget.Status.DisruptionsAllowed))
	return budget
}
