// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestVerdicts compares what the two frameworks say about random pods on random clusters under random profiles.
func TestVerdicts(t *testing.T) {
	settings := readSettings(t)
	counts := counter{}
	available, err := built(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range settings.rounds {
		seed := settings.seed + uint64(i)
		g := newGenerator(seed)
		c, p := g.cluster(), g.profile(available)
		for n := range 3 {
			pod := g.pod(fmt.Sprintf("pod-%d", n))
			diff, compared, err := compareVerdicts(t.Context(), c, p, pod)
			if err != nil {
				t.Fatalf("SEED=%d: %v", seed, err)
			}
			counts.add(compared)
			if diff != "" {
				c, p := shrink(t.Context(), c, p, pod)
				diff, _, _ := compareVerdicts(t.Context(), c, p, pod)
				t.Errorf("SEED=%d N=1: plugins %s (-kube-scheduler +rouse):\n%s\n%s", seed, pluginNames(p), diff, caseText(c, p, pod))
				break
			}
		}
		if t.Failed() {
			break
		}
	}
	counts.report(t)
}

// compareVerdicts compares each project's plugins in its own framework.
func compareVerdicts(ctx context.Context, c cluster, p profile, pod *v1.Pod) (diff string, compared map[string]int, err error) {
	return compareSides(ctx, c, p, pod, theirs, ours)
}

type builder func(context.Context, cluster, profile) (*side, error)

func compareSides(ctx context.Context, c cluster, p profile, pod *v1.Pod, first, second builder) (diff string, compared map[string]int, err error) {
	var said [2]verdicts
	for i, build := range []builder{first, second} {
		side, err := build(ctx, c, p)
		if err != nil {
			return "", nil, fmt.Errorf("building framework %d: %w", i+1, err)
		}
		if said[i], err = side.verdicts(ctx, pod); err != nil {
			return "", nil, err
		}
	}
	return cmp.Diff(said[0], said[1]), said[0].comparisons(), nil
}

// TestBothWaysRound runs kube-scheduler's plugins in Rouse's framework, and Rouse's in kube-scheduler's: a plugin says
// the same in either.
func TestBothWaysRound(t *testing.T) {
	settings := readSettings(t)
	available, err := built(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirsInOurs := func(ctx context.Context, c cluster, p profile) (*side, error) {
		return inOurRuntime(ctx, c, p, theirFactories())
	}
	oursInTheirs := func(ctx context.Context, c cluster, p profile) (*side, error) {
		return inTheirRuntime(ctx, c, p, ourFactories())
	}
	counts := counter{}
	for i := range settings.rounds {
		seed := settings.seed + uint64(i)
		g := newGenerator(seed)
		c, p, pod := g.cluster(), g.profile(available), g.pod("pod")
		for name, sides := range map[string][2]builder{
			"kube-scheduler's plugins in Rouse": {theirs, theirsInOurs},
			"Rouse's plugins in kube-scheduler": {ours, oursInTheirs},
		} {
			diff, compared, err := compareSides(t.Context(), c, p, pod, sides[0], sides[1])
			if err != nil {
				t.Fatalf("SEED=%d N=1: %s: %v", seed, name, err)
			}
			if diff != "" {
				t.Fatalf("SEED=%d N=1: %s, plugins %s (-at home +abroad):\n%s\n%s", seed, name, pluginNames(p), diff, caseText(c, p, pod))
			}
			for _, n := range compared {
				counts[name] += n
			}
		}
	}
	counts.report(t)
}

// shrink drops plugins, pods and nodes as long as the two sides still differ.
func shrink(ctx context.Context, c cluster, p profile, pod *v1.Pod) (cluster, profile) {
	differs := func(c cluster, p profile) bool {
		diff, _, err := compareVerdicts(ctx, c, p, pod)
		return err == nil && diff != ""
	}
	for i := len(p.plugins) - 1; i >= 0 && len(p.plugins) > 1; i-- {
		smaller := p
		smaller.plugins = slices.Delete(slices.Clone(p.plugins), i, i+1)
		if differs(c, smaller) {
			p = smaller
		}
	}
	for i := len(c.pods) - 1; i >= 0; i-- {
		smaller := cluster{objects: c.objects, nodes: c.nodes, pods: slices.Delete(slices.Clone(c.pods), i, i+1)}
		if differs(smaller, p) {
			c = smaller
		}
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		smaller := cluster{objects: c.objects, nodes: slices.Delete(slices.Clone(c.nodes), i, i+1), pods: c.pods}
		if differs(smaller, p) {
			c = smaller
		}
	}
	return c, p
}

func pluginNames(p profile) []string {
	var names []string
	for _, plugin := range p.plugins {
		names = append(names, plugin.Name)
	}
	return names
}

func caseText(c cluster, p profile, pod *v1.Pod) string {
	text, err := yaml.Marshal(map[string]any{"profile": profileText(p), "nodes": c.nodes, "placed": c.pods, "pod": pod, "objects": c.objects})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
