// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package defaultpreemption is the plugin DefaultPreemption: a pod that fits nowhere gets a node on which pods of lower
// priority are evicted for it. How it finds them is told by package preemption, which other plugins can build on too.
//
//   - Extension points: PostFilter; PreEnqueue, which holds a pod back while its victims are being evicted. Of
//     PodGroupPostFilter it makes no use, because pod groups are not scheduled as one.
//   - Arguments: DefaultPreemptionArgs. MinCandidateNodesPercentage and MinCandidateNodesAbsolute say how many nodes with
//     victims are enough to choose from: a share of the nodes that may become feasible, but at least so many.
//   - Wakes on: the node that is nominated for a pod is deleted or changes, or is no longer nominated for it, so that
//     the pod need not wait any longer for its victims there to end. It registers the deletion of assigned pods, too,
//     so that a pod that it holds back is asked about again then; whether the pod fits is for the plugins to say that
//     rejected it. If preemption helps nowhere, those that rejected the pod in dry runs count among them.
//   - Reads: all nodes and the pods on them, disruption budgets, and the nodes that are nominated for pods.
//
// It writes to the API: victims get the condition DisruptionTarget and are deleted, and less important pods lose the
// nomination for the node.
package defaultpreemption

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "DefaultPreemption"

var (
	_ fwk.PreEnqueuePlugin         = &plugin{}
	_ fwk.PostFilterPlugin         = &plugin{}
	_ fwk.PodGroupPostFilterPlugin = &plugin{}
	_ fwk.EnqueueExtensions        = &plugin{}
	_ framework.HintClassPlugin    = &plugin{}
)

// plugin implements DefaultPreemption.
type plugin struct {
	evaluator *preemption.Evaluator
	hooks     *preemption.DefaultHooks
}

// New builds the plugin from *configv1.DefaultPreemptionArgs, where nil means all defaults. The handle must have an
// informer factory.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return build(object, handle, false)
}

// NewSynchronous is like [New], but the plugin evicts pods before the scheduling cycle goes on, not in the background.
func NewSynchronous(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return build(object, handle, true)
}

func build(object apiruntime.Object, handle fwk.Handle, synchronous bool) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.DefaultPreemptionArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	hooks := preemption.NewDefaultHooks(preemption.HooksOptions{
		Handle:                      handle,
		MinCandidateNodesPercentage: ptr.Deref(args.MinCandidateNodesPercentage, 0),
		MinCandidateNodesAbsolute:   ptr.Deref(args.MinCandidateNodesAbsolute, 0),
	})
	evaluator, err := preemption.NewEvaluator(preemption.Options{
		PluginName: Name, Handle: handle, Hooks: hooks, Synchronous: synchronous,
	})
	if err != nil {
		return nil, err
	}
	return &plugin{evaluator: evaluator, hooks: hooks}, nil
}

// PreemptionHooks returns what the plugin decides by, for those who want to know what it would do without having it done,
// such as an audit. Any plugin that preempts can have such a method.
func (pl *plugin) PreemptionHooks() preemption.Hooks { return pl.hooks }

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
