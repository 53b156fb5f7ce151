// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// setNodes calls every plugin for every node, and keeps the nodes with the fewest blockers.
func (s *podSnapshot) setNodes(view *Explanation, profile *runtime.Framework, nodes []fwk.NodeInfo, wanted int) {
	view.AllNodes = len(nodes)
	found := FindBlockers(s.ctx, s.scheduler.Configuration(), profile, s.pod, nodes)
	view.Everywhere = append(view.Everywhere, found.Everywhere...)
	waits := view.Pool == simulate.PoolUnschedulable && s.queued.Pool == queue.PoolUnschedulable
	view.MissedWakeup = waits && len(view.Everywhere) == 0 && len(found.Nodes) > 0 && found.Nodes[0].BlockerCount == 0
	view.Nodes = append(view.Nodes, found.Nodes[:min(max(wanted, 0), len(found.Nodes))]...)
}

// Blockers is everything that keeps a pod from fitting a node.
type Blockers struct {
	// Everywhere is what rejects the pod on all nodes at once.
	Everywhere []Blocker
	// Nodes are all nodes with what rejects the pod there, those with the fewest blockers first, of equal ones the first by name.
	// Only the first 32 have details; those after them have the reasons of the plugins, each of which counts as one blocker.
	Nodes []NodeBlockers
}

// FindBlockers calls every plugin of a pod's profile for every node, also those plugins that do not get to speak in an attempt because
// another one rejects the pod before. The profile is one of the configuration, and nodes are those of its snapshot.
func FindBlockers(ctx context.Context, configuration *profiles.Configuration, profile *runtime.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) Blockers {
	probe := newProbe(ctx, profile, pod, nodes)
	describer := newDescriber(configuration, profile, pod, nodes)
	found := Blockers{Everywhere: []Blocker{}, Nodes: make([]NodeBlockers, 0, len(nodes))}
	for _, status := range probe.everywhere {
		found.Everywhere = append(found.Everywhere, describer.blocker(nodeRejection{status: status}))
	}
	rejections := make([]nodeRejections, 0, len(nodes))
	for _, node := range nodes {
		rejections = append(rejections, nodeRejections{node.Node().Name, probe.rejections(node)})
	}
	slices.SortFunc(rejections, func(a, b nodeRejections) int {
		return cmp.Or(cmp.Compare(len(a.of), len(b.of)), strings.Compare(a.node, b.node))
	})
	for i, rejected := range rejections {
		if i == detailedNodes {
			describer.details = nil
		}
		found.Nodes = append(found.Nodes, describer.node(rejected))
	}
	slices.SortStableFunc(found.Nodes[:min(len(nodes), detailedNodes)], func(a, b NodeBlockers) int {
		return cmp.Or(cmp.Compare(a.BlockerCount, b.BlockerCount), strings.Compare(a.Name, b.Name))
	})
	return found
}

// detailedNodes is on how many nodes blockers have details: some are found by looking at every pod of the cluster.
const detailedNodes = 32

// nodeRejections are the rejections of a pod on a node.
type nodeRejections struct {
	node string
	of   []nodeRejection
}

// ReservedFor is what follows the reason of a blocker, before the names of the pods, if the plugin rejects the pod only because of
// pods that are nominated for the node.
const ReservedFor = " (room is kept for "

// describer adds details to the rejections of plugins.
type describer struct {
	details map[string]detailer
	about   subject
}

// detailer returns the details of a rejection, a line for each; none if the reasons of the plugin say it all. The node is nil
// if the plugin rejects the pod on all nodes.
type detailer func(about *subject, node fwk.NodeInfo, reasons []string) []string

// node returns the blockers of a node.
func (d *describer) node(rejected nodeRejections) NodeBlockers {
	of := NodeBlockers{Name: rejected.node, Blockers: []Blocker{}}
	for _, rejection := range rejected.of {
		blocker := d.blocker(rejection)
		of.Blockers = append(of.Blockers, blocker)
		of.BlockerCount += blocker.count()
	}
	return of
}

// blocker returns a rejection with its details.
func (d *describer) blocker(rejection nodeRejection) Blocker {
	status := rejection.status
	blocker := Blocker{Plugin: status.Plugin(), Reason: strings.Join(framework.ReasonsOf(status), "; "), Details: []string{}}
	if blocker.Reason == "" {
		blocker.Reason = status.Message()
	}
	if details := d.details[blocker.Plugin]; details != nil && status.IsRejected() {
		for _, detail := range details(d.about.with(rejection), rejection.node, status.Reasons()) {
			if !slices.Contains(blocker.Details, detail) { // as where two constraints lack the same label
				blocker.Details = append(blocker.Details, detail)
			}
		}
	}
	if len(rejection.nominated) > 0 {
		names := make([]string, len(rejection.nominated))
		for i, pod := range rejection.nominated {
			names[i] = podName(pod.GetPod())
		}
		reserved := ReservedFor + strings.Join(names, ", ") + ")"
		blocker.Reason += reserved
		for i := range blocker.Details {
			blocker.Details[i] += reserved
		}
	}
	return blocker
}

// with returns the subject with the nodes as the rejecting plugin saw them: with the nominated pods.
func (s *subject) with(rejection nodeRejection) *subject {
	seen := *s
	if len(rejection.nominated) > 0 {
		seen.nodes = slices.Clone(s.nodes)
		for i, node := range seen.nodes {
			if node.Node().Name == rejection.node.Node().Name {
				seen.nodes[i] = rejection.node
			}
		}
	}
	return &seen
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// podCount writes a number of pods, such as "1 pod" or "3 pods".
func podCount(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.Itoa(n) + " pods"
}
