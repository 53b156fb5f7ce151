// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// setNodes asks every plugin about every node, and keeps the nodes where the least is in the way.
func (s *sight) setNodes(view *Explanation, profile *runtime.Framework, nodes []fwk.NodeInfo, wanted int) {
	view.AllNodes = len(nodes)
	asked := newProbe(s.ctx, profile, s.pod, nodes)
	describer := s.newDescriber(profile, nodes)
	for _, status := range asked.everywhere {
		view.Everywhere = append(view.Everywhere, describer.obstacle(answer{status: status}))
	}
	outlooks := make([]NodeOutlook, 0, len(nodes))
	for _, node := range nodes {
		outlook := NodeOutlook{Name: node.Node().Name, Obstacles: []Obstacle{}}
		for _, rejection := range asked.rejections(node) {
			obstacle := describer.obstacle(rejection)
			outlook.Obstacles = append(outlook.Obstacles, obstacle)
			outlook.Things += obstacle.things()
		}
		outlooks = append(outlooks, outlook)
	}
	slices.SortStableFunc(outlooks, func(a, b NodeOutlook) int {
		return cmp.Or(cmp.Compare(a.Things, b.Things), strings.Compare(a.Name, b.Name))
	})
	waits := view.Pool == simulate.PoolUnschedulable && s.queued.Pool == queue.PoolUnschedulable
	view.MissedWakeup = waits && len(view.Everywhere) == 0 && len(outlooks) > 0 && outlooks[0].Things == 0
	view.Nodes = append(view.Nodes, outlooks[:min(max(wanted, 0), len(outlooks))]...)
}

// describer says more about rejections than the plugins do.
type describer struct {
	details map[string]detailer
	about   subject
}

// detailer returns what is in the way on a node, a line for each thing; nothing if it does not know better than the
// plugin. The node is nil if the plugin rejects the pod on all nodes.
type detailer func(about *subject, node fwk.NodeInfo, reasons []string) []string

// obstacle describes a rejection.
func (d *describer) obstacle(rejection answer) Obstacle {
	status := rejection.status
	obstacle := Obstacle{Plugin: status.Plugin(), Reason: strings.Join(status.Reasons(), "; "), Details: []string{}}
	if obstacle.Reason == "" {
		obstacle.Reason = status.Message()
	}
	if details := d.details[obstacle.Plugin]; details != nil && status.IsRejected() {
		obstacle.Details = append(obstacle.Details, details(d.about.with(rejection), rejection.node, status.Reasons())...)
	}
	if len(rejection.kept) > 0 {
		kept := make([]string, len(rejection.kept))
		for i, pod := range rejection.kept {
			kept[i] = podName(pod.GetPod())
		}
		reserved := " (room is kept for " + strings.Join(kept, ", ") + ")"
		obstacle.Reason += reserved
		for i := range obstacle.Details {
			obstacle.Details[i] += reserved
		}
	}
	return obstacle
}

// with returns the subject among the nodes as the plugin saw them that rejected it: with the pods for which room is kept.
func (s *subject) with(rejection answer) *subject {
	seen := *s
	if len(rejection.kept) > 0 {
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
