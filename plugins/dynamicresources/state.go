// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const stateKey fwk.StateKey = Name

// podState is what the plugin knows of the pod being scheduled. It is shared by all clones of the cycle state, so that
// Filter may be called in a clone and Reserve still finds the devices.
type podState struct {
	// claims are those of the spec, in order, and last that for extended resources if there is one.
	claims []*podClaim
	// toAllocate are the claims of the spec that have no devices yet.
	toAllocate []*resourceapi.ResourceClaim
	extended   *extendedClaim
	// allocator chooses devices where the manager is not our own; nil otherwise, and if nothing is to be allocated.
	allocator structured.Allocator
	// choosy tells that a request has alternatives, so that nodes differ in score.
	choosy bool

	mu sync.Mutex
	// unavailable has the indexes of the claims that some node was rejected for.
	unavailable sets.Set[int]
	nodes       map[string]*nodeAllocation
	// asked is what the claims of the spec ask for, and of which classes; empty until it is needed, or if it can't be written.
	asked string
}

// podClaim is a claim of the pod.
type podClaim struct {
	// claim is what was read, and after PreBind what was written.
	claim *resourceapi.ResourceClaim
	// index is that of the claim in the spec of the pod; -1 for extended resources.
	index int
	// selector selects the nodes from which the devices can be reached; nil selects all. The claim must have devices.
	selector *nodeaffinity.NodeSelector
	// allocation is what Reserve has set aside; nil if that was not for this pod to do.
	allocation *resourceapi.AllocationResult
	// pendingAs is the UID under which the allocation is pending.
	pendingAs types.UID
	// doubtful tells that the allocation may have been written, because the API server did not answer.
	doubtful bool
}

func (c *podClaim) allocated() bool { return c.claim.Status.Allocation != nil }

// extendedClaim is the claim for extended resources.
type extendedClaim struct {
	*podClaim
	// requested has the resources that devices may serve, with how much of them the pod asks for.
	requested map[v1.ResourceName]int64
	// names are those of the resources, sorted.
	names []v1.ResourceName
	// uid is what the claim is called as long as it is only in memory.
	uid types.UID
	// stale tells that the claim is left from an earlier attempt.
	stale bool
	// onNodes are the claims for nodes on which devices serve the same resources, by their names.
	onNodes map[string]*nodeExtended
	// mappings are, after Reserve, those of the requests that were made for the node.
	mappings []v1.ContainerExtendedResourceRequest
}

// nodeAllocation is what was chosen on a node.
type nodeAllocation struct {
	// view is what the choice was made from; nil where the manager is not our own.
	view    *devices.View
	results []resourceapi.AllocationResult
	// known is what was found out for nodes like this one, so that there may be no results; nil otherwise.
	known *verdict
	// extended is the claim for the extended resources that devices serve on the node; nil if there are none.
	extended *nodeExtended
}

// Clone implements fwk.StateData.
func (s *podState) Clone() fwk.StateData { return s }

func readState(state fwk.CycleState) (*podState, error) {
	return statedata.Read[*podState](state, stateKey)
}

func (s *podState) allocationOn(node string) *nodeAllocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[node]
}

func (s *podState) keep(node string, allocation *nodeAllocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]*nodeAllocation{}
	}
	s.nodes[node] = allocation
}

func (s *podState) markUnavailable(indexes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unavailable == nil {
		s.unavailable = sets.New[int]()
	}
	s.unavailable.Insert(indexes...)
}
