// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// changingNodes is a snapshot whose nodes come, change and go.
type changingNodes struct {
	framework.IndexedSnapshot
	infos   []fwk.NodeInfo
	changes []int
}

func (n *changingNodes) Generation() int64             { return int64(len(n.changes)) }
func (n *changingNodes) IndexCount() int               { return len(n.infos) }
func (n *changingNodes) NodeAt(index int) fwk.NodeInfo { return n.infos[index] }

func (n *changingNodes) ChangedSince(generation int64) iter.Seq[int] {
	return slices.Values(n.changes[generation:])
}

func (n *changingNodes) set(index int, labels map[string]string) {
	n.changes = append(n.changes, index)
	if n.infos[index] = nil; labels != nil {
		info := framework.NewNodeInfo()
		info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(index), Labels: labels}})
		n.infos[index] = info
	}
}

// Totals by groups that follow the changes of nodes and totals come to the same as a look at all nodes.
func TestGroupTotals(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	labels := []string{"rack", "zone"}
	for range 30 {
		nodes := &changingNodes{infos: make([]fwk.NodeInfo, 20)}
		totals := make([]int64, len(nodes.infos))
		for i := range totals {
			totals[i] = NoTotal
		}
		var log ChangeLog
		groups, byGroup := NewGroups(labels), GroupTotals{}
		for range 100 {
			for range random.IntN(3) {
				index := random.IntN(len(nodes.infos))
				switch random.IntN(6) {
				case 0:
					nodes.set(index, nil)
					totals[index] = NoTotal
				case 1:
					nodes.set(index, randomLabels(random, labels))
				}
			}
			for index, info := range nodes.infos {
				if info != nil && random.IntN(4) == 0 {
					totals[index] = total(random)
				}
			}
			log.CatchUp(nodes)
			groups.Sync(&log)
			if !byGroup.Covers(groups) {
				byGroup.Build(groups, totals)
			}
			for index := range totals {
				byGroup.Set(index, totals[index])
			}
			if diff := cmp.Diff(wantGroups(nodes, labels, totals), gotGroups(groups, &byGroup, totals)); diff != "" {
				t.Fatalf("groups (-want +got):\n%s", diff)
			}
		}
	}
}

func randomLabels(random *rand.Rand, names []string) map[string]string {
	labels := map[string]string{}
	for _, name := range names {
		if random.IntN(4) > 0 {
			labels[name] = []string{"", "a", "b"}[random.IntN(3)]
		}
	}
	return labels
}

// groupContents is what is known of a group.
type groupContents struct {
	Best    int64
	Count   int
	Winners []int
}

func wantGroups(nodes *changingNodes, labels []string, totals []int64) map[string]groupContents {
	want := map[string]groupContents{}
	for index, info := range nodes.infos {
		if info == nil || totals[index] == NoTotal {
			continue
		}
		key := keyOf(info.Node(), labels)
		group := want[key]
		group.Count++
		switch {
		case len(group.Winners) == 0 || totals[index] > group.Best:
			group.Best, group.Winners = totals[index], []int{index}
		case totals[index] == group.Best:
			group.Winners = append(group.Winners, index)
		}
		want[key] = group
	}
	return want
}

func keyOf(node *v1.Node, labels []string) (key string) {
	for _, label := range labels {
		value, ok := node.Labels[label]
		key += fmt.Sprintf("%v=%q ", ok, value)
	}
	return key
}

func gotGroups(groups *Groups, byGroup *GroupTotals, totals []int64) map[string]groupContents {
	got := map[string]groupContents{}
	for group := range groups.Len() {
		if byGroup.Count(group) == 0 {
			continue
		}
		contents := groupContents{Best: byGroup.Best(group), Count: byGroup.Count(group)}
		for i := range byGroup.Winners(group) {
			contents.Winners = append(contents.Winners, byGroup.Winner(group, i))
		}
		if all := slices.Collect(byGroup.AllWinners(group)); !slices.Equal(all, contents.Winners) {
			contents.Winners = append(all, -1)
		}
		slices.Sort(contents.Winners)
		got[keyOf(groups.nodes[contents.Winners[0]].object, groups.Labels())] = contents
	}
	for index, want := range totals {
		if _, total := byGroup.Total(index); total != want {
			got[fmt.Sprintf("node %d", index)] = groupContents{Best: total}
		}
	}
	return got
}
