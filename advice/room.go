// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
)

// amounts are how much of each resource, in its smallest unit.
type amounts map[v1.ResourceName]int64

// quantity returns an amount of a resource.
func quantity(name v1.ResourceName, amount int64) resource.Quantity {
	switch {
	case name == v1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, framework.IsHugePageResourceName(name):
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

func (a amounts) quantities() map[string]string {
	texts := map[string]string{}
	for name, amount := range a {
		q := quantity(name, amount)
		texts[string(name)] = q.String()
	}
	return texts
}

// String is the text of the amounts, such as "1.5 cpu and 2Gi memory".
func (a amounts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		parts = append(parts, inspect.Amount(string(name), a[name])+" "+string(name))
	}
	return strings.Join(parts, " and ")
}

// with returns the amounts with another one of a resource.
func (a amounts) with(name v1.ResourceName, amount int64) amounts {
	other := maps.Clone(a)
	if other[name] = amount; amount <= 0 {
		delete(other, name)
	}
	return other
}

// room frees what the pod lacks on a node. Where all pods together do not use as much, the pod has to ask for less.
func (v *view) room(node *v1.Node, reasons []string) []fix {
	offered := framework.NewResource(node.Status.Allocatable)
	asked := framework.NewResource(podresource.PodRequests(v.pod, podresource.PodResourcesOptions{}))
	here := framework.NewNodeInfo(v.on[node.Name]...)
	kept := framework.NewNodeInfo(slices.DeleteFunc(slices.Clone(v.nominated[node.Name]), func(other *v1.Pod) bool {
		return corev1helpers.PodPriority(other) < corev1helpers.PodPriority(v.pod)
	})...)
	free, lower := amounts{}, amounts{}
	for _, reason := range reasons {
		if reason == noderesourcesfit.ReasonTooManyPods {
			free[v1.ResourcePods] = int64(len(here.GetPods()) + len(kept.GetPods()) + 1 - offered.AllowedPodNumber)
			continue
		}
		text, insufficient := strings.CutPrefix(reason, "Insufficient ")
		if !insufficient {
			continue
		}
		name := v1.ResourceName(text)
		used, reserved := framework.AmountOf(here.GetRequested(), name), framework.AmountOf(kept.GetRequested(), name)
		lacking := framework.AmountOf(asked, name) + used + reserved - framework.AmountOf(offered, name)
		switch {
		case lacking <= 0:
		case lacking <= used:
			free[name] = lacking
		default:
			lower[name] = lacking
		}
	}
	var changes fix
	if len(free) > 0 {
		changes = append(changes, v.free(node, free))
	}
	for name, amount := range lower {
		if amount >= framework.AmountOf(asked, name) {
			return nil // nothing would be left to ask for
		}
	}
	if len(lower) > 0 {
		changes = append(changes, v.lowerRequests(lower, asked))
	}
	return []fix{changes}
}

// free frees amounts on a node. A fork has so much more of them instead, which is the same for every plugin that counts them.
func (v *view) free(node *v1.Node, needed amounts) *change {
	made := ofNode(inspect.ChangeFree, node.Name, "", "", fmt.Sprintf("free %v on %s", needed, node.Name))
	made.Amounts = needed.quantities()
	return &change{
		Change: made,
		needed: needed,
		rank:   rankOfRoom,
		apply: editNode(node.Name, func(node *v1.Node) {
			for name, amount := range needed {
				for _, list := range []*v1.ResourceList{&node.Status.Allocatable, &node.Status.Capacity} {
					more := (*list)[name]
					more.Add(quantity(name, amount))
					setAmount(list, name, more)
				}
			}
		}),
		resized: func(other amounts) *change { return v.free(node, other) },
	}
}

func setAmount(list *v1.ResourceList, name v1.ResourceName, amount resource.Quantity) {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[name] = amount
}

// lowerRequests has the pod ask for so much less. That takes a new pod.
func (v *view) lowerRequests(by amounts, asked *framework.Resource) *change {
	left := amounts{}
	for name, amount := range by {
		left[name] = max(framework.AmountOf(asked, name)-amount, 0)
	}
	made := ofPod(inspect.ChangeLowerRequest, v.pod, "", "", fmt.Sprintf("have the pod ask for at most %v", left))
	made.Amounts = left.quantities()
	return &change{
		Change: made,
		rank:   rankOfRequest,
		apply: editPod(v.pod, func(pod *v1.Pod) {
			for name, amount := range by {
				lowerRequest(pod, name, amount)
			}
		}),
		needed:  by,
		resized: func(other amounts) *change { return v.lowerRequests(other, asked) },
	}
}

// lowerRequest takes an amount away from the requests of the containers, the first ones first.
func lowerRequest(pod *v1.Pod, name v1.ResourceName, amount int64) {
	take := func(list v1.ResourceList) {
		has := framework.AmountOf(framework.NewResource(list), name)
		if taken := min(has, amount); taken > 0 {
			list[name] = quantity(name, has-taken)
			amount -= taken
		}
	}
	if pod.Spec.Resources != nil {
		take(pod.Spec.Resources.Requests)
		return
	}
	for i := range pod.Spec.Containers {
		resources := &pod.Spec.Containers[i].Resources
		take(resources.Requests)
		if limit, has := resources.Limits[name]; has && framework.IsExtendedResourceName(name) && limit.Cmp(resources.Requests[name]) > 0 {
			resources.Limits[name] = resources.Requests[name]
		}
	}
}

// podsToFree returns pods of a node whose end frees what a change frees: the smallest one that does, or else several large ones. It
// returns none if all do not.
func (v *view) podsToFree(node string, needed amounts) []*v1.Pod {
	frees := func(pods []*v1.Pod) bool {
		info := framework.NewNodeInfo(pods...)
		for name, amount := range needed {
			freed := framework.AmountOf(info.GetRequested(), name)
			if name == v1.ResourcePods {
				freed = int64(len(pods))
			}
			if freed < amount {
				return false
			}
		}
		return true
	}
	all := v.on[node]
	for _, pod := range all {
		if frees([]*v1.Pod{pod}) {
			return []*v1.Pod{pod}
		}
	}
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b *v1.Pod) int {
		for _, name := range slices.Sorted(maps.Keys(needed)) {
			size := func(pod *v1.Pod) int64 { return framework.AmountOf(framework.NewNodeInfo(pod).GetRequested(), name) }
			if order := cmp.Compare(size(b), size(a)); order != 0 {
				return order
			}
		}
		return 0
	})
	for n := 2; n <= min(len(bySize), maxExamplePods); n++ {
		if frees(bySize[:n]) {
			return bySize[:n]
		}
	}
	return nil
}

// maxExamplePods is how many pods are named at most as an example of what to end.
const maxExamplePods = 5
