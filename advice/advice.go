// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodedeclaredfeatures"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/nodevolumelimits"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/plugins/volumerestrictions"
	"github.com/rouse-scheduler/rouse/plugins/volumezone"
	"github.com/rouse-scheduler/rouse/whatif"
)

// Options limit the search. The zero value is the default.
type Options struct {
	// Suggestions is how many to return at most; zero means 5.
	Suggestions int
	// Nodes is how many nodes are looked at, those with the fewest blockers; zero means 8.
	Nodes int
	// Forks is how many combinations of changes are tried at most; zero means 400.
	Forks int
}

// For returns the smallest changes with which a node takes a pod: of all that were found, those with the fewest changes. There are
// none if the pod has a node, or fits as it is, or if nothing was found. The pod is looked up in the cluster by its
// name, and added if it is not there. The cluster does not change.
func For(ctx context.Context, cluster *whatif.Cluster, pod *v1.Pod, options Options) ([]inspect.Suggestion, error) {
	options.Suggestions = cmp.Or(options.Suggestions, 5)
	found, err := find(ctx, cluster, pod, options)
	if err != nil {
		return nil, fmt.Errorf("looking for what would let pod %s/%s be scheduled: %w", pod.Namespace, pod.Name, err)
	}
	suggestions := []inspect.Suggestion{}
	for _, solution := range found[:min(len(found), options.Suggestions)] {
		suggestions = append(suggestions, solution.suggestion())
	}
	return suggestions, nil
}

// find returns the solutions with the fewest changes, the cheapest first.
func find(ctx context.Context, cluster *whatif.Cluster, pod *v1.Pod, options Options) ([]solution, error) {
	fork := cluster.Fork()
	switch known := fork.Get(pod).(type) {
	case *v1.Pod:
		pod = known
	default:
		if err := fork.Add(pod); err != nil {
			return nil, err
		}
		pod = fork.Get(pod).(*v1.Pod)
	}
	if pod.Spec.NodeName != "" {
		return nil, nil
	}
	s := &search{ctx: ctx, view: newView(fork, pod), forks: cmp.Or(options.Forks, 400), tried: map[string]bool{}}
	if _, fits, err := s.fits(nil); err != nil || fits {
		return nil, err
	}
	blockers, err := fork.Explain(ctx, pod)
	if err != nil {
		return nil, err
	}
	if err := s.run(blockers, cmp.Or(options.Nodes, 8)); err != nil {
		return nil, err
	}
	return s.best(), nil
}

// fixesFor returns the alternatives that may remove a blocker of a node.
func (v *view) fixesFor(node *v1.Node, blocker *inspect.Blocker) []fix {
	propose := map[string]func(*v1.Node, []string) []fix{
		dynamicresources.Name:     v.devices,
		interpodaffinity.Name:     v.affinity,
		nodeaffinity.Name:         v.labels,
		nodedeclaredfeatures.Name: v.declare,
		noderesourcesfit.Name:     v.room,
		nodeunschedulable.Name:    v.uncordon,
		nodevolumelimits.Name:     v.volumeLimit,
		podtopologyspread.Name:    v.spread,
		tainttoleration.Name:      v.taints,
		volumebinding.Name:        v.storage,
		volumerestrictions.Name:   v.volumeConflict,
		volumezone.Name:           v.zone,
	}[blocker.Plugin]
	if propose == nil {
		propose = v.clear
	}
	reasons := strings.Split(blocker.Reason, "; ")
	for i, reason := range reasons {
		reasons[i], _, _ = strings.Cut(reason, inspect.ReservedFor)
	}
	fixes := propose(node, reasons)
	if len(v.nominated[node.Name]) > 0 && strings.Contains(blocker.Reason, inspect.ReservedFor) {
		fixes = append(fixes, v.endAll(v.nominated[node.Name])...)
	}
	return slices.DeleteFunc(fixes, func(f fix) bool { return len(f) == 0 })
}

// everywhere returns what may remove the blockers of all nodes.
func (v *view) everywhere(blockers []inspect.Blocker) [][]fix {
	var groups [][]fix
	for _, gate := range v.removeGates() {
		groups = append(groups, []fix{{gate}})
	}
	for i := range blockers {
		var fixes []fix
		switch blockers[i].Plugin {
		case volumebinding.Name, volumezone.Name, nodevolumelimits.Name:
			fixes = v.claims()
		case volumerestrictions.Name:
			fixes = v.volumeConflict(nil, []string{volumerestrictions.ReasonClaimInUse})
		default:
			continue
		}
		groups = append(groups, slices.DeleteFunc(fixes, func(f fix) bool { return len(f) == 0 }))
	}
	return groups
}
