// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	// DefaultMilliCPURequest is what a container without a CPU request counts when nodes are compared, in
	// thousandths of a core.
	DefaultMilliCPURequest int64 = 100
	// DefaultMemoryRequest is what a container without a memory request counts when nodes are compared, in bytes.
	DefaultMemoryRequest int64 = 200 << 20
)

var _ fwk.PodInfo = &PodInfo{}

// PodInfo is a pod with what the scheduler derives from it once: its parsed inter-pod affinity terms and its requests.
// It is safe for concurrent reads; the pod must not change while a PodInfo holds it.
type PodInfo struct {
	// Pod is nil if the pod is compact; GetPod returns either.
	Pod     *v1.Pod
	compact *CompactPod
	// terms is nil for the many pods that have none.
	terms *podTerms
	// requests is filled by the first CalculateResource, so that a node subtracts exactly what it added.
	requests atomic.Pointer[podRequests]
}

// podRequests is what a pod takes from a node. It may be that of many pods, and must not change; callers get a copy.
type podRequests struct {
	fwk.PodResource
	// original is what this is a copy of; nil for an original.
	original *podRequests
}

// podTerms are the parsed terms of inter-pod affinity.
type podTerms struct {
	requiredAffinity, requiredAntiAffinity   []fwk.AffinityTerm
	preferredAffinity, preferredAntiAffinity []fwk.WeightedAffinityTerm
}

// NewPodInfo parses the affinity terms of a pod. On an error, which names the pod and the lists that hold a term that
// does not parse, the result is usable and those lists are empty.
func NewPodInfo(pod *v1.Pod) (*PodInfo, error) {
	p := &PodInfo{}
	return p, p.parse(pod)
}

// Update replaces the pod by a newer version of itself and derives everything again. Errors are those of [NewPodInfo].
func (p *PodInfo) Update(pod *v1.Pod) error {
	if p.Pod == pod {
		return nil
	}
	p.requests.Store(nil)
	p.compact = nil
	return p.parse(pod)
}

// UpdateCompact is [PodInfo.Update] with a compact pod, which takes the place of the v1.Pod.
func (p *PodInfo) UpdateCompact(pod *CompactPod) error {
	err := p.Update(pod.Pod())
	p.Pod, p.compact = nil, pod
	return err
}

func (p *PodInfo) parse(pod *v1.Pod) error {
	p.Pod, p.terms = pod, nil
	if !hasAffinity(pod.Spec.Affinity) {
		return nil
	}
	affinity := pod.Spec.Affinity
	var errs []error
	check := func(list string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s: %s: %w", pod.Namespace, pod.Name, list, err))
		}
	}
	terms := &podTerms{}
	var err error
	terms.requiredAffinity, err = fwk.GetAffinityTerms(pod, fwk.GetPodAffinityTerms(affinity))
	check("required pod affinity", err)
	terms.requiredAntiAffinity, err = fwk.GetAffinityTerms(pod, fwk.GetPodAntiAffinityTerms(affinity))
	check("required pod anti-affinity", err)
	if a := affinity.PodAffinity; a != nil {
		terms.preferredAffinity, err = fwk.GetWeightedAffinityTerms(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
		check("preferred pod affinity", err)
	}
	if a := affinity.PodAntiAffinity; a != nil {
		terms.preferredAntiAffinity, err = fwk.GetWeightedAffinityTerms(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
		check("preferred pod anti-affinity", err)
	}
	p.terms = terms
	return errors.Join(errs...)
}

// GetPod implements fwk.PodInfo. Of a compact pod, a v1.Pod is made unless there is one; [ViewPod] reads it as it is.
func (p *PodInfo) GetPod() *v1.Pod {
	if p.compact != nil {
		return p.compact.Pod()
	}
	return p.Pod
}

// GetRequiredAffinityTerms implements fwk.PodInfo.
func (p *PodInfo) GetRequiredAffinityTerms() []fwk.AffinityTerm {
	if p.terms == nil {
		return nil
	}
	return p.terms.requiredAffinity
}

// GetRequiredAntiAffinityTerms implements fwk.PodInfo.
func (p *PodInfo) GetRequiredAntiAffinityTerms() []fwk.AffinityTerm {
	if p.terms == nil {
		return nil
	}
	return p.terms.requiredAntiAffinity
}

// GetPreferredAffinityTerms implements fwk.PodInfo.
func (p *PodInfo) GetPreferredAffinityTerms() []fwk.WeightedAffinityTerm {
	if p.terms == nil {
		return nil
	}
	return p.terms.preferredAffinity
}

// GetPreferredAntiAffinityTerms implements fwk.PodInfo.
func (p *PodInfo) GetPreferredAntiAffinityTerms() []fwk.WeightedAffinityTerm {
	if p.terms == nil {
		return nil
	}
	return p.terms.preferredAntiAffinity
}

// CalculateResource implements fwk.PodInfo: what the pod takes from a node. It is worked out once, and kept until Update.
// The result is the caller's, and that of others who ask the same PodInfo; what it is changed to has no effect on what
// nodes count. It is safe for concurrent use.
func (p *PodInfo) CalculateResource() fwk.PodResource {
	kept := p.calculate()
	if kept.original == nil {
		result := kept.PodResource
		if vector, ok := result.Resource.(*Resource); ok {
			result.Resource = vector.Clone()
		}
		p.requests.CompareAndSwap(kept, &podRequests{PodResource: result, original: kept})
		kept = p.calculate()
	}
	return kept.PodResource
}

// calculate returns the requests, which it works out if need be.
func (p *PodInfo) calculate() *podRequests {
	if kept := p.requests.Load(); kept != nil {
		return kept
	}
	p.requests.CompareAndSwap(nil, &podRequests{PodResource: calculateResource(p.GetPod())})
	return p.requests.Load()
}

// readRequests returns what a pod takes from a node, as fwk.PodInfo.CalculateResource does, for code that only reads it:
// it must not be changed, and saves a copy.
func readRequests(pod fwk.PodInfo) fwk.PodResource {
	own, ok := pod.(*PodInfo)
	if !ok {
		return pod.CalculateResource()
	}
	kept := own.calculate()
	if kept.original != nil {
		return kept.original.PodResource
	}
	return kept.PodResource
}

// hasAffinity reports whether there is any stanza of inter-pod affinity, even an empty one.
func hasAffinity(affinity *v1.Affinity) bool {
	return affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

func calculateResource(pod *v1.Pod) fwk.PodResource {
	if only, ok := OnlyRequests(pod); ok {
		vector := NewResource(only)
		result := fwk.PodResource{Resource: vector, Non0CPU: vector.MilliCPU, Non0Mem: vector.Memory}
		if _, ok := only[v1.ResourceCPU]; !ok {
			result.Non0CPU = DefaultMilliCPURequest
		}
		if _, ok := only[v1.ResourceMemory]; !ok {
			result.Non0Mem = DefaultMemoryRequest
		}
		return result
	}
	options := podresource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	requests := podresource.PodRequests(pod, options)
	vector := NewResource(requests)
	result := fwk.PodResource{Resource: vector, Non0CPU: vector.MilliCPU, Non0Mem: vector.Memory}
	options.NonMissingContainerRequests = defaultRequests(pod, requests)
	if len(options.NonMissingContainerRequests) > 0 {
		nonZero := podresource.PodRequests(pod, options)
		result.Non0CPU, result.Non0Mem = nonZero.Cpu().MilliValue(), nonZero.Memory().Value()
	}
	return result
}

// defaultRequests returns what each container of a pod counts that does not ask for it itself, given what the pod asks
// for as a whole. Where requests are set for the whole pod, the defaults are only for what no container asks for.
func defaultRequests(pod *v1.Pod, requests v1.ResourceList) v1.ResourceList {
	wholePod := podresource.IsPodLevelRequestsSet(pod)
	if !wholePod && allContainersRequest(pod) {
		return nil
	}
	defaults := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(DefaultMilliCPURequest, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(DefaultMemoryRequest, resource.BinarySI),
	}
	if wholePod {
		maps.DeleteFunc(defaults, func(name v1.ResourceName, _ resource.Quantity) bool {
			_, asked := requests[name]
			return asked
		})
	}
	return defaults
}

// allContainersRequest reports whether every container asks for CPU and memory and has what the node reports of both, so
// that no default applies. What an infeasible resize asks for does not count.
func allContainersRequest(pod *v1.Pod) bool {
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			if !namesCPUAndMemory(containers[i].Resources.Requests) {
				return false
			}
		}
	}
	for _, statuses := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if allocated := statuses[i].AllocatedResources; allocated != nil && !namesCPUAndMemory(allocated) {
				return false
			}
			if running := statuses[i].Resources; running != nil && running.Requests != nil && !namesCPUAndMemory(running.Requests) {
				return false
			}
		}
	}
	return !podresource.IsPodResizeInfeasible(pod)
}

func namesCPUAndMemory(requests v1.ResourceList) bool {
	_, cpu := requests[v1.ResourceCPU]
	_, memory := requests[v1.ResourceMemory]
	return cpu && memory
}
