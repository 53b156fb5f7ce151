// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// tableBudget is how many bytes the tables of a plugin may take where it shares no budget with others.
const tableBudget = 96 << 20

// tables are the tables of pods that came by lately, and what they are made of.
type tables struct {
	mu     sync.Mutex
	shared *topology.Shared
	kept   lru.Cache[cacheable]
	// key and partKey are working space.
	key, partKey []byte
}

// cacheable is a table, a placement or a selection.
type cacheable interface{ Bytes() int }

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
	t := &pl.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	shared := topology.SharedOnce(nodes)
	if lasting {
		if shared = topology.SharedOf(nodes, t.shared); shared != t.shared {
			t.shared = shared
			t.kept.Clear()
			t.kept.Join(lru.BudgetOf(nodes, tableBudget), &t.mu)
		}
	}
	shared.Lock()
	defer shared.Unlock()
	if !lasting {
		return pl.makeTable(pod, group, shared, once{shared, pl.forEach})
	}
	t.key = pl.appendKey(append(t.key[:0], 't'), pod, group)
	t.kept.EndCycle() // measures what was used for the pod before this one
	if found := t.kept.Get(t.key); found != nil {
		table := found.Value.(*table)
		table.sync(shared)
		return table, nil
	}
	table, err := pl.makeTable(pod, group, shared, kept{t, pod, pl.forEach})
	if table == nil {
		return nil, err
	}
	t.kept.Put(t.key, table)
	return table, nil
}

// once makes parts for a table that is used once.
type once struct {
	shared  *topology.Shared
	forEach topology.ForEach
}

func (o once) placementOf(rules *rules, c *constraint) *placement {
	return newPlacement(rules, c, o.shared)
}

func (o once) selectionOf(rules *rules, c *constraint) *topology.Selection {
	return topology.NewSelection(o.shared, rules.query(c), o.forEach)
}

// kept finds or makes the parts for a table that is kept.
type kept struct {
	*tables
	pod     *v1.Pod
	forEach topology.ForEach
}

func (k kept) placementOf(rules *rules, c *constraint) *placement {
	k.partKey = appendPlacementKey(append(k.partKey[:0], 'p'), rules, c, k.pod)
	if found := k.kept.Get(k.partKey); found != nil {
		return found.Value.(*placement)
	}
	made := newPlacement(rules, c, k.shared)
	k.kept.Put(k.partKey, made)
	return made
}

func (k kept) selectionOf(rules *rules, c *constraint) *topology.Selection {
	k.partKey = framework.AppendKeyString(append(k.partKey[:0], 's'), rules.namespace)
	k.partKey = framework.AppendKeyString(k.partKey, c.selector.String())
	if found := k.kept.Get(k.partKey); found != nil {
		return found.Value.(*topology.Selection)
	}
	made := topology.NewSelection(k.shared, rules.query(c), k.forEach)
	k.kept.Put(k.partKey, made)
	return made
}

// makeTable returns a new table that is up to date; nil if there are no constraints.
func (pl *plugin) makeTable(pod *v1.Pod, group constraintGroup, shared *topology.Shared, parts parts) (*table, error) {
	constraints, err := pl.constraintsOf(pod, group)
	if err != nil || len(constraints) == 0 {
		return nil, err
	}
	hard := group.action == v1.DoNotSchedule
	// Soft constraints of the system must do for nodes without zones too.
	allKeys := hard || group.own || !pl.systemDefaults
	made := newTable(newRules(pod, constraints, allKeys), shared, hard, parts)
	made.sync(shared)
	return made, nil
}

// forEach runs a loop on all cores.
func (pl *plugin) forEach(count int, do func(i int)) {
	pl.handle.Parallelizer().Until(context.Background(), count, do, Name)
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
