// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
)

// usualKeys is how many topology keys the terms about one node usually have at most; more cost an allocation.
const usualKeys = 4

// requirements are what the pod being scheduled requires, and what of the pod other pods' terms look at. They don't
// change once made. In the terms no namespace is left to be selected by label, but for terms that select all.
type requirements struct {
	pod             *v1.Pod
	namespaceLabels labels.Set
	affinity        []fwk.AffinityTerm
	antiAffinity    []fwk.AffinityTerm
	// first tells that the pod may be the first of those that it has affinity to: it matches its own terms.
	first bool
}

// counts are how many pods stand for and against each topology domain.
type counts struct {
	// affinity has the pods that match all affinity terms of the pod being scheduled, once for each term, and
	// antiAffinity those that match one of its anti-affinity terms. existing has the anti-affinity terms of other
	// pods that match the pod.
	affinity, antiAffinity, existing pairs
}

func (c *counts) freeze() {
	c.affinity.freeze()
	c.antiAffinity.freeze()
	c.existing.freeze()
}

func (c *counts) clone() counts {
	return counts{affinity: c.affinity.clone(), antiAffinity: c.antiAffinity.clone(), existing: c.existing.clone()}
}

// change adds one pod on a node, or takes it away.
func (c *counts) change(r *requirements, other fwk.PodInfo, node *v1.Node, delta int64) {
	for i, terms := 0, other.GetRequiredAntiAffinityTerms(); i < len(terms); i++ {
		if terms[i].Matches(r.pod, r.namespaceLabels) {
			c.existing.addOn(node, terms[i].TopologyKey, delta)
		}
	}
	if matchesAll(r.affinity, other.GetPod(), nil) {
		c.addAffinity(r, node, delta)
	}
	for i := range r.antiAffinity {
		if r.antiAffinity[i].Matches(other.GetPod(), nil) {
			c.antiAffinity.addOn(node, r.antiAffinity[i].TopologyKey, delta)
		}
	}
}

func (c *counts) addAffinity(r *requirements, node *v1.Node, delta int64) {
	for i := range r.affinity {
		c.affinity.addOn(node, r.affinity[i].TopologyKey, delta)
	}
}

// addOn adds to the domain that a node is in, if it is in one.
func (p *pairs) addOn(node *v1.Node, key string, delta int64) {
	if value, ok := node.Labels[key]; ok {
		p.add(key, value, delta)
	}
}

// count counts everything: the pods on nodes for what the pod requires, and those of them that have anti-affinity on
// withAntiAffinity for what they require.
func (pl *Plugin) count(ctx context.Context, r *requirements, nodes, withAntiAffinity []fwk.NodeInfo) (*counts, error) {
	c := &counts{existing: pl.countExisting(ctx, r, withAntiAffinity)}
	pl.countRequired(ctx, r, nodes, c)
	c.freeze()
	return c, interrupted(ctx, r.pod)
}

// interrupted returns an error if a loop over nodes may have ended too early.
func interrupted(ctx context.Context, pod *v1.Pod) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("counting the pods that affinity of pod %s/%s is about: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// countExisting counts the required anti-affinity terms of pods on nodes that match the pod.
func (pl *Plugin) countExisting(ctx context.Context, r *requirements, nodes []fwk.NodeInfo) pairs {
	var found sharedPairs
	pl.handle.Parallelizer().Until(ctx, len(nodes), func(i int) {
		node := nodes[i].Node()
		if node == nil {
			return
		}
		var usual [usualKeys]keySum
		sums := nodeSums(usual[:0])
		for _, other := range nodes[i].GetPodsWithRequiredAntiAffinity() {
			for i, terms := 0, other.GetRequiredAntiAffinityTerms(); i < len(terms); i++ {
				if terms[i].Matches(r.pod, r.namespaceLabels) {
					sums = sums.add(node.Labels, terms[i].TopologyKey, 1)
				}
			}
		}
		found.addAll(node.Labels, sums)
	}, Name)
	return found.pairs
}

// countRequired counts the pods on nodes that match what the pod requires.
func (pl *Plugin) countRequired(ctx context.Context, r *requirements, nodes []fwk.NodeInfo, c *counts) {
	if len(r.affinity) == 0 && len(r.antiAffinity) == 0 {
		return
	}
	// A row for each node: the pods that match all affinity terms, then those that match each anti-affinity term.
	width := 1 + len(r.antiAffinity)
	rows := make([]int64, len(nodes)*width)
	pl.handle.Parallelizer().Until(ctx, len(nodes), func(i int) {
		row := rows[i*width : (i+1)*width]
		for _, info := range nodes[i].GetPods() {
			other := info.GetPod()
			if matchesAll(r.affinity, other, nil) {
				row[0]++
			}
			for j := range r.antiAffinity {
				if r.antiAffinity[j].Matches(other, nil) {
					row[1+j]++
				}
			}
		}
	}, Name)
	for i, nodeInfo := range nodes {
		node, row := nodeInfo.Node(), rows[i*width:(i+1)*width]
		if node == nil {
			continue
		}
		if row[0] > 0 {
			c.addAffinity(r, node, row[0])
		}
		for j, count := range row[1:] {
			if count > 0 {
				c.antiAffinity.addOn(node, r.antiAffinity[j].TopologyKey, count)
			}
		}
	}
}
