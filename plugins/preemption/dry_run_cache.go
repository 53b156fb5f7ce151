// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// maxCachedKeys is for how many filter keys dry runs are cached. When there are more, all are dropped.
const maxCachedKeys = 8

// dryRunCache has the results of dry runs, until something changes on the node or in the budgets. Pods alike would have
// the same victims there. The zero value is ready.
type dryRunCache struct {
	mu         sync.Mutex
	key        []byte
	nodes      framework.IndexedSnapshot
	generation int64
	budgets    []*policyv1.PodDisruptionBudget
	runs       map[string][]dryRun
}

// use calls search with what is known of pods like this one, by node index, which search completes: a dry run is the zero
// value if it is not known. The list is nil if nothing can be known, because the dry run depends on more than the pod, the
// node and the budgets. Searches that know something run one at a time.
func (k *dryRunCache) use(e *Evaluator, state fwk.CycleState, pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget, search func(known []dryRun)) {
	extended, isExtended := e.handle.(framework.ExtendedHandle)
	hooks, byDefault := e.hooks.(*DefaultHooks)
	nodes, hasIndexes := e.handle.SnapshotSharedLister().(framework.IndexedSnapshot)
	if !isExtended || !byDefault || !hooks.defaultRules || !hasIndexes || len(e.handle.Extenders()) > 0 {
		search(nil)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := extended.AppendFilterKey(k.key[:0], state, pod)
	k.key = binary.LittleEndian.AppendUint32(key, uint32(corev1helpers.PodPriority(pod)))
	if !ok {
		search(nil)
		return
	}
	search(k.forKey(nodes, budgets))
}

// forKey returns what is known of pods with the key k.key. It needs mu.
func (k *dryRunCache) forKey(nodes framework.IndexedSnapshot, budgets []*policyv1.PodDisruptionBudget) []dryRun {
	k.invalidate(nodes, budgets)
	runs := k.runs[string(k.key)]
	if runs == nil && len(k.runs) >= maxCachedKeys {
		clear(k.runs)
	}
	if missing := nodes.IndexCount() - len(runs); missing > 0 {
		runs = append(runs, make([]dryRun, missing)...)
		k.runs[string(k.key)] = runs
	}
	return runs
}

// invalidate drops what is known of nodes that changed, and everything if the budgets did.
func (k *dryRunCache) invalidate(nodes framework.IndexedSnapshot, budgets []*policyv1.PodDisruptionBudget) {
	if k.runs == nil || k.nodes != nodes || !slices.Equal(k.budgets, budgets) {
		k.runs = map[string][]dryRun{}
		k.nodes, k.budgets = nodes, budgets
	} else {
		for index := range nodes.ChangedSince(k.generation) {
			for _, runs := range k.runs {
				if index < len(runs) {
					runs[index] = dryRun{}
				}
			}
		}
	}
	k.generation = nodes.Generation()
}

// orderIsStable reports whether the pods on a node will be ordered later as they are now. Pods that have not started count as
// starting now, which later is after others that are only about to.
func orderIsStable(node fwk.NodeInfo, now time.Time) bool {
	return !slices.ContainsFunc(framework.View(node).Pods(), func(info fwk.PodInfo) bool {
		started := framework.ViewPod(info).StartTime()
		return started != nil && !started.Time.Before(now)
	})
}

// dryRunCached is dryRun for a node of which something may be known.
func (e *Evaluator) dryRunCached(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget, known *dryRun,
) dryRun {
	if known == nil || len(e.handle.NominatedPodsForNode(node.Node().Name)) > 0 { // which count in addition to those on the node
		return e.dryRun(ctx, state, pod, node, budgets)
	}
	if known.node == "" {
		run := e.dryRun(ctx, state, pod, node, budgets)
		if run.status.IsError() || ctx.Err() != nil || !orderIsStable(node, e.evictor.clock.Now()) {
			return run
		}
		*known = run
	}
	return *known
}
