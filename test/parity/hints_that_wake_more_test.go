// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"
)

// This file knows which hints of Rouse wake pods on purpose that those of kube-scheduler leave asleep;
// docs/differences.md says why. Where it can, it asks kube-scheduler's hint about the same case without what makes the
// difference, so that nothing else gets through.

// wakesMore reports whether Rouse may wake the pod although kube-scheduler's hint leaves it asleep.
func (h hints) wakesMore(c hintCase) bool {
	switch h.plugin.Name() {
	case "NodeAffinity":
		before, now := sidesOf[*v1.Node](c)
		return before != nil && now != nil && violatesAddedAffinity(h.plugin, before) && !violatesAddedAffinity(h.plugin, now)
	case "InterPodAffinity":
		return h.affinityWakesMore(c)
	case "PodTopologySpread":
		before, now := sidesOf[*v1.Node](c)
		return before != nil && now != nil && mayUse(c.pod, before) != mayUse(c.pod, now)
	case "NodeResourcesFit":
		return h.theirsWakes(h.withLessIgnored(c))
	case "VolumeRestrictions":
		deleted, _ := sidesOf[*v1.Pod](c)
		return deleted != nil && deleted.Namespace != c.pod.Namespace && h.theirsWakes(inOneNamespace(c, deleted))
	case "NodeVolumeLimits":
		before, now := sidesOf[*storagev1.CSINode](c)
		detached, _ := sidesOf[*storagev1.VolumeAttachment](c)
		return before != nil && now != nil && limitsFewer(before, now) || detached != nil && h.theirsWakes(withClaimsForEphemeral(c))
	case "VolumeBinding":
		before, now := sidesOf[*storagev1.CSIDriver](c)
		return before != nil && now != nil && tellsCapacity(before) && !tellsCapacity(now)
	}
	return false
}

// theirsWakes reports whether kube-scheduler's hint wakes the pod of another case.
func (h hints) theirsWakes(c hintCase) bool { return h.their(c) == fwk.Queue.String() }

// violatesAddedAffinity reports whether the affinity that a profile adds keeps all pods off a node.
func violatesAddedAffinity(plugin fwk.Plugin, node *v1.Node) bool {
	nodeInfo := upstream.NewNodeInfo()
	nodeInfo.SetNode(node)
	status := plugin.(fwk.FilterPlugin).Filter(context.Background(), upstream.NewCycleState(), &v1.Pod{}, nodeInfo)
	return !status.IsSuccess()
}

// mayUse reports whether a node matches the node selector and the required node affinity of a pod.
func mayUse(pod *v1.Pod, node *v1.Node) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return matches && err == nil
}

// withLessIgnored has the pod ask for no more than one of each resource that the arguments of NodeResourcesFit say to
// ignore, and for none of those that the node does not have, so that they fit.
func (h hints) withLessIgnored(c hintCase) hintCase {
	args, ok := h.args.(*configv1.NodeResourcesFitArgs)
	_, node := sidesOf[*v1.Node](c)
	if !ok || node == nil || len(c.pod.Spec.Containers) == 0 {
		return c
	}
	c.pod = c.pod.DeepCopy()
	one := v1.ResourceList{}
	drop := func(containers []v1.Container) {
		for i := range containers {
			for name, asked := range containers[i].Resources.Requests {
				group, _, _ := strings.Cut(string(name), "/")
				if !slices.Contains(args.IgnoredResources, string(name)) && !slices.Contains(args.IgnoredResourceGroups, group) {
					continue
				}
				delete(containers[i].Resources.Requests, name)
				if offered := node.Status.Allocatable[name]; !asked.IsZero() && !offered.IsZero() {
					one[name] = resource.MustParse("1")
				}
			}
		}
	}
	drop(c.pod.Spec.InitContainers)
	drop(c.pod.Spec.Containers)
	first := &c.pod.Spec.Containers[0].Resources
	maps.Copy(one, first.Requests)
	first.Requests = one
	return c
}

// inOneNamespace has the deleted pod be in the namespace of the waiting one, which names no claims.
func inOneNamespace(c hintCase, deleted *v1.Pod) hintCase {
	moved, pod := deleted.DeepCopy(), c.pod.DeepCopy()
	moved.Namespace = pod.Namespace
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.PersistentVolumeClaim != nil })
	return hintCase{pod: pod, oldObj: moved}
}

// withClaimsForEphemeral has the pod name the claims that are made for its ephemeral volumes.
func withClaimsForEphemeral(c hintCase) hintCase {
	c.pod = c.pod.DeepCopy()
	for i := range c.pod.Spec.Volumes {
		if volume := &c.pod.Spec.Volumes[i]; volume.Ephemeral != nil {
			volume.Ephemeral = nil
			volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: c.pod.Name + "-" + volume.Name}
		}
	}
	return c
}

// limitsFewer reports whether a node loses a limit, or gets a driver that kube-scheduler's hint sees no room in.
func limitsFewer(before, now *storagev1.CSINode) bool {
	had, has := limits(before), limits(now)
	for driver, limit := range had {
		if limit != nil && has[driver] == nil {
			return true
		}
	}
	for driver, limit := range has {
		if _, known := had[driver]; !known && ptr.Deref(limit, 0) == 0 {
			return true
		}
	}
	return false
}

// limits returns the limits of the drivers of a node, nil for those without.
func limits(node *storagev1.CSINode) map[string]*int32 {
	limits := map[string]*int32{}
	for _, driver := range node.Spec.Drivers {
		limits[driver.Name] = nil
		if driver.Allocatable != nil {
			limits[driver.Name] = driver.Allocatable.Count
		}
	}
	return limits
}

func tellsCapacity(driver *storagev1.CSIDriver) bool {
	return driver.Spec.StorageCapacity != nil && *driver.Spec.StorageCapacity
}

// affinityWakesMore is about nodes that are new to pods without terms of their own, or leave a domain, about pods that may
// be the first of their kind, about pods that match another term of anti-affinity than before, and about namespaces that are
// selected by label.
func (h hints) affinityWakesMore(c hintCase) bool {
	affinity, err := fwk.GetAffinityTerms(c.pod, fwk.GetPodAffinityTerms(c.pod.Spec.Affinity))
	antiAffinity, otherErr := fwk.GetAffinityTerms(c.pod, fwk.GetPodAntiAffinityTerms(c.pod.Spec.Affinity))
	if err != nil || otherErr != nil {
		return false
	}
	if before, now := sidesOf[*v1.Node](c); now != nil {
		if before == nil {
			return len(affinity) == 0 && len(antiAffinity) == 0
		}
		return leaves(antiAffinity, before, now) || leaves(affinity, before, now) && h.matchesAll(affinity, c.pod)
	}
	before, now := sidesOf[*v1.Pod](c)
	if before != nil && len(affinity) > 0 && h.matchesAll(affinity, c.pod) && h.matchesAll(affinity, before) &&
		(now == nil || !h.matchesAll(affinity, now)) {
		return true
	}
	if before != nil && now != nil && h.matchesOther(antiAffinity, before, now) {
		return true
	}
	return (before != nil || now != nil) && h.theirsWakes(h.withNamespacesNamed(c))
}

// matchesOther reports whether a pod no longer matches a term, nor another one with the same topology key instead.
func (h hints) matchesOther(terms []fwk.AffinityTerm, before, now *v1.Pod) bool {
	for _, term := range terms {
		left := term.Matches(before, h.namespaces[before.Namespace])
		for _, other := range terms {
			left = left && !(other.TopologyKey == term.TopologyKey && other.Matches(now, h.namespaces[now.Namespace]))
		}
		if left {
			return true
		}
	}
	return false
}

func (h hints) matchesAll(terms []fwk.AffinityTerm, pod *v1.Pod) bool {
	return !slices.ContainsFunc(terms, func(term fwk.AffinityTerm) bool { return !term.Matches(pod, h.namespaces[pod.Namespace]) })
}

// leaves reports whether a node is no longer in a domain of some term that it was in.
func leaves(terms []fwk.AffinityTerm, before, now *v1.Node) bool {
	return slices.ContainsFunc(terms, func(term fwk.AffinityTerm) bool {
		former, had := before.Labels[term.TopologyKey]
		value, has := now.Labels[term.TopologyKey]
		return had && (!has || value != former)
	})
}

// withNamespacesNamed has the required terms of all pods name the namespaces that they select by label.
func (h hints) withNamespacesNamed(c hintCase) hintCase {
	before, now := sidesOf[*v1.Pod](c)
	named := hintCase{pod: h.namingNamespaces(c.pod)}
	if before != nil {
		named.oldObj = h.namingNamespaces(before)
	}
	if now != nil {
		named.newObj = h.namingNamespaces(now)
	}
	return named
}

func (h hints) namingNamespaces(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, terms := range [][]v1.PodAffinityTerm{fwk.GetPodAffinityTerms(pod.Spec.Affinity), fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity)} {
		for i := range terms {
			selector, err := metav1.LabelSelectorAsSelector(terms[i].NamespaceSelector)
			if err != nil || terms[i].NamespaceSelector == nil {
				continue
			}
			terms[i].NamespaceSelector = nil
			terms[i].Namespaces = append(terms[i].Namespaces, "of-no-pod") // none would mean that of the pod itself
			for name, set := range h.namespaces {
				if selector.Matches(set) {
					terms[i].Namespaces = append(terms[i].Namespaces, name)
				}
			}
		}
	}
	return pod
}

// sidesOf returns the object of a case before and after the change, if they are of a kind.
func sidesOf[T any](c hintCase) (before, now T) {
	oldObj := c.oldObj
	if tombstone, ok := oldObj.(clientcache.DeletedFinalStateUnknown); ok {
		oldObj = tombstone.Obj
	}
	before, _ = oldObj.(T)
	now, _ = c.newObj.(T)
	return before, now
}
