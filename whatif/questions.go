// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Fit is the answer of [Cluster.Fits].
type Fit struct {
	// Nodes are the names of all nodes that take the pod, sorted. The slice must not be changed: equal answers share it.
	Nodes []string
	// Reason says why no node takes the pod, and is nil if any does. It is a [*framework.FitError], which has the reason of every
	// node, or [framework.ErrNoNodesAvailable].
	Reason error
}

// Choice is the answer of [Cluster.Best].
type Choice struct {
	// Node is the name of the node that the scheduler would choose; empty if no node takes the pod.
	Node string
	// Scores are those of all nodes that take the pod, the best first, of equal ones the first by name: the final score of
	// each plugin, weighted, and the total. Where the pod is nominated for a node that takes it, no other node is looked at.
	Scores []fwk.NodePluginScores
	// Reason is as in [Fit].
	Reason error
}

// Fits reports which nodes take a pod. It need not be in the fork. A pod that has a node, or is finished, is asked about as if it were
// still waiting, and goes on counting where it is until it is removed.
//
// The error says that the question could not be answered; that no node takes the pod is no error.
func (c *Cluster) Fits(ctx context.Context, pod *v1.Pod) (*Fit, error) {
	var fit *Fit
	err := c.askAbout(ctx, "asking whether pod %s fits", pod, func(q *question) (err error) {
		fit, err = q.fits()
		return err
	})
	return fit, err
}

// Best chooses the best node for a pod, as the scheduler would that compares all nodes: the one with the highest total score, of
// equal ones the first by name. See [Cluster.Fits].
func (c *Cluster) Best(ctx context.Context, pod *v1.Pod) (*Choice, error) {
	var choice *Choice
	err := c.askAbout(ctx, "choosing a node for pod %s", pod, func(q *question) (err error) {
		choice, err = q.best()
		return err
	})
	return choice, err
}

// askAbout asks a question about a pod.
func (c *Cluster) askAbout(ctx context.Context, doing string, pod *v1.Pod, do func(*question) error) error {
	all := c.load()
	err := c.engine.ask(ctx, all, func(r *replica) error {
		q, err := r.question(ctx, pod)
		if err != nil {
			return err
		}
		return do(q)
	})
	if err != nil {
		return fmt.Errorf(doing+": %w", klog.KObj(pod), err)
	}
	return nil
}

// question is the search for the node of one pod, in the cluster that a replica shows.
type question struct {
	*replica
	ctx     context.Context
	profile *runtime.Framework
	pod     *v1.Pod
	state   *framework.CycleState
	// The rest is what prefilter found. kept are the names of the nodes that it left; nil if it left all.
	kept      sets.Set[string]
	gated     bool // by a PreEnqueue plugin
	diagnosis framework.Diagnosis
}

func (r *replica) question(ctx context.Context, pod *v1.Pod) (*question, error) {
	k, err := r.kinds.keyOf(pod)
	if err != nil {
		return nil, err
	}
	pod = r.kinds.complete(r.now(), k, pod, nil).(*v1.Pod)
	if pod.Spec.NodeName != "" || !unfinished(pod) {
		waiting := *pod
		waiting.Spec.NodeName, waiting.Status.Phase = "", v1.PodPending
		pod = &waiting
	}
	profile, err := r.profileOf(pod)
	if err != nil {
		return nil, err
	}
	return &question{
		replica: r, ctx: ctx, profile: profile, pod: pod, state: framework.NewCycleState(),
		diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
	}, nil
}

// prefilter runs PreEnqueue and PreFilter. It returns why no node at all takes the pod, nil if some may.
func (q *question) prefilter() (reason error, err error) {
	if q.snapshot.NodeCount() == 0 {
		return framework.ErrNoNodesAvailable, nil
	}
	for _, plugin := range q.profile.PreEnqueuePlugins() {
		status := q.profile.Contain(q.pod, func() *fwk.Status { return plugin.PreEnqueue(q.ctx, q.pod) })
		if rejected, err := q.rejectAll(status, plugin.Name()); rejected != nil || err != nil {
			q.gated = true
			return rejected, err
		}
	}
	result, status, narrowing := q.profile.RunPreFilterPlugins(q.ctx, q.state, q.pod)
	q.diagnosis.UnschedulablePlugins = narrowing
	if rejected, err := q.rejectAll(status, ""); rejected != nil || err != nil {
		return rejected, err
	}
	if !result.AllNodes() {
		q.kept = result.NodeNames
		q.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", strings.Join(sets.List(narrowing), " "))))
	}
	return nil, nil
}

// rejectAll takes a status that is about all nodes.
func (q *question) rejectAll(status *fwk.Status, plugin string) (reason error, err error) {
	switch {
	case status.IsSuccess():
		return nil, nil
	case !status.IsRejected():
		return nil, status.AsError()
	}
	if status.Plugin() == "" {
		status = status.Clone().WithPlugin(plugin)
	}
	q.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	q.diagnosis.PreFilterMsg = status.Message()
	q.diagnosis.AddPluginStatus(status)
	return q.fitError(), nil
}

func (q *question) fitError() error {
	return &framework.FitError{Pod: q.pod, NumAllNodes: q.snapshot.NodeCount(), Diagnosis: q.diagnosis}
}

// rejected is why no node takes the pod, by what Filter plugins said.
func (q *question) rejected(statuses *framework.NodeToStatus) error {
	q.diagnosis.NodeToStatus = statuses
	statuses.ForEachStatus(func(status *fwk.Status, _ int) { q.diagnosis.AddPluginStatus(status) })
	return q.fitError()
}

// feasible returns the node indexes of all nodes that take the pod, after prefilter, or why none does.
func (q *question) feasible() (nodeIndexes []int, reason error, err error) {
	if q.kept != nil {
		return q.feasibleOfKept()
	}
	nodeIndexes, rejections, status := q.profile.Feasible(q.ctx, q.state, q.pod, q.feasibleIndexes[:0])
	q.feasibleIndexes = nodeIndexes
	switch {
	case !status.IsSuccess():
		return nil, nil, status.AsError()
	case len(nodeIndexes) == 0:
		return nil, q.rejected(rejections), nil
	}
	return nodeIndexes, nil, nil
}

// feasibleOfKept asks about the nodes that PreFilter left.
func (q *question) feasibleOfKept() (nodeIndexes []int, reason error, err error) {
	for _, name := range sets.List(q.kept) {
		nodeIndex, found := q.snapshot.NodeIndex(name)
		if !found {
			continue
		}
		status := q.profile.RunFilterPluginsWithNominatedPods(q.ctx, q.state, q.pod, q.snapshot.NodeAt(nodeIndex))
		switch {
		case status.IsSuccess():
			nodeIndexes = append(nodeIndexes, nodeIndex)
		case status.IsRejected():
			q.diagnosis.NodeToStatus.Set(name, status)
			q.diagnosis.AddPluginStatus(status)
		default:
			return nil, nil, status.AsError()
		}
	}
	if len(nodeIndexes) == 0 {
		return nil, q.fitError(), nil
	}
	return nodeIndexes, nil, nil
}

func (q *question) fits() (*Fit, error) {
	reason, err := q.prefilter()
	if reason != nil || err != nil {
		return &Fit{Reason: reason}, err
	}
	nodeIndexes, reason, err := q.feasible()
	if err != nil {
		return nil, err
	}
	return &Fit{Nodes: q.names.of(nodeIndexes), Reason: reason}, nil
}

// nominated returns the index of the node that is nominated for the pod, if that takes it.
func (q *question) nominated() (nodeIndex int, ok bool) {
	nodeIndex, found := q.snapshot.NodeIndex(q.pod.Status.NominatedNodeName)
	if q.pod.Status.NominatedNodeName == "" || !found {
		return 0, false
	}
	status := q.profile.RunFilterPluginsWithNominatedPods(q.ctx, q.state, q.pod, q.snapshot.NodeAt(nodeIndex))
	return nodeIndex, status.IsSuccess()
}

func (q *question) best() (*Choice, error) {
	reason, err := q.prefilter()
	if reason != nil || err != nil {
		return &Choice{Reason: reason}, err
	}
	var nodeIndexes []int
	if nominated, ok := q.nominated(); ok {
		nodeIndexes = []int{nominated}
	} else if nodeIndexes, reason, err = q.feasible(); reason != nil || err != nil {
		return &Choice{Reason: reason}, err
	}
	scores, err := q.score(nodeIndexes)
	if err != nil {
		return nil, err
	}
	return &Choice{Node: scores[0].Name, Scores: scores}, nil
}

// score returns the scores of nodes, the best first.
func (q *question) score(nodeIndexes []int) ([]fwk.NodePluginScores, error) {
	nodes := make([]fwk.NodeInfo, len(nodeIndexes))
	for i, nodeIndex := range nodeIndexes {
		nodes[i] = q.snapshot.NodeAt(nodeIndex)
	}
	if !q.profile.Has(profiles.Score) {
		scores := make([]fwk.NodePluginScores, len(nodes))
		for i, node := range nodes {
			scores[i].Name = node.Node().Name
		}
		sortScores(scores)
		return scores, nil
	}
	if status := q.profile.RunPreScorePlugins(q.ctx, q.state, q.pod, nodes); !status.IsSuccess() {
		return nil, fmt.Errorf("preparing the scores: %w", status.AsError())
	}
	scores, status := q.profile.RunScorePlugins(q.ctx, q.state, q.pod, nodes)
	if !status.IsSuccess() {
		return nil, fmt.Errorf("scoring the nodes: %w", status.AsError())
	}
	sortScores(scores)
	return scores, nil
}

func sortScores(scores []fwk.NodePluginScores) {
	slices.SortFunc(scores, func(a, b fwk.NodePluginScores) int {
		return cmp.Or(cmp.Compare(b.TotalScore, a.TotalScore), strings.Compare(a.Name, b.Name))
	})
}

// choose returns the node for the pod as [question.best] does, without the scores.
func (q *question) choose() (node string, reason error, err error) {
	if reason, err = q.prefilter(); reason != nil || err != nil {
		return "", reason, err
	}
	if nominated, ok := q.nominated(); ok {
		return q.nameOf(nominated), nil, nil
	}
	if q.kept != nil {
		nodeIndexes, reason, err := q.feasible()
		if reason != nil || err != nil {
			return "", reason, err
		}
		if len(nodeIndexes) == 1 {
			return q.nameOf(nodeIndexes[0]), nil, nil
		}
		scores, err := q.score(nodeIndexes)
		if err != nil {
			return "", nil, err
		}
		return scores[0].Name, nil, nil
	}
	choice, status := q.profile.Search(q.ctx, q.state, q.pod, runtime.SearchOptions{Order: q.names.places})
	switch {
	case !status.IsSuccess():
		return "", nil, status.AsError()
	case choice.Node == "":
		return "", q.rejected(choice.Rejections), nil
	}
	return choice.Node, nil, nil
}

func (q *question) nameOf(nodeIndex int) string { return q.snapshot.NodeAt(nodeIndex).Node().Name }
