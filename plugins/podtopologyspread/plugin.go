// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podtopologyspread is the plugin PodTopologySpread: the pods that belong together are spread over the topology
// domains of a cluster, such as its zones or its nodes (KEP-895). A domain is the nodes that have the same value for a
// label, the topology key. A constraint with whenUnsatisfiable DoNotSchedule keeps a pod from a node whose domain would
// then have more than maxSkew such pods above the domain with the fewest; with ScheduleAnyway, nodes in domains with few
// such pods are preferred.
//
//   - Extension points: PreFilter with AddPod and RemovePod, Filter, PreScore, Score with normalisation, Sign.
//   - Arguments: PodTopologySpreadArgs. The constraints of pods that have none of their own: a list, or those of the
//     system, which prefer few pods in a node and a zone. They apply to pods of a service or of a controller.
//   - Wakes on: an assigned pod that a constraint counts is added, deleted or gets other labels; a node with the topology
//     keys is added or deleted, or gets other labels or taints; the pod itself gets other labels or tolerations.
//   - Reads: the pod's namespace, labels, constraints, tolerations and node affinity; labels and taints of all nodes,
//     and all pods on them. With constraints of the profile also services and the controller of the pod.
//
// Pods in deletion are not counted. A constraint whose selector is empty selects every pod of the namespace, but counts
// none; one without a selector selects none.
package podtopologyspread

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "PodTopologySpread"

const (
	// reasonSkew is why a node is rejected whose domain has too many of the pods already.
	reasonSkew = "node(s) didn't match pod topology spread constraints"
	// reasonLabel is why a node is rejected that is in no domain, because it lacks the label.
	reasonLabel = reasonSkew + " (missing required label)"
)

var (
	_ fwk.PreFilterPlugin          = &plugin{}
	_ fwk.PreFilterExtensions      = &plugin{}
	_ fwk.FilterPlugin             = &plugin{}
	_ fwk.PreScorePlugin           = &plugin{}
	_ fwk.ScorePlugin              = &plugin{}
	_ fwk.ScoreExtensions          = &plugin{}
	_ fwk.EnqueueExtensions        = &plugin{}
	_ fwk.SignPlugin               = &plugin{}
	_ framework.HintClassPlugin    = &plugin{}
	_ framework.FilterGroupsPlugin = &plugin{}
	_ framework.ScoreGroupsPlugin  = &plugin{}
)

// plugin implements PodTopologySpread. It is safe for concurrent use, but the snapshot of its handle must not change while
// a scheduling cycle runs.
type plugin struct {
	handle fwk.Handle
	// defaults are the constraints of pods without any; systemDefaults is set if they are not those of the arguments.
	defaults       []v1.TopologySpreadConstraint
	systemDefaults bool
	// owners finds the pods that belong together where the constraints don't say; nil without defaults.
	owners *owners
	// tables has the counts, and scoring working space, of type *scoring.
	tables  tables
	scoring sync.Pool
	// lacksLabel and skewed are what FilterBatch says of nodes.
	lacksLabel, skewed *fwk.Status
}

// New builds the plugin from *configv1.PodTopologySpreadArgs, where nil means all defaults. Where the profile has
// constraints for pods without any, as it does by default, the handle must have an informer factory.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.PodTopologySpreadArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	if handle == nil {
		return nil, fmt.Errorf("plugin %s needs a handle", Name)
	}
	pl := &plugin{
		handle:     handle,
		defaults:   args.DefaultConstraints,
		lacksLabel: fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonLabel).WithPlugin(Name),
		skewed:     fwk.NewStatus(fwk.Unschedulable, reasonSkew).WithPlugin(Name),
	}
	if args.DefaultingType == configv1.SystemDefaulting {
		pl.defaults, pl.systemDefaults = systemConstraints(), true
	}
	if len(pl.defaults) > 0 {
		factory, err := pluginargs.Informers(Name, "services and controllers", handle)
		if err != nil {
			return nil, err
		}
		if pl.owners, err = newOwners(factory); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// systemConstraints are the constraints of pods without any where the arguments leave that to the system.
func systemConstraints() []v1.TopologySpreadConstraint {
	return []v1.TopologySpreadConstraint{
		{TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 3},
		{TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, MaxSkew: 5},
	}
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
