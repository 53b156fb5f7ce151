// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/simulate"
)

// notes is a watcher that writes down what it sees. Runs of Worked and Settled are written once.
type notes struct {
	cluster *simulate.Cluster
	lines   []string
	changes []simulate.Change
}

func (n *notes) add(line string) {
	if last := len(n.lines) - 1; last < 0 || n.lines[last] != line {
		n.lines = append(n.lines, line)
	}
}

func (n *notes) Changed(change simulate.Change) {
	n.changes = append(n.changes, change)
	n.add(fmt.Sprintf("%v %v", n.cluster.Now(), change))
}

func (n *notes) Worked()  { n.add(fmt.Sprintf("%v worked", n.cluster.Now())) }
func (n *notes) Settled() { n.add(fmt.Sprintf("%v settled", n.cluster.Now())) }

func watched(t *testing.T) (*simulate.Cluster, *notes) {
	t.Helper()
	cluster, err := simulate.NewCluster(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	watcher := &notes{cluster: cluster}
	cluster.Watch(watcher)
	return cluster, watcher
}

func TestWatcherSeesEverythingInOrder(t *testing.T) {
	cluster, watcher := watched(t)
	input := parse(t, documents(node("n1", ""), pod("a", "1", ""), pod("b", "5", ""), scenario(
		"{at: 5s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, annotations: {note: hello}}}}",
		"{at: 6s, patch: {apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded}}}",
	)))
	if err := cluster.Replay(input); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"0s Node n1 was added",
		"0s Namespace default was added",
		"0s Pod default/a was added",
		"0s Pod default/b was added",
		"0s worked",                    // a is given a node
		"0s Pod default/a was changed", // it is bound
		"0s worked",                    // b is rejected
		"0s Pod default/b was changed", // its condition says so
		"0s settled",
		"5s settled",
		"5s Node n1 was changed",
		"5s settled",
		"6s settled",
		"6s Pod default/a was deleted", // as far as the scheduler is concerned
		"6s worked",                    // b is tried again, and nothing about it changes
		"6s settled",
	}
	if diff := cmp.Diff(want, watcher.lines); diff != "" {
		t.Errorf("what the watcher saw differs (-want +got):\n%s", diff)
	}
	minor := func(c simulate.Change) bool { return c.Minor }
	for _, change := range watcher.changes {
		if statusOnly := change.Name == "b" && change.Old != nil; minor(change) != statusOnly {
			t.Errorf("%v: minor is %v, want %v", change, minor(change), statusOnly)
		}
	}

	cluster.Watch(nil)
	before := len(watcher.lines)
	if err := cluster.Advance(time.Hour); err != nil {
		t.Fatal(err)
	}
	if len(watcher.lines) != before {
		t.Errorf("the watcher still sees something after it was taken away: %q", watcher.lines[before:])
	}
}

func TestEventsOfChanges(t *testing.T) {
	cluster, watcher := watched(t)
	input := parse(t, documents(node("n1", ", labels: {a: b}"), pod("bound", "1", ", nodeName: n1"), pod("waits", "9", ""),
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: x}",
		"{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}",
		scenario(
			"{at: 1s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {a: c}}, spec: {taints: [{key: k, effect: NoSchedule}]}}}",
			"{at: 2s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {images: [{names: [i]}]}}}",
			"{at: 3s, patch: {apiVersion: v1, kind: Pod, metadata: {name: bound, labels: {x: v}}}}",
			"{at: 4s, patch: {apiVersion: v1, kind: Pod, metadata: {name: waits, labels: {x: v}}}}",
			"{at: 5s, delete: {apiVersion: v1, kind: Pod, metadata: {name: waits}}}",
			"{at: 6s, delete: {apiVersion: v1, kind: Pod, metadata: {name: bound}}}",
			"{at: 7s, delete: {apiVersion: v1, kind: Node, metadata: {name: n1}}}",
		)))
	if err := cluster.Replay(input); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, change := range watcher.changes {
		if change.Minor {
			continue
		}
		var uid types.UID
		if target, isPod := change.New.(*v1.Pod); isPod && target.Name == "waits" && change.Old != nil {
			uid = target.UID // as seen from the pod itself
		}
		var labels []string
		for _, event := range change.Events(uid) {
			labels = append(labels, event.Label())
		}
		slices.Sort(labels)
		got[change.String()] += "[" + strings.Join(labels, " ") + "]"
	}
	want := map[string]string{
		"Namespace default was added":   "[NamespaceAdd]",
		"StorageClass fast was added":   "[storage.k8s.io/StorageClassAdd]",
		"Service default/web was added": "[services.v1.Add]",
		"Node n1 was added":             "[NodeAdd]",
		"Node n1 was changed":           "[NodeUpdateNodeLabel NodeUpdateNodeTaint][]",
		"Node n1 was deleted":           "[NodeDelete]",
		"Pod default/bound was added":   "[AssignedPodAdd]",
		"Pod default/bound was changed": "[AssignedPodUpdatePodLabel]",
		"Pod default/bound was deleted": "[AssignedPodDelete]",
		"Pod default/waits was added":   "[UnscheduledPodAdd]",
		"Pod default/waits was changed": "[TargetPodUpdatePodLabel]",
		"Pod default/waits was deleted": "[UnscheduledPodDelete]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

func TestSnapshotIsUpToDate(t *testing.T) {
	cluster, _ := watched(t)
	for i, text := range []string{node("n1", ""), node("n2", ""), pod("a", "1", ", nodeName: n2")} {
		if err := cluster.Replay(parse(t, text)); err != nil {
			t.Fatal(err)
		}
		snapshot, err := cluster.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := snapshot.NodeCount(), min(i+1, 2); got != want {
			t.Errorf("after %s: %d nodes, want %d", text, got, want)
		}
	}
	snapshot, err := cluster.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	info, err := snapshot.Get("n2")
	if err != nil || len(info.GetPods()) != 1 {
		t.Errorf("node n2 has %d pods (%v), want one", len(info.GetPods()), err)
	}
}

func TestReplayUntil(t *testing.T) {
	text := documents(node("n1", ""), pod("first", "1", ""), scenario(
		"{at: 10s, create: "+pod("second", "1", "")+"}",
		"{create: "+pod("third", "1", "")+"}",
		"{at: 20s, create: "+pod("big", "9", "")+"}",
		"{at: 30s, create: "+pod("last", "1", "")+"}",
	))
	tests := []struct {
		until simulate.Time
		pods  int
		// tries is how often the pod was tried that fits nowhere.
		tries int
	}{
		{0, 1, 0},
		{simulate.Time(10*time.Second - 1), 1, 0},
		{simulate.Time(10 * time.Second), 3, 0},
		{simulate.Time(20 * time.Second), 4, 1},
		{simulate.Time(29 * time.Second), 4, 1},
		{simulate.Time(30 * time.Second), 5, 1},
		{simulate.Time(6 * time.Minute), 5, 2}, // it is tried again because it waited too long
	}
	for _, test := range tests {
		cluster, _ := watched(t)
		if err := cluster.ReplayUntil(parse(t, text), test.until); err != nil {
			t.Fatal(err)
		}
		report := cluster.Report()
		big := states(report)["default/big"]
		if cluster.Now() != test.until || len(report.Pods) != test.pods || big.Attempts != test.tries {
			t.Errorf("until %v: it is %v with %d pods, %d attempts of the big one; want %d pods and %d attempts",
				test.until, cluster.Now(), len(report.Pods), big.Attempts, test.pods, test.tries)
		}
	}
}

// TestReplayUntilDoesNotWaitForPodsToSettle has a step without time that would come after the end, because a pod keeps
// failing until then.
func TestReplayUntilDoesNotWaitForPodsToSettle(t *testing.T) {
	text := documents(pod("no-nodes", "1", ""), scenario("{create: "+pod("second", "1", "")+"}", "{at: 1h, create: "+node("n1", "")+"}"))
	cluster, _ := watched(t)
	end := simulate.Time(2500 * time.Millisecond)
	if err := cluster.ReplayUntil(parse(t, text), end); err != nil {
		t.Fatal(err)
	}
	if report := cluster.Report(); cluster.Now() != end || len(report.Pods) != 1 {
		t.Errorf("it is %v with %d pods, want %v and one pod, which still backs off", cluster.Now(), len(report.Pods), end)
	}
}
