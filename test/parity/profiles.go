// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/profiles"
)

// defaultPlugins returns the plugins of the default profile, in their order, without those that every profile of this
// package has.
func defaultPlugins() []configv1.Plugin {
	return slices.DeleteFunc(profiles.DefaultPlugins(), func(p configv1.Plugin) bool {
		return p.Name == "PrioritySort" || p.Name == "DefaultBinder"
	})
}

// all returns a profile of the plugins with default arguments.
func all(listed []configv1.Plugin) profile {
	p := profile{plugins: slices.Clone(listed), args: map[string]apiruntime.Object{}}
	for _, plugin := range listed {
		if args := profiles.DefaultArgs(plugin.Name); args != nil {
			p.args[plugin.Name] = args
		}
	}
	return p
}

// profile returns one plugin alone, or some in a random order, with random arguments.
func (g *generator) profile(available []configv1.Plugin) profile {
	all := slices.Clone(available)
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p := profile{plugins: all[:1+g.IntN(len(all))], args: map[string]apiruntime.Object{}}
	if g.oneIn(4) {
		p.plugins = p.plugins[:1]
	}
	for i := range p.plugins {
		if g.oneIn(2) {
			p.plugins[i].Weight = ptr.To(1 + g.Int32N(10))
		}
		name := p.plugins[i].Name
		if args := g.args(name); args != nil {
			p.args[name] = args
		}
	}
	return p
}

func (g *generator) args(plugin string) apiruntime.Object {
	args := profiles.DefaultArgs(plugin)
	if g.oneIn(3) {
		return args
	}
	switch args := args.(type) {
	case *configv1.NodeAffinityArgs:
		args.AddedAffinity = g.validNodeAffinity()
	case *configv1.NodeResourcesFitArgs:
		args.IgnoredResources = pick(g, nil, []string{extendedResource})
		args.IgnoredResourceGroups = pick(g, nil, []string{"example.com"})
		args.ScoringStrategy = g.strategy()
	case *configv1.InterPodAffinityArgs:
		args.HardPodAffinityWeight = ptr.To(pick[int32](g, 0, 1, 100))
		args.IgnorePreferredTermsOfExistingPods = g.oneIn(2)
	case *configv1.PodTopologySpreadArgs:
		args.DefaultingType = configv1.ListDefaulting
		args.DefaultConstraints = pick(g, nil, []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule},
			{MaxSkew: 2, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway},
		})
	case *configv1.NodeResourcesBalancedAllocationArgs:
		args.Resources = append(args.Resources, configv1.ResourceSpec{Name: extendedResource, Weight: 1})
	}
	return args
}

func (g *generator) strategy() *configv1.ScoringStrategy {
	strategy := &configv1.ScoringStrategy{
		Type: pick(g, configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio),
		Resources: []configv1.ResourceSpec{
			{Name: "cpu", Weight: 1 + g.Int64N(5)}, {Name: "memory", Weight: 1 + g.Int64N(100)},
		},
	}
	if g.oneIn(2) {
		strategy.Resources = append(strategy.Resources, configv1.ResourceSpec{Name: extendedResource, Weight: 3},
			configv1.ResourceSpec{Name: "ephemeral-storage", Weight: 2})
	}
	if strategy.Type == configv1.RequestedToCapacityRatio {
		strategy.RequestedToCapacityRatio = &configv1.RequestedToCapacityRatioParam{Shape: pick(g,
			[]configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}},
			[]configv1.UtilizationShapePoint{{Utilization: 0, Score: 0}, {Utilization: 37, Score: 7}, {Utilization: 90, Score: 1}},
			[]configv1.UtilizationShapePoint{{Utilization: 50, Score: 5}},
		)}
	}
	return strategy
}

// validNodeAffinity returns an affinity that parses, as the arguments of a plugin must.
func (g *generator) validNodeAffinity() *v1.NodeAffinity {
	term := func() v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
			Key: pick(g, "disk", "zone"), Operator: pick(g, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist),
		}}}
	}
	affinity := &v1.NodeAffinity{}
	if g.oneIn(2) {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term()}}
	}
	if g.oneIn(2) {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 10, Preference: term()}}
	}
	return affinity
}

// profileText is what a report shows of a profile.
func profileText(p profile) any {
	args := map[string]apiruntime.Object{}
	for _, plugin := range p.plugins {
		if own := p.args[plugin.Name]; own != nil {
			args[plugin.Name] = own
		}
	}
	return map[string]any{"plugins": p.plugins, "args": args}
}
