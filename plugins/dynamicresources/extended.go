// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
)

// servedResources returns the extended resources that a pod asks for, if a device class serves one of them; otherwise nil.
func (pl *plugin) servedResources(pod *v1.Pod) map[v1.ResourceName]int64 {
	if pl.resolver == nil || !mentions(pod, pl.serves) {
		return nil
	}
	requested, served := map[v1.ResourceName]int64{}, false
	for name, quantity := range noderesources.Request(pod).ScalarResources {
		if quantity != 0 && framework.IsDRAExtendedResourceName(name) {
			requested[name] = quantity
			served = served || pl.serves(name)
		}
	}
	if !served {
		return nil
	}
	return requested
}

// serves reports whether a device class serves a resource.
func (pl *plugin) serves(name v1.ResourceName) bool {
	return isExtended(name) && pl.resolver.GetDeviceClass(name) != nil && framework.IsDRAExtendedResourceName(name)
}

// isExtended reports whether a resource may be an extended one.
func isExtended(name v1.ResourceName) bool { return strings.Contains(string(name), "/") }

// mentionsExtended reports whether a pod may ask for an extended resource.
func mentionsExtended(pod *v1.Pod) bool {
	return mentions(pod, isExtended) || pod.Spec.Resources != nil
}

// mentions reports whether a pod asks, somewhere, for a resource of a kind: most ask for none that devices serve, and pay no
// more than this.
func mentions(pod *v1.Pod, is func(v1.ResourceName) bool) bool {
	for _, containers := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if is(name) {
					return true
				}
			}
		}
	}
	for name := range pod.Spec.Overhead {
		if is(name) {
			return true
		}
	}
	if pod.Spec.Resources != nil {
		for name := range pod.Spec.Resources.Requests {
			if is(name) {
				return true
			}
		}
	}
	return false
}

// findExtendedClaim returns the claim for the extended resources of a pod: one that is left from an earlier attempt, or
// one that is only in memory.
func (pl *plugin) findExtendedClaim(pod *v1.Pod, requested map[v1.ResourceName]int64) (*extendedClaim, error) {
	names := slices.Sorted(maps.Keys(requested))
	left, err := pl.extendedClaimOf(pod)
	if err != nil {
		return nil, err
	}
	if left != nil {
		return &extendedClaim{podClaim: &podClaim{claim: left, index: -1}, requested: requested, names: names, uid: left.UID, stale: true}, nil
	}
	uid := uuid.NewUUID()
	controller := true
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace:    pod.Namespace,
		Name:         devices.InMemoryName,
		UID:          uid,
		GenerateName: pod.Name + "-extended-resources-",
		Annotations:  map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller,
		}},
	}}
	return &extendedClaim{podClaim: &podClaim{claim: claim, index: -1}, requested: requested, names: names, uid: uid}, nil
}

func (pl *plugin) extendedClaimOf(pod *v1.Pod) (*resourceapi.ResourceClaim, error) {
	if pl.manager != nil {
		return pl.manager.ExtendedClaimOf(pod), nil
	}
	claims, err := pl.claims.List()
	if err != nil {
		return nil, err
	}
	for _, claim := range claims {
		if devices.IsExtendedClaimOf(claim, pod) {
			return claim, nil
		}
	}
	return nil, nil
}

// nodeExtended is the claim for the extended resources that devices serve on one node.
type nodeExtended struct {
	claim    *resourceapi.ResourceClaim
	mappings []v1.ContainerExtendedResourceRequest
	// asked is what the claim asks for, unless that can't be written.
	asked []byte
	ok    bool
}

// extendOn returns the claim for a node; nil if the node offers all resources itself. The status tells that it does not
// fit, for one resource at least.
func (pl *plugin) extendOn(s *podState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (*nodeExtended, *fwk.Status) {
	if s.extended.stale {
		return nil, rejected(reasonStaleClaim)
	}
	offered := nodeInfo.GetAllocatable().GetScalarResources()
	var key []byte
	classes := map[v1.ResourceName]string{}
	for _, name := range s.extended.names {
		class := pl.resolver.GetDeviceClass(name)
		amount, has := offered[name]
		switch {
		case class != nil && amount == 0:
			classes[name] = class.Name
			key = framework.AppendKeyString(framework.AppendKeyString(key, string(name)), class.Name)
		case !has:
			return nil, rejected(reasonNoResource)
		}
	}
	if len(classes) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.extended.onNodes[string(key)]
	if known == nil {
		requests, mappings := deviceRequests(pod, classes)
		claim := *s.extended.claim
		claim.Spec.Devices.Requests = requests
		known = &nodeExtended{claim: &claim, mappings: mappings}
		known.asked, known.ok = appendMessage(nil, &claim.Spec.Devices)
		if s.extended.onNodes == nil {
			s.extended.onNodes = map[string]*nodeExtended{}
		}
		s.extended.onNodes[string(key)] = known
	}
	return known, nil
}

// containerRequest is what one container asks for of one resource.
type containerRequest struct {
	container string
	request   string // the name of the device request that is made for it
	amount    int64
	longLived bool
}

// deviceRequests turns the extended resources of the containers of a pod into requests for devices of classes, sorted by
// name, and says which request is whose. A container that runs as long as the pod has requests of its own. An init
// container that ends uses the devices of those that start later, and asks only for what is missing; since such containers
// run one after the other, the one that misses most asks for all.
func deviceRequests(pod *v1.Pod, classes map[v1.ResourceName]string) ([]resourceapi.DeviceRequest, []v1.ContainerExtendedResourceRequest) {
	var requests []resourceapi.DeviceRequest
	var mappings []v1.ContainerExtendedResourceRequest
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		asked := containerRequests(pod, name)
		var most *containerRequest
		var mostMissing int64
		shared := map[int][]string{}
		missing := map[int]bool{}
		for i := range asked {
			if asked[i].longLived {
				requests = append(requests, exactly(asked[i].request, classes[name], asked[i].amount))
				mappings = append(mappings, mapping(name, asked[i].container, asked[i].request))
				continue
			}
			left := asked[i].amount
			for later := i + 1; later < len(asked) && left > 0; later++ {
				if asked[later].longLived {
					shared[i] = append(shared[i], asked[later].request)
					left -= asked[later].amount
				}
			}
			if missing[i] = left > 0; left > mostMissing {
				most, mostMissing = &asked[i], left
			}
		}
		if most != nil {
			requests = append(requests, exactly(most.request, classes[name], mostMissing))
		}
		for i := range asked {
			for _, request := range shared[i] {
				mappings = append(mappings, mapping(name, asked[i].container, request))
			}
			if missing[i] {
				mappings = append(mappings, mapping(name, asked[i].container, most.request))
			}
		}
	}
	slices.SortFunc(requests, func(a, b resourceapi.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	return requests, mappings
}

func containerRequests(pod *v1.Pod, name v1.ResourceName) []containerRequest {
	var asked []containerRequest
	initial := len(pod.Spec.InitContainers)
	for i := range initial + len(pod.Spec.Containers) {
		var container *v1.Container
		longLived := i >= initial
		if longLived {
			container = &pod.Spec.Containers[i-initial]
		} else {
			container = &pod.Spec.InitContainers[i]
			longLived = container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways
		}
		quantity, ok := container.Resources.Requests[name]
		if !ok || quantity.IsZero() {
			continue
		}
		j := slices.Index(slices.Sorted(maps.Keys(container.Resources.Requests)), name)
		asked = append(asked, containerRequest{
			container: container.Name,
			request:   fmt.Sprintf("container-%d-request-%d", i, j),
			amount:    quantity.Value(),
			longLived: longLived,
		})
	}
	return asked
}

func exactly(name, class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

func mapping(resource v1.ResourceName, container, request string) v1.ContainerExtendedResourceRequest {
	return v1.ContainerExtendedResourceRequest{ContainerName: container, ResourceName: string(resource), RequestName: request}
}
