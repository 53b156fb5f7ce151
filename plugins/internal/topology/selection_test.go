// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// counted is a selection that is followed at its own pace, with the sums by zone.
type counted struct {
	name       string
	query      topology.Query
	pods       *topology.Selection
	position   topology.Position
	sums       topology.Sparse[int64]
	everySteps int
	addedUp    int
}

func (c *counted) sync(shared *topology.Shared) {
	shared.Lock()
	defer shared.Unlock()
	c.pods.Sync()
	zones := shared.Domains("zone")
	add := func(domain int32, delta int64) { c.sums.Add(domain, delta) }
	if !c.position.Follow(zones.Moves(), c.pods, zones.ByNode(), add) {
		c.sums = topology.AddUp(c.pods, zones.ByNode())
		c.addedUp++
	}
}

// check compares with a look at all pods.
func (c *counted) check(t *testing.T, shared *topology.Shared, nodes *fixture.IndexedNodes) {
	t.Helper()
	zones := shared.Domains("zone")
	sums := map[string]int64{}
	for index := range nodes.IndexCount() {
		want := int32(0)
		if info := nodes.NodeAt(index); info != nil {
			for _, each := range info.GetPods() {
				if pod := each.GetPod(); c.query.Matches(pod.Namespace, pod.Labels, pod.DeletionTimestamp != nil) {
					want++
				}
			}
			if zone, ok := info.Node().Labels["zone"]; ok {
				sums[zone] += int64(want)
			}
		}
		if got := c.pods.ByNode.At(int32(index)); got != want {
			t.Fatalf("%s: node %d has %d pods, want %d", c.name, index, got, want)
		}
	}
	nonzero := 0
	for zone, want := range sums {
		if got := c.sums.At(zones.Number(zone)); got != want {
			t.Fatalf("%s: zone %s has %d pods, want %d", c.name, zone, got, want)
		}
		if want != 0 {
			nonzero++
		}
	}
	if c.sums.Nonzero() != nonzero {
		t.Fatalf("%s: %d zones have pods, want %d", c.name, c.sums.Nonzero(), nonzero)
	}
}

// queries select pods in all ways: by namespaces, by labels, by none.
func queries(t *testing.T) []*counted {
	t.Helper()
	var all []*counted
	for _, namespaces := range [][]string{{"a"}, {"a", "b"}, {}, {"a", "b", "c", "d", "e", "f", "g", "h", "i"}, nil} {
		for _, text := range []string{"", "app=x", "app in (x,y)", "app in (x,x)", "app!=x", "app,one", "!app", "app=x,pod", "pod notin (p3)", "app in (0,1,2,3,4,5,6,7,8,9,x)"} {
			selector, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "(x,x)") { // which Parse drops, and the API server does not
				twice, err := labels.NewRequirement("app", selection.In, []string{"x", "x"})
				if err != nil {
					t.Fatal(err)
				}
				selector = labels.NewSelector().Add(*twice)
			}
			in := map[string]bool{}
			for _, namespace := range namespaces {
				in[namespace] = true
			}
			alive := len(all)%2 == 0
			all = append(all, &counted{name: fmt.Sprintf("%v %q", namespaces, text), everySteps: 1 + len(all)%3*len(all)%40, query: topology.Query{
				Namespaces: namespaces, Selector: selector,
				Matches: func(namespace string, own labels.Set, terminating bool) bool {
					return (namespaces == nil || in[namespace]) && selector.Matches(own) && !(alive && terminating)
				},
			}})
		}
	}
	return all
}

func randomPod(random *rand.Rand, name string) *v1.Pod {
	pod := objects.Pod(name).Build()
	pod.Namespace, pod.Labels = pickText(random, "a", "a", "b", "z"), map[string]string{}
	if random.IntN(4) > 0 {
		pod.Labels["app"] = pickText(random, "x", "y", "z")
	}
	if random.IntN(3) == 0 {
		pod.Labels["pod"] = name
	}
	if random.IntN(3) == 0 {
		pod.Labels["one"] = ""
	}
	if random.IntN(6) == 0 {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return pod
}

func pickText(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

// crowd changes the pods of a node: some go, some change in place, some come, and now and then all do.
func crowd(random *rand.Rand, nodes *fixture.IndexedNodes, index, most int) {
	labels := map[string]string{"zone": fmt.Sprintf("z%d", random.IntN(4))}
	if random.IntN(10) == 0 {
		labels = nil
	}
	node := objects.Node(fmt.Sprintf("n%d", index)).With(func(node *v1.Node) { node.Labels = labels }).Build()
	info := framework.NewNodeInfo()
	info.SetNode(node)
	if before := nodes.NodeAt(index); before != nil {
		if random.IntN(3) > 0 {
			info.SetNode(before.Node())
		}
		for _, pod := range before.GetPods() {
			switch random.IntN(12) {
			case 0:
			case 1:
				info.AddPod(randomPod(random, pod.GetPod().Name))
			case 2: // the same in another place in memory, as after an update of its status
				info.AddPod(pod.GetPod().DeepCopy())
			default:
				info.AddPodInfo(pod)
			}
		}
	}
	for range random.IntN(most) {
		info.AddPod(randomPod(random, fmt.Sprintf("p%d", random.IntN(40))))
	}
	nodes.Set(index, info)
}

// TestSelectionsFollowPods has selections followed at different paces, while pods and nodes come, change and go.
func TestSelectionsFollowPods(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for round := range 4 {
		var nodes fixture.IndexedNodes
		shared := topology.SharedOf(&nodes, nil)
		all := queries(t)
		for step := range 150 {
			for range random.IntN(4) {
				if index := random.IntN(8); random.IntN(10) == 0 {
					nodes.Set(index, nil)
				} else {
					crowd(random, &nodes, index, 1+random.IntN(5))
				}
			}
			if round == 3 && step%50 == 49 { // more than is remembered
				for range 40 {
					crowd(random, &nodes, random.IntN(8), 600)
					shared.Lock()
					shared.Pods()
					shared.Unlock()
				}
				for index := range 8 {
					nodes.Set(index, nil)
				}
			}
			for _, c := range all {
				if step%c.everySteps != 0 {
					continue
				}
				if c.pods == nil {
					c.pods = topology.NewSelection(shared, c.query, inParallel)
				}
				c.sync(shared)
				c.check(t, shared, &nodes)
			}
		}
		for _, c := range all {
			if c.addedUp > 20 {
				t.Errorf("%s was added up %d times instead of being followed", c.name, c.addedUp)
			}
		}
	}
}

// inParallel is a ForEach.
func inParallel(count int, do func(i int)) {
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

// TestSelectionsOfNodesThatDontLast counts the pods of a list of nodes.
func TestSelectionsOfNodesThatDontLast(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	var nodes fixture.IndexedNodes
	for index := range 200 {
		crowd(random, &nodes, index, 6)
	}
	nodes.Set(7, nil)
	for _, c := range queries(t) {
		shared := topology.SharedOnce(&nodes)
		c.pods = topology.NewSelection(shared, c.query, inParallel)
		c.sync(shared)
		c.check(t, shared, &nodes)
	}
}

// TestManyLabelSets has more label sets than are matched one after the other, and lets most of them go.
func TestManyLabelSets(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	var nodes fixture.IndexedNodes
	for index := range 60 {
		info := fixture.NodeInfo(objects.Node(fmt.Sprintf("n%d", index)).Label("zone", "z").Build())
		for i := range 100 {
			pod := randomPod(random, fmt.Sprintf("p%d", i))
			pod.Labels["own"] = fmt.Sprintf("%d-%d", index, i)
			info.AddPod(pod)
		}
		nodes.Set(index, info)
	}
	shared := topology.SharedOf(&nodes, nil)
	for _, c := range queries(t) {
		c.pods = topology.NewSelection(shared, c.query, inParallel)
		c.sync(shared)
		c.check(t, shared, &nodes)
		crowd(random, &nodes, random.IntN(60), 4)
		c.sync(shared)
		c.check(t, shared, &nodes)
	}
}

// TestSharedIsKeptWithTheSnapshot checks that plugins find what others made.
func TestSharedIsKeptWithTheSnapshot(t *testing.T) {
	keeper := &keepingNodes{}
	first := topology.SharedOf(keeper, nil)
	if topology.SharedOf(keeper, nil) != first {
		t.Error("a snapshot that keeps data for plugins has two of them")
	}
	var nodes fixture.IndexedNodes
	last := topology.SharedOf(&nodes, nil)
	if topology.SharedOf(&nodes, last) != last {
		t.Error("what a caller has kept of a snapshot is made again")
	}
	if topology.SharedOf(&fixture.IndexedNodes{}, last) == last {
		t.Error("what is known of one snapshot is taken for that of another")
	}
}

type keepingNodes struct {
	fixture.IndexedNodes
	data any
}

func (k *keepingNodes) Data(_ any, create func() any) any {
	if k.data == nil {
		k.data = create()
	}
	return k.data
}
