// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// sample checks the choices of searches that compare only some of the nodes that take the pod; totals has all of these.
func (c *comparison) sample(pod *v1.Pod, totals map[string]int64) {
	c.t.Helper()
	nodes, _ := c.snapshot.NodeInfos().List()
	start, enough := c.random.IntN(len(nodes)), 1+c.random.IntN(4)
	var sample []fwk.NodeInfo
	checked := 0
	for ; checked < len(nodes) && len(sample) < enough; checked++ {
		node := nodes[(start+checked)%len(nodes)]
		if _, feasible := totals[node.Node().Name]; feasible {
			sample = append(sample, node)
		}
	}
	choice := c.search(pod, runtime.SearchOptions{Sample: enough, Start: start})
	if best := c.bestOf(pod, sample); !slices.Contains(best, choice.Node) || choice.Feasible != len(sample) || choice.Checked != checked {
		c.t.Errorf("pod %s: with a sample of %d from %d on the choice is %+v, want one of %v after %d nodes", pod.Name, enough, start, choice, best, checked)
	}
	limit := 1 + c.random.IntN(len(nodes))
	switch choice := c.search(pod, runtime.SearchOptions{Limit: limit}); {
	case choice.Feasible > len(totals) || choice.Feasible < min(limit, len(totals), 2):
		c.t.Errorf("pod %s: with a limit of %d the choice is %+v, of %d nodes that take the pod", pod.Name, limit, choice, len(totals))
	case choice.Feasible == len(totals) && !slices.Contains(c.bestOf(pod, c.named(totals)), choice.Node):
		c.t.Errorf("pod %s: the choice among all is %+v, want the best of %v", pod.Name, choice, totals)
	}
	if _, feasible := totals[choice.Node]; !feasible {
		c.t.Errorf("pod %s: the choice is %+v, which does not take the pod", pod.Name, choice)
	}
}

func (c *comparison) search(pod *v1.Pod, options runtime.SearchOptions) runtime.Choice {
	c.t.Helper()
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	options.Pick = c.random.IntN
	choice, status := c.profile.Search(ctx, state, pod, options)
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	return choice
}

func (c *comparison) named(totals map[string]int64) []fwk.NodeInfo {
	all, _ := c.snapshot.NodeInfos().List()
	return slices.DeleteFunc(slices.Clone(all), func(node fwk.NodeInfo) bool {
		_, ok := totals[node.Node().Name]
		return !ok
	})
}

// bestOf asks the plugins which of the nodes are the best.
func (c *comparison) bestOf(pod *v1.Pod, nodes []fwk.NodeInfo) []string {
	c.t.Helper()
	if len(nodes) == 1 {
		return []string{nodes[0].Node().Name}
	}
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	for _, node := range nodes { // Score may need what Filter found
		c.profile.RunFilterPlugins(ctx, state, pod, node)
	}
	if status := c.profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		c.t.Fatal(status)
	}
	scores, status := c.profile.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	var best []string
	highest := int64(-1)
	for _, score := range scores {
		if score.TotalScore > highest {
			best, highest = nil, score.TotalScore
		}
		if score.TotalScore == highest {
			best = append(best, score.Name)
		}
	}
	return best
}
