// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeaffinity is the plugin NodeAffinity: a pod goes only to nodes that match its node selector and its
// required node affinity, and prefers those that match its preferred node affinity. A profile can add an affinity of its
// own to all its pods.
//
//   - Extension points: PreFilter, Filter, PreScore, Score with normalisation, Sign.
//   - Arguments: NodeAffinityArgs. AddedAffinity is required and preferred of every pod of the profile.
//   - Wakes on: a node is added, or its labels change, so that it matches.
//   - Reads: the pod's spec, the labels and the name of the node; pods on the node don't matter. The normalised score
//     depends on all nodes that are left.
package nodeaffinity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "NodeAffinity"

const (
	// reasonPod is why a node is rejected that the pod does not want.
	reasonPod = "node(s) didn't match Pod's node affinity/selector"
	// reasonEnforced is why a node is rejected that the profile does not want.
	reasonEnforced = "node(s) didn't match scheduler-enforced node affinity"
	// reasonConflict is why a pod is rejected whose terms name nodes, but none that satisfies one of them.
	reasonConflict = "pod affinity terms conflict"
)

var (
	_ fwk.PreFilterPlugin       = &plugin{}
	_ fwk.FilterPlugin          = &plugin{}
	_ fwk.PreScorePlugin        = &plugin{}
	_ fwk.ScorePlugin           = &plugin{}
	_ fwk.ScoreExtensions       = &plugin{}
	_ fwk.EnqueueExtensions     = &plugin{}
	_ fwk.SignPlugin            = &plugin{}
	_ framework.HintClassPlugin = &plugin{}
)

// plugin implements NodeAffinity. Nothing in it changes after New.
type plugin struct {
	// addedRequired and addedPreferred are the affinity of the profile; nil if it adds none.
	addedRequired  *nodeaffinity.NodeSelector
	addedPreferred *nodeaffinity.PreferredSchedulingTerms
}

// New builds the plugin from *configv1.NodeAffinityArgs, where nil means all defaults; the handle is not used.
func New(_ context.Context, object apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.NodeAffinityArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	pl := &plugin{}
	if args.AddedAffinity != nil {
		if err := pl.add(args.AddedAffinity); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// add parses the affinity of the profile. An empty list of preferred terms is no preference.
func (pl *plugin) add(affinity *v1.NodeAffinity) error {
	var err error
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		if pl.addedRequired, err = nodeaffinity.NewNodeSelector(required); err != nil {
			return fmt.Errorf("parsing the required terms of addedAffinity: %w", err)
		}
	}
	if preferred := affinity.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
		if pl.addedPreferred, err = nodeaffinity.NewPreferredSchedulingTerms(preferred); err != nil {
			return fmt.Errorf("parsing the preferred terms of addedAffinity: %w", err)
		}
	}
	return nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
