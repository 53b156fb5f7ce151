// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/volumerestrictions"
)

const (
	// maxEnded is how many pods are considered at most of those whose end may remove a blocker.
	maxEnded = 24
	// maxAlternatives is how many values of a label are tried.
	maxAlternatives = 4
)

// end ends a pod, with what its controllers do then: devices that only it uses are free again.
func (v *view) end(pod *v1.Pod) *change {
	text := fmt.Sprintf("end pod %s/%s", pod.Namespace, pod.Name)
	rank := rankOfEnd
	switch {
	case pod.DeletionTimestamp != nil:
		text, rank = fmt.Sprintf("wait until pod %s/%s on %s, which is being deleted, has ended", pod.Namespace, pod.Name, pod.Spec.NodeName), rankOfPod
	case pod.Spec.NodeName == "":
		text += fmt.Sprintf(", which waits for node %s", pod.Status.NominatedNodeName)
	default:
		text += " on " + pod.Spec.NodeName
	}
	return &change{
		Change: ofPod(inspect.ChangeEndPod, pod, "", "", text),
		rank:   rank,
		apply: func(t target) error {
			if err := t.Remove(pod); err != nil {
				return err
			}
			for _, status := range pod.Status.ResourceClaimStatuses {
				if err := release(t, pod, status.ResourceClaimName); err != nil {
					return err
				}
			}
			for i := range pod.Spec.ResourceClaims {
				if err := release(t, pod, pod.Spec.ResourceClaims[i].ResourceClaimName); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// release takes the reservation of a claim away from a pod that has ended, and the devices if it was the only one.
func release(t target, pod *v1.Pod, name *string) error {
	if name == nil {
		return nil
	}
	claim, found := t.Get(&resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: *name}}).(*resourceapi.ResourceClaim)
	if !found {
		return nil
	}
	return edit(claim, func(claim *resourceapi.ResourceClaim) {
		claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(c resourceapi.ResourceClaimConsumerReference) bool { return c.UID == pod.UID })
		if len(claim.Status.ReservedFor) == 0 {
			claim.Status.Allocation, claim.Status.Devices = nil, nil
		}
	})(t)
}

// endAll ends all of some pods, or as many as are considered.
func (v *view) endAll(pods []*v1.Pod) []fix {
	var changes fix
	for _, pod := range pods[:min(len(pods), maxEnded)] {
		changes = append(changes, v.end(pod))
	}
	return []fix{changes}
}

// clear ends the pods of a node, and those that wait for it. Which of them conflict with the pod is left to the plugins.
func (v *view) clear(node *v1.Node, _ []string) []fix {
	return v.endAll(append(slices.Clone(v.on[node.Name]), v.nominated[node.Name]...))
}

// volumeConflict ends pods that use what only one pod may use.
func (v *view) volumeConflict(node *v1.Node, reasons []string) []fix {
	if !slices.Contains(reasons, volumerestrictions.ReasonClaimInUse) {
		return v.clear(node, reasons)
	}
	var users []*v1.Pod
	for _, node := range v.nodes {
		for _, pod := range v.on[node.Name] {
			if pod.Namespace == v.pod.Namespace && sharesClaim(pod, v.pod) {
				users = append(users, pod)
			}
		}
	}
	return v.endAll(users)
}

func sharesClaim(a, b *v1.Pod) bool {
	names := claimNames(b)
	return slices.ContainsFunc(claimNames(a), func(name string) bool { return slices.Contains(names, name) })
}

// claimNames returns the names of the claims of a pod.
func claimNames(pod *v1.Pod) (names []string) {
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			names = append(names, pod.Name+"-"+volume.Name)
		}
	}
	return names
}

// spread gives a node the labels by which pods are spread, or ends pods in its domains.
func (v *view) spread(node *v1.Node, _ []string) []fix {
	fixes := []fix{nil}
	for i := range v.pod.Spec.TopologySpreadConstraints {
		constraint := &v.pod.Spec.TopologySpreadConstraints[i]
		if constraint.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		key := constraint.TopologyKey
		domain, has := node.Labels[key]
		if !has {
			fixes = v.andLabel(fixes, node, key, append(v.domains(key), "new"))
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
		if err != nil {
			return nil
		}
		var matching []*v1.Pod
		for _, pod := range v.domain(key, domain) {
			if pod.Namespace == v.pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
				matching = append(matching, pod)
			}
		}
		for i := range fixes {
			fixes[i] = append(fixes[i], v.endAll(matching)[0]...)
		}
	}
	return fixes
}

// andLabel adds to each of the fixes a label with one of the values.
func (v *view) andLabel(fixes []fix, node *v1.Node, key string, values []string) []fix {
	var all []fix
	for _, before := range fixes {
		for _, value := range values {
			label := labelChanges{node: node}
			label.set(key, value)
			all = append(all, append(slices.Clone(before), label.changes...))
		}
	}
	return all
}

// affinity brings pods that are to be near together, and ends those that are not to be.
func (v *view) affinity(node *v1.Node, reasons []string) []fix {
	parsed, err := framework.NewPodInfo(v.pod)
	if err != nil {
		return nil
	}
	switch {
	case slices.Contains(reasons, interpodaffinity.ReasonAffinity):
		return v.bringTogether(node, parsed.GetRequiredAffinityTerms())
	case slices.Contains(reasons, interpodaffinity.ReasonAntiAffinity):
		var conflicting []*v1.Pod
		for _, term := range parsed.GetRequiredAntiAffinityTerms() {
			if value, has := node.Labels[term.TopologyKey]; has {
				conflicting = append(conflicting, v.matchingIn(&term, value)...)
			}
		}
		return v.endAll(conflicting)
	case slices.Contains(reasons, interpodaffinity.ReasonExistingAntiAffinity):
		return v.endAll(v.repelling(node))
	}
	return nil
}

// matchingIn returns the pods in a domain that match a term.
func (v *view) matchingIn(term *fwk.AffinityTerm, value string) []*v1.Pod {
	return slices.DeleteFunc(v.domain(term.TopologyKey, value), func(pod *v1.Pod) bool {
		return !term.Matches(pod, v.namespaceLabels(pod.Namespace))
	})
}

// repelling returns the pods with anti-affinity to the pod in a domain of the node.
func (v *view) repelling(node *v1.Node) []*v1.Pod {
	var found []*v1.Pod
	for _, of := range v.nodes {
		for _, pod := range v.on[of.Name] {
			if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
				continue
			}
			parsed, err := framework.NewPodInfo(pod)
			if err != nil {
				continue
			}
			for _, term := range parsed.GetRequiredAntiAffinityTerms() {
				theirs, have := of.Labels[term.TopologyKey]
				ours, has := node.Labels[term.TopologyKey]
				if have && has && ours == theirs && term.Matches(v.pod, v.namespaceLabels(v.pod.Namespace)) {
					found = append(found, pod)
					break
				}
			}
		}
	}
	return found
}

// bringTogether starts a pod that the terms ask for on a node, or gives the node, or that of such a pod, the label of a common
// domain.
func (v *view) bringTogether(node *v1.Node, terms []fwk.AffinityTerm) []fix {
	var lacking, started, moved fix
	fixes := []fix{nil}
	for i := range terms {
		key := terms[i].TopologyKey
		here, has := node.Labels[key]
		if !has {
			fixes = v.andLabel(fixes, node, key, append(v.domains(key), "new"))
		}
		for _, other := range v.nodes {
			if _, labelled := other.Labels[key]; labelled || !has || !v.hasMatching(&terms[i], other) {
				continue
			}
			label := labelChanges{node: other}
			label.set(key, here)
			moved = append(moved, label.changes...)
			break
		}
	}
	started = append(started, v.startMatching(node)...)
	lacking = append(lacking, fixes[0]...)
	alternatives := slices.Clone(fixes)
	for _, labelled := range fixes {
		alternatives = append(alternatives, append(slices.Clone(labelled), started...))
	}
	return append(alternatives, append(lacking, moved...))
}

func (v *view) hasMatching(term *fwk.AffinityTerm, node *v1.Node) bool {
	return slices.ContainsFunc(v.on[node.Name], func(pod *v1.Pod) bool { return term.Matches(pod, v.namespaceLabels(pod.Namespace)) })
}

// startMatching starts one pod on a node that matches all affinity terms of the pod, if one can.
func (v *view) startMatching(node *v1.Node) fix {
	if v.pod.Spec.Affinity == nil || v.pod.Spec.Affinity.PodAffinity == nil { // the profile asks for it
		return nil
	}
	set, namespace := labels.Set{}, v.pod.Namespace
	for _, term := range v.pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if len(term.Namespaces) > 0 && !slices.Contains(term.Namespaces, namespace) {
			namespace = term.Namespaces[0]
		}
		if term.LabelSelector == nil {
			continue
		}
		for key, value := range term.LabelSelector.MatchLabels {
			set[key] = value
		}
		for _, expression := range term.LabelSelector.MatchExpressions {
			switch {
			case expression.Operator == metav1.LabelSelectorOpIn && len(expression.Values) > 0:
				set[expression.Key] = expression.Values[0]
			case expression.Operator == metav1.LabelSelectorOpExists:
				set[expression.Key] = "true"
			}
		}
		for _, key := range term.MatchLabelKeys {
			if value, has := v.pod.Labels[key]; has {
				set[key] = value
			}
		}
	}
	if len(set) == 0 {
		return nil
	}
	name := "started-for-" + v.pod.Name
	made := inspect.Change{
		Action: inspect.ChangeStartPod, Kind: "Pod", Namespace: namespace, Name: name, Key: set.String(), Value: node.Name,
		Text: fmt.Sprintf("start a pod with %s in namespace %s on %s", strings.ReplaceAll(set.String(), ",", " and "), namespace, node.Name),
	}
	return fix{{
		Change: made,
		rank:   rankOfStart,
		apply: func(t target) error {
			return t.Add(&v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(set)},
				Spec:       v1.PodSpec{NodeName: node.Name, Containers: []v1.Container{{Name: "pause", Image: "registry.k8s.io/pause"}}},
			})
		},
	}}
}
