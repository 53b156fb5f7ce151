// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"
)

type builder func(context.Context, cluster, profile) (*side, error)

// theirsInOurs runs kube-scheduler's plugins in Rouse's framework, and oursInTheirs the other way round.
func theirsInOurs(ctx context.Context, c cluster, p profile) (*side, error) {
	return inOurRuntime(ctx, c, p, theirFactories())
}

func oursInTheirs(ctx context.Context, c cluster, p profile) (*side, error) {
	return inTheirRuntime(ctx, c, p, ourFactories())
}

// compareVerdicts compares what the two frameworks say about random pods on a random cluster: at home with a random
// profile and with the default one, and abroad, each project's plugins in the other's framework.
func (m *machine) compareVerdicts(t round) {
	g := newGenerator(t.seed)
	c, pod := g.mixedCluster()
	random := trial{
		cluster: c, profile: g.profile(m.available), pending: []*v1.Pod{pod("pod-0"), pod("pod-1"), pod("pod-2"), pod("pod-3")},
		label: "random profile",
	}
	random.cluster = c.withEphemeralClaims(g, random.pending...)
	byDefault := random
	byDefault.profile, byDefault.label = all(defaultPlugins()), "default profile"
	byDefault.pending = byDefault.pending[:1]

	m.add(compareSides(t, random, theirs, ours).count())
	m.add(compareSides(t, byDefault, theirs, ours).count())
	for what, sides := range map[string][2]builder{
		"theirs in ours": {theirs, theirsInOurs},
		"ours in theirs": {ours, oursInTheirs},
	} {
		abroad := counts{}
		for about, n := range compareSides(t, random, sides[0], sides[1]).count() {
			if about.plugin == "" {
				abroad[kind{"random profile, whole cycle: " + what, ""}] += n
				continue
			}
			abroad[kind{what, about.plugin}] += n
		}
		m.add(abroad)
	}
}

// compareSides reports a difference between two sides by the smallest case that shows it, and returns what the first one
// said.
func compareSides(t round, c trial, first, second builder) verdicts {
	t.Helper()
	diff, said, err := sidesDiffer(t.Context(), c, first, second)
	if err != nil {
		t.mismatch("%v", err)
	}
	if diff != "" {
		c = shrinkTrial(t.Context(), c, first, second)
		diff, _, _ = sidesDiffer(t.Context(), c, first, second)
		t.mismatch("%s, plugins %s (-kube-scheduler +rouse):\n%s\n%s", c.label, pluginNames(c.profile), diff, caseText(c))
	}
	return said
}

func sidesDiffer(ctx context.Context, c trial, first, second builder) (diff string, said verdicts, err error) {
	var both [2]verdicts
	for i, build := range []builder{first, second} {
		side, err := build(ctx, c.cluster, c.profile)
		if err != nil {
			return "", nil, fmt.Errorf("building framework %d: %w", i+1, err)
		}
		if both[i], err = side.verdicts(ctx, c); err != nil {
			return "", nil, err
		}
	}
	return difference(both[0], both[1]), both[0], nil
}

func shrinkTrial(ctx context.Context, c trial, first, second builder) trial {
	return shrink(c, smallerTrials, func(c trial) bool {
		diff, _, err := sidesDiffer(ctx, c, first, second)
		return err == nil && diff != ""
	})
}

// smallerTrials yields a case without some of its plugins, pods, nodes and objects, and with simpler ones.
func smallerTrials(c trial) iter.Seq[trial] {
	return func(yield func(trial) bool) {
		_ = each(without(c.plugins), yield, func(l []configv1.Plugin) trial { s := c; s.plugins = l; return s }) &&
			each(without(c.pending), yield, func(l []*v1.Pod) trial { s := c; s.pending = l; return s }) &&
			each(without(c.pods), yield, func(l []*v1.Pod) trial { s := c; s.pods = l; return s }) &&
			each(without(c.nodes), yield, func(l []*v1.Node) trial { s := c; s.nodes = l; return s }) &&
			each(without(c.objects), yield, func(l []apiruntime.Object) trial { s := c; s.objects = l; return s }) &&
			each(simplerOf(c.pending), yield, func(l []*v1.Pod) trial { s := c; s.pending = l; return s }) &&
			each(simplerOf(c.pods), yield, func(l []*v1.Pod) trial { s := c; s.pods = l; return s }) &&
			each(simplerOf(c.nodes), yield, func(l []*v1.Node) trial { s := c; s.nodes = l; return s }) &&
			each(simplerOf(c.objects), yield, func(l []apiruntime.Object) trial { s := c; s.objects = l; return s })
	}
}

// each yields the case that every smaller list gives. It returns false when that was enough.
func each[C, L any](lists iter.Seq[L], yield func(C) bool, with func(L) C) bool {
	for list := range lists {
		if !yield(with(list)) {
			return false
		}
	}
	return true
}

func pluginNames(p profile) []string {
	var names []string
	for _, plugin := range p.plugins {
		names = append(names, plugin.Name)
	}
	return names
}

func caseText(c trial) string {
	text, err := yaml.Marshal(map[string]any{
		"profile": profileText(c.profile), "nodes": c.nodes, "placed": c.pods, "pending": c.pending, "objects": slices.Clone(c.objects),
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
