// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interpodaffinity is the plugin InterPodAffinity: a pod goes where the pods are that it has affinity to, and not
// where those are that it has anti-affinity to, nor where a pod has anti-affinity to it. Where a pod is counts by topology
// domain: the nodes that have the same value for a label, the topology key.
//
//   - Extension points: PreFilter with AddPod and RemovePod, Filter, PreScore, Score with normalisation, Sign.
//   - Arguments: InterPodAffinityArgs. HardPodAffinityWeight is the weight of a required affinity of a pod on a node, when
//     it matches the pod being scheduled; IgnorePreferredTermsOfExistingPods saves looking for preferences of pods on
//     nodes where the pod being scheduled has none.
//   - Wakes on: an assigned pod is added, deleted or gets other labels, so that an affinity of the waiting pod is met, or
//     an anti-affinity of either no longer violated; a node that affinity terms can be about is added, deleted, or moves
//     to another domain; the pod itself gets other labels.
//   - Reads: the pod's namespace, the labels of that, its labels and affinity terms; the labels of all nodes, and all pods
//     on them. Which namespaces a term of the pod selects is looked up once a scheduling cycle.
//
// Other than for topology spread, pods in deletion count.
package interpodaffinity

import (
	"context"
	"sync"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "InterPodAffinity"

const (
	// ReasonAffinity is why a node is rejected that is not where the pods are that the pod has affinity to.
	ReasonAffinity = "node(s) didn't match pod affinity rules"
	// ReasonAntiAffinity is why a node is rejected that is where a pod is that the pod has anti-affinity to.
	ReasonAntiAffinity = "node(s) didn't match pod anti-affinity rules"
	// ReasonExistingAntiAffinity is why a node is rejected that is where a pod is that has anti-affinity to the pod.
	ReasonExistingAntiAffinity = "node(s) didn't satisfy existing pods anti-affinity rules"
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
	_ framework.ScoreGroupsPlugin  = &plugin{}
	_ framework.FilterGroupsPlugin = &plugin{}
)

// plugin implements InterPodAffinity. It is safe for concurrent use, but the snapshot of its handle must not change while
// a scheduling cycle runs.
type plugin struct {
	handle     fwk.Handle
	namespaces corelisters.NamespaceLister
	// antiAffinityPods has the existing pods with required anti-affinity, by their node and by topology key, for hints.
	antiAffinityPods clientcache.Indexer
	// hardWeight is the weight of a required affinity of a pod on a node.
	hardWeight int64
	// ownPreferencesOnly: a pod without preferences is not scored.
	ownPreferencesOnly bool
	rejections         rejections
	noIncomingTerms    incomingTerms
	// scoring is working space, of type *scoring. roles is that of findRejecting, used until the next PreFilter.
	scoring sync.Pool
	roles   [][]role

	// mu guards lasting: what is kept of the snapshot from cycle to cycle.
	mu   sync.Mutex
	kept *snapshotCounts
	// incoming are the terms of pods that came by lately, of kept.
	incoming lru.Cache[*incomingTerms]
}

// New builds the plugin from *configv1.InterPodAffinityArgs, where nil means all defaults. The handle must have an
// informer factory; New adds an index to its informer of pods.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.InterPodAffinityArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	factory, err := pluginargs.Informers(Name, "the labels of namespaces", handle)
	if err != nil {
		return nil, err
	}
	antiAffinityPods, err := indexAntiAffinityPods(factory.Core().V1().Pods().Informer())
	if err != nil {
		return nil, err
	}
	return &plugin{
		handle:             handle,
		antiAffinityPods:   antiAffinityPods,
		namespaces:         factory.Core().V1().Namespaces().Lister(),
		hardWeight:         int64(ptr.Deref(args.HardPodAffinityWeight, 0)),
		ownPreferencesOnly: args.IgnorePreferredTermsOfExistingPods,
		rejections:         newRejections(),
	}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
