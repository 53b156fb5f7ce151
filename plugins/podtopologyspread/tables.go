// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// tableBudget is how many bytes the tables of a plugin may take.
const tableBudget = 96 << 20

// tables are the tables of pods that came by lately.
type tables struct {
	mu      sync.Mutex
	nodes   framework.IndexedSnapshot
	domains topology.SharedDomains
	kept    lru.Cache[*table]
	key     []byte
}

// constraintGroup is a part of the constraints of a pod: those with one of the two actions.
type constraintGroup struct {
	action v1.UnsatisfiableConstraintAction
	// own are constraints of the pod; otherwise they are those of the profile, for the pods that owner selects.
	own   bool
	owner ownerSelector
}

// groupOf finds out which constraints with an action apply to a pod; false if none does.
func (pl *plugin) groupOf(pod *v1.Pod, action v1.UnsatisfiableConstraintAction) (constraintGroup, bool) {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return constraintGroup{action: action, own: true}, hasAction(pod.Spec.TopologySpreadConstraints, action)
	}
	if !hasAction(pl.defaults, action) {
		return constraintGroup{}, false
	}
	selection := pl.owners.selectorOf(pod)
	return constraintGroup{action: action, owner: selection}, !selection.empty()
}

// tableFor returns the table, up to date, for the constraints of a pod with an action; nil if there are none. A table
// that lasts is shared with pods that are alike.
func (pl *plugin) tableFor(pod *v1.Pod, action v1.UnsatisfiableConstraintAction, nodes framework.IndexedSnapshot, lasting bool) (*table, error) {
	group, ok := pl.groupOf(pod, action)
	if !ok {
		return nil, nil
	}
	if !lasting {
		return pl.makeTable(pod, group, nodes, &topology.SharedDomains{})
	}
	t := &pl.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes != nodes {
		t.nodes, t.domains = nodes, topology.SharedDomains{}
		t.kept.Clear()
		t.kept.Budget = tableBudget
	}
	t.key = pl.appendKey(t.key[:0], pod, group)
	t.kept.EndCycle() // measures the table of the pod before this one
	if found := t.kept.Get(t.key); found != nil {
		found.Value.sync(&t.domains)
		return found.Value, nil
	}
	table, err := pl.makeTable(pod, group, nodes, &t.domains)
	if table == nil {
		return nil, err
	}
	t.kept.Put(t.key, table)
	return table, nil
}

// makeTable returns a new table that is up to date; nil if there are no constraints.
func (pl *plugin) makeTable(pod *v1.Pod, group constraintGroup, nodes framework.IndexedSnapshot, shared *topology.SharedDomains) (*table, error) {
	constraints, err := pl.constraintsOf(pod, group)
	if err != nil || len(constraints) == 0 {
		return nil, err
	}
	hard := group.action == v1.DoNotSchedule
	// Soft constraints of the system must do for nodes without zones too.
	allKeys := hard || group.own || !pl.systemDefaults
	made := newTable(newRules(pod, constraints, allKeys), nodes, shared, hard)
	made.sync(shared)
	return made, nil
}

// appendKey appends everything that a table depends on.
func (pl *plugin) appendKey(key []byte, pod *v1.Pod, group constraintGroup) []byte {
	key = framework.AppendKeyString(key, pod.Namespace)
	key = framework.AppendKeyString(key, string(group.action))
	anyAffinity, anyTaints := false, false
	written := pl.defaults
	if group.own {
		written = pod.Spec.TopologySpreadConstraints
		key = append(key, 'o')
	} else {
		key = append(key, 'd')
		key = podkeys.LabelSelector(podkeys.Map(key, group.owner.values), group.owner.ofController)
	}
	for i := range written {
		c := &written[i]
		if c.WhenUnsatisfiable != group.action {
			continue
		}
		anyAffinity, anyTaints = anyAffinity || honorsAffinity(c), anyTaints || honorsTaints(c)
		if group.own {
			key = appendConstraint(key, c, pod)
		}
	}
	if anyAffinity {
		key = podkeys.RequiredNodeAffinity(append(key, 'a'), pod)
	}
	if anyTaints {
		key = podkeys.Tolerations(append(key, 't'), pod.Spec.Tolerations)
	}
	return key
}

func appendConstraint(key []byte, c *v1.TopologySpreadConstraint, pod *v1.Pod) []byte {
	key = framework.AppendKeyString(append(key, 'c'), c.TopologyKey)
	key = framework.AppendKeyInt(key, int64(c.MaxSkew))
	if c.MinDomains != nil {
		key = framework.AppendKeyInt(append(key, 'm'), int64(*c.MinDomains))
	}
	if !honorsAffinity(c) {
		key = append(key, 'a')
	}
	if honorsTaints(c) {
		key = append(key, 't')
	}
	key = podkeys.LabelSelector(append(key, 's'), c.LabelSelector)
	for _, name := range c.MatchLabelKeys {
		if value, ok := pod.Labels[name]; ok {
			key = framework.AppendKeyString(framework.AppendKeyString(append(key, 'v'), name), value)
		}
	}
	return append(key, '.')
}
