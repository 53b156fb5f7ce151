// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"math/rand/v2"
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// Hooks are the decisions of a preemption that a plugin can make itself. Embed [DefaultHooks] to make only some of them.
type Hooks interface {
	// PodEligibleToPreemptOthers reports whether the pod may have others evicted now, and if not, why. The status is what
	// Filter said of the node that is nominated for the pod; it has no meaning where none is.
	PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominatedNodeStatus *fwk.Status) (eligible bool, reason string)
	// GetOffsetAndNumCandidates says, given the number of nodes on which eviction may help (at least one), at which of
	// them the search begins, counted from zero, and how many candidates end it.
	GetOffsetAndNumCandidates(nodes int32) (offset, candidates int32)
	// SelectVictimsOnNode returns the pods that must be evicted from a node for the pod to fit, the most important first,
	// and how many of them exceed a disruption budget. State and node are copies for this call to change, the pods
	// that node.GetPods returns included. With a status
	// other than Success the node is no candidate; one with code Error is reported if no candidate is found at all.
	SelectVictimsOnNode(
		ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
	) (victims []*v1.Pod, violations int, status *fwk.Status)
	// CandidatesToVictimsMap returns the victims by node, as extenders and scores see them. Nodes that are left out are
	// not considered any further.
	CandidatesToVictimsMap(candidates []Candidate) map[string]*extenderv1.Victims
	// OrderedScoreFuncs returns the scores that candidates are compared by; of candidates with the same score, the next
	// decides. Higher is better. Nil means the default ones.
	OrderedScoreFuncs(ctx context.Context, victims map[string]*extenderv1.Victims) []func(node string) int64
}

// The number of candidates that is enough when [HooksOptions] don't say: a tenth of the nodes, but at least 100.
const (
	minCandidateNodesPercentage = 10
	minCandidateNodesAbsolute   = 100
)

// HooksOptions are what [DefaultHooks] are built from. Only Handle is required.
type HooksOptions struct {
	// Handle is what the plugin was built with.
	//
	// The seed of the search is that of its method Seed() uint64, and times come from its method Clock(), where it has
	// them, as that of this module's runtime has.
	Handle fwk.Handle
	// MinCandidateNodesPercentage and MinCandidateNodesAbsolute say how many candidates are enough: the larger of a
	// percentage of the nodes and a number. If both are zero, they are 10 and 100.
	MinCandidateNodesPercentage, MinCandidateNodesAbsolute int32
	// IsEligiblePod reports whether a pod of lower priority on the node may be evicted for the preemptor; nil means that it
	// always may. It is called concurrently.
	IsEligiblePod func(node fwk.NodeInfo, victim fwk.PodInfo, preemptor *v1.Pod) bool
	// MoreImportantVictim reports whether a is to be evicted only after b; it must order pods strictly. Nil means
	// [MoreImportantPod]. It is called concurrently.
	MoreImportantVictim func(a, b fwk.PodInfo) bool
}

var _ Hooks = &DefaultHooks{}

// DefaultHooks decide as DefaultPreemption does. They are safe for concurrent use.
type DefaultHooks struct {
	handle               fwk.Handle
	clock                clock.PassiveClock
	percentage, absolute int32
	eligible             func(node fwk.NodeInfo, victim fwk.PodInfo, preemptor *v1.Pod) bool
	moreImportant        func(a, b fwk.PodInfo) bool // nil: by priority and age
	defaultRules         bool                        // neither of the two was given

	mu     sync.Mutex
	random *rand.Rand // guarded by mu
}

// NewDefaultHooks returns the default hooks.
func NewDefaultHooks(options HooksOptions) *DefaultHooks {
	h := &DefaultHooks{
		handle:        options.Handle,
		clock:         clockOf(options.Handle),
		percentage:    options.MinCandidateNodesPercentage,
		absolute:      options.MinCandidateNodesAbsolute,
		eligible:      options.IsEligiblePod,
		moreImportant: options.MoreImportantVictim,
		defaultRules:  options.IsEligiblePod == nil && options.MoreImportantVictim == nil,
		random:        rand.New(rand.NewPCG(seedOf(options.Handle), 0)),
	}
	if h.percentage == 0 && h.absolute == 0 {
		h.percentage, h.absolute = minCandidateNodesPercentage, minCandidateNodesAbsolute
	}
	if h.eligible == nil {
		h.eligible = func(fwk.NodeInfo, fwk.PodInfo, *v1.Pod) bool { return true }
	}
	return h
}

// PodEligibleToPreemptOthers implements [Hooks]. A pod is not eligible if its policy forbids it, or as long as victims of
// an earlier preemption are terminating on the node that is nominated for it; unless that node can't take it any more.
func (h *DefaultHooks) PodEligibleToPreemptOthers(_ context.Context, pod *v1.Pod, nominatedNodeStatus *fwk.Status) (bool, string) {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false, reasonNeverPreempts
	}
	nominated := pod.Status.NominatedNodeName
	if nominated == "" || nominatedNodeStatus.Code() == fwk.UnschedulableAndUnresolvable {
		return true, ""
	}
	node, err := h.handle.SnapshotSharedLister().NodeInfos().Get(nominated)
	if err != nil { // the node is gone
		return true, ""
	}
	for _, other := range framework.View(node).Pods() {
		if h.canPreempt(node, other, pod) && preemptedAndTerminating(other.GetPod()) {
			return false, reasonVictimsTerminating
		}
	}
	return true, ""
}

// canPreempt reports whether a pod on a node may be evicted for another.
func (h *DefaultHooks) canPreempt(node fwk.NodeInfo, victim fwk.PodInfo, preemptor *v1.Pod) bool {
	return framework.ViewPod(victim).Priority() < corev1helpers.PodPriority(preemptor) && h.eligible(node, victim, preemptor)
}

func preemptedAndTerminating(pod *v1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == v1.DisruptionTarget {
			return condition.Status == v1.ConditionTrue && condition.Reason == v1.PodReasonPreemptionByScheduler
		}
	}
	return false
}

// GetOffsetAndNumCandidates implements [Hooks]. Where the handle is exhaustive, all nodes are searched.
func (h *DefaultHooks) GetOffsetAndNumCandidates(nodes int32) (offset, candidates int32) {
	if isExhaustive(h.handle) {
		return 0, nodes
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	enough := max(int64(nodes)*int64(h.percentage)/100, int64(h.absolute))
	return h.random.Int32N(nodes), int32(min(enough, int64(nodes)))
}

// CandidatesToVictimsMap implements [Hooks]; it leaves none out.
func (h *DefaultHooks) CandidatesToVictimsMap(candidates []Candidate) map[string]*extenderv1.Victims {
	victims := make(map[string]*extenderv1.Victims, len(candidates))
	for _, candidate := range candidates {
		victims[candidate.Node] = candidate.Victims
	}
	return victims
}

// OrderedScoreFuncs implements [Hooks]: the default ones.
func (h *DefaultHooks) OrderedScoreFuncs(context.Context, map[string]*extenderv1.Victims) []func(node string) int64 {
	return nil
}
