// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/whatif"
)

func newCluster(t testing.TB, options whatif.Options) *whatif.Cluster {
	t.Helper()
	cluster, err := whatif.New(t.Context(), options)
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close()) })
	return cluster
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dump writes everything that is in a cluster.
func dump(t testing.TB, cluster *whatif.Cluster) string {
	t.Helper()
	var text strings.Builder
	for _, o := range cluster.Objects() {
		data, err := json.Marshal(o)
		must(t, err)
		fmt.Fprintf(&text, "%T %s\n", o, data)
	}
	return text.String()
}

// nodesFor returns the names of the nodes that take a pod.
func nodesFor(t testing.TB, cluster *whatif.Cluster, pod *v1.Pod) string {
	t.Helper()
	fit, err := cluster.Fits(context.Background(), pod)
	must(t, err)
	if (len(fit.Nodes) == 0) != (fit.Reason != nil) {
		t.Errorf("nodes %v take the pod, and the reason why none does is: %v", fit.Nodes, fit.Reason)
	}
	return strings.Join(fit.Nodes, " ")
}

func twoNodes() []apiruntime.Object {
	return []apiruntime.Object{
		objects.Node("a").Capacity("cpu", "4").Build(),
		objects.Node("b").Capacity("cpu", "2").Build(),
		objects.Pod("first").Requests("cpu", "1").Node("a").Build(),
	}
}

func TestForksSeeNothingOfEachOther(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: twoNodes()})
	before := dump(t, cluster)
	three := objects.Pod("three").Requests("cpu", "3").Build()
	full, empty := cluster.Fork(), cluster.Fork()
	must(t, full.Add(objects.Pod("second").Requests("cpu", "1").Node("a").Build()))
	must(t, empty.Remove(objects.Pod("first").Build()))
	nested := empty.Fork()
	must(t, nested.Update(objects.Node("b").Capacity("cpu", "3").Build()))
	must(t, nested.Add(objects.Node("c").Capacity("cpu", "8").Build()))
	for range 2 { // in any order
		for of, want := range map[*whatif.Cluster]string{cluster: "a", full: "", empty: "a", nested: "a b c"} {
			if got := nodesFor(t, of, three); got != want {
				t.Errorf("got nodes %q, want %q", got, want)
			}
		}
	}
	if _, err := nested.Drain(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := full.Preempt(t.Context(), objects.Pod("urgent").Requests("cpu", "4").Priority(9).Build()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, dump(t, cluster)); diff != "" {
		t.Errorf("forks that were dropped left something behind (-before +after):\n%s", diff)
	}
}

func TestChangesAreWholeOrNone(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: twoNodes()})
	before := dump(t, cluster)
	for name, change := range map[string]func() error{
		"Node a: it is there already":        func() error { return cluster.Add(objects.Node("c").Build(), objects.Node("a").Build()) },
		"Pod default/x: there is no such":    func() error { return cluster.Remove(objects.Node("a").Build(), objects.Pod("x").Build()) },
		"Node x: there is no such object":    func() error { return cluster.Update(objects.Node("a").Build(), objects.Node("x").Build()) },
		"a Pod of a cluster: it has no name": func() error { return cluster.Add(objects.Node("c").Build(), &v1.Pod{}) },
		"committing a cluster: only a fork":  cluster.Commit,
		"it is on node a already; remove": func() error {
			_, err := cluster.Place(t.Context(), objects.Pod("second").Build(), objects.Pod("first").Build())
			return err
		},
		"draining node x: there is no such": func() error { _, err := cluster.Drain(t.Context(), "x"); return err },
		"no profile is called \"other\", which": func() error {
			_, err := cluster.Place(t.Context(), objects.Pod("second").Build(), objects.Pod("third").SchedulerName("other").Build())
			return err
		},
	} {
		if err := change(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one with %q", err, name)
		}
	}
	if diff := cmp.Diff(before, dump(t, cluster)); diff != "" {
		t.Errorf("changes that failed left something behind (-before +after):\n%s", diff)
	}
}

func TestCommit(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: twoNodes()})
	fork, other := cluster.Fork(), cluster.Fork()
	nested := fork.Fork()
	placed, err := nested.Place(t.Context(), objects.Pod("big").Requests("cpu", "3").Build())
	if err != nil || placed[0].Node != "a" || placed[0].Pod.Spec.NodeName != "a" {
		t.Fatalf("got %+v, %v", placed, err)
	}
	must(t, nested.Commit())
	if cluster.Get(objects.Pod("big").Build()) != nil {
		t.Error("the cluster has what was committed to a fork of it")
	}
	must(t, fork.Commit())
	must(t, nested.Remove(objects.Pod("big").Build()))
	must(t, nested.Commit()) // a fork lives on after a commit
	if cluster.Get(objects.Pod("big").Build()) == nil || fork.Get(objects.Pod("big").Build()) != nil {
		t.Error("a pod is not where it was committed to")
	}
	must(t, other.Remove(objects.Node("b").Build()))
	if err := other.Commit(); !errors.Is(err, whatif.ErrParentChanged) {
		t.Errorf("got error %v, want ErrParentChanged", err)
	}
	if cluster.Get(objects.Node("b").Build()) == nil {
		t.Error("a commit that failed removed a node")
	}
}

func TestPodsThatWait(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: twoNodes()})
	pod := objects.Pod("web").Requests("cpu", "3").Build()
	// A nominated pod takes the room of those that are less important.
	must(t, cluster.Add(objects.Pod("nominated").Requests("cpu", "3").Priority(5).NominatedNode("a").Build()))
	if got := nodesFor(t, cluster, pod); got != "" {
		t.Errorf("nodes %q have room next to a nominated pod", got)
	}
	must(t, cluster.Update(objects.Pod("nominated").Requests("cpu", "3").Priority(5).Build()))
	if got := nodesFor(t, cluster, pod); got != "a" {
		t.Errorf("got nodes %q without a nomination, want a", got)
	}
	gated, err := cluster.Fits(t.Context(), objects.Pod("gated").SchedulingGate("hold").Build())
	must(t, err)
	if gated.Reason == nil || !strings.Contains(gated.Reason.Error(), "hold") {
		t.Errorf("a gated pod fits nodes %v: %v", gated.Nodes, gated.Reason)
	}
	must(t, cluster.Remove(objects.Node("a").Build(), objects.Node("b").Build()))
	none, err := cluster.Best(t.Context(), pod)
	if err != nil || !errors.Is(none.Reason, framework.ErrNoNodesAvailable) {
		t.Errorf("without nodes: %+v, %v", none, err)
	}
}

func TestFromASnapshot(t *testing.T) {
	running := cache.New(cache.Options{})
	must(t, running.AddNode(objects.Node("a").Capacity("cpu", "4").Build()))
	must(t, running.AssumePod(objects.Pod("first").UID("1").Requests("cpu", "2").Node("a").Build()))
	var snapshot cache.Snapshot
	must(t, running.UpdateSnapshot(&snapshot))
	cluster := newCluster(t, whatif.Options{Snapshot: &snapshot, Objects: []apiruntime.Object{objects.Node("b").Capacity("cpu", "3").Build()}})
	if got := nodesFor(t, cluster, objects.Pod("web").Requests("cpu", "3").Build()); got != "b" {
		t.Errorf("got nodes %q, want b", got)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: twoNodes()})
	must(t, err)
	fork := cluster.Fork()
	if err := fork.Close(); err == nil {
		t.Error("a fork was closed")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := fork.Place(ended, objects.Pod("web").Build()); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v after the context has ended", err)
	}
	must(t, cluster.Close())
	must(t, cluster.Close())
	if _, err := fork.Fits(t.Context(), objects.Pod("web").Build()); err == nil || !strings.Contains(err.Error(), "the cluster is closed") {
		t.Errorf("a question about a fork of a closed cluster: %v", err)
	}
	configuration := profiles.Default()
	configuration.Profiles[0].Plugins.MultiPoint.Enabled[0].Name = "Nonsense"
	if _, err := whatif.New(t.Context(), whatif.Options{Configuration: configuration}); err == nil || !strings.Contains(err.Error(), "Nonsense") {
		t.Errorf("a configuration with an unknown plugin: %v", err)
	}
}

// For the race detector: questions and changes of many forks at once.
func TestConcurrentForks(t *testing.T) {
	var all []apiruntime.Object
	for i := range 20 {
		all = append(all, objects.Node(fmt.Sprint("node-", i)).Capacity("cpu", "4").Label(v1.LabelHostname, fmt.Sprint(i)).Build())
	}
	cluster := newCluster(t, whatif.Options{Objects: all, Concurrency: 3})
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			fork := cluster.Fork()
			for i := range 20 {
				name := fmt.Sprintf("%d-%d", worker, i)
				placed, err := fork.Place(t.Context(), objects.Pod(name).Requests("cpu", "2").Build())
				if err != nil || placed[0].Node == "" {
					t.Errorf("pod %s: %+v, %v", name, placed, err)
					return
				}
				if got := nodesFor(t, cluster.Fork(), objects.Pod("other").Requests("cpu", "4").Build()); len(strings.Fields(got)) != 20 {
					t.Errorf("the cluster is not empty any more: %s", got)
				}
				if _, err := fork.Fork().Drain(t.Context(), placed[0].Node); err != nil {
					t.Error(err)
				}
				if i%5 == 4 {
					fork = fork.Fork()
				}
			}
		})
	}
	group.Wait()
}

// Which pods would have to go depends on nothing but what is in the cluster: all nodes are searched, and equals are taken by name.
func TestPreemptionLooksAtAllNodes(t *testing.T) {
	cluster := newCluster(t, whatif.Options{})
	for i := range 250 {
		node, pod := fmt.Sprintf("node-%03d", i), fmt.Sprintf("pod-%03d", i)
		must(t, cluster.Add(objects.Node(node).Capacity("cpu", "1").Build(), objects.Pod(pod).Requests("cpu", "1").Priority(5).Node(node).Build()))
	}
	fork := cluster.Fork()
	must(t, fork.Update(objects.Pod("pod-200").Requests("cpu", "1").Priority(3).Node("node-200").Build()))
	for round := range 5 {
		for of, want := range map[*whatif.Cluster]string{cluster: "on node-000 without [default/pod-000]", fork: "on node-200 without [default/pod-200]"} {
			got, err := of.Preempt(t.Context(), objects.Pod(fmt.Sprint("urgent-", round)).Requests("cpu", "1").Priority(9).Build())
			must(t, err)
			if describe(got) != want {
				t.Errorf("got %s, want %s", describe(got), want)
			}
		}
	}
}

// A pod that is placed gets its volumes too: the next one finds them taken, in the fork.
func TestPlacingBindsVolumes(t *testing.T) {
	local := objects.StorageClass("local", "kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer)
	made := objects.StorageClass("made", "csi.example.com", storagev1.VolumeBindingWaitForFirstConsumer)
	cluster := newCluster(t, whatif.Options{Objects: append(twoNodes(), local, made,
		objects.PersistentVolume("disk").StorageClass("local").Capacity("1Gi").NodeAffinity("kubernetes.io/hostname=a").Build(),
		objects.PersistentVolumeClaim("one").StorageClass("local").Request("1Gi").Build(),
		objects.PersistentVolumeClaim("two").StorageClass("local").Request("1Gi").Build(),
		objects.PersistentVolumeClaim("three").StorageClass("made").Request("1Gi").Build(),
	)})
	must(t, cluster.Update(objects.Node("a").Label(v1.LabelHostname, "a").Capacity("cpu", "4").Build()))
	before := dump(t, cluster)
	fork := cluster.Fork()
	placed, err := fork.Place(t.Context(),
		objects.Pod("first-user").PersistentVolumeClaim("one").Build(),
		objects.Pod("second-user").PersistentVolumeClaim("two").Build(),
		objects.Pod("third-user").PersistentVolumeClaim("three").Build(),
	)
	must(t, err)
	if placed[0].Node != "a" || placed[1].Node != "" || placed[2].Node == "" {
		t.Errorf("placed %+v", placed)
	}
	claim := func(of *whatif.Cluster, name string) *v1.PersistentVolumeClaim {
		return of.Get(objects.PersistentVolumeClaim(name).Build()).(*v1.PersistentVolumeClaim)
	}
	if claim(fork, "one").Spec.VolumeName != "disk" || claim(fork, "two").Spec.VolumeName != "" || claim(fork, "three").Spec.VolumeName == "" {
		t.Errorf("claims have volumes %q, %q and %q", claim(fork, "one").Spec.VolumeName, claim(fork, "two").Spec.VolumeName, claim(fork, "three").Spec.VolumeName)
	}
	if got := nodesFor(t, fork.Fork(), objects.Pod("x").PersistentVolumeClaim("one").Build()); got != "a" {
		t.Errorf("a pod with a bound claim fits %q, want a", got)
	}
	if diff := cmp.Diff(before, dump(t, cluster)); diff != "" || claim(cluster, "one").Spec.VolumeName != "" {
		t.Errorf("the cluster has changed (-before +after):\n%s", diff)
	}
	if got := nodesFor(t, cluster, objects.Pod("x").PersistentVolumeClaim("two").Build()); got != "a" {
		t.Errorf("the volume is taken in the cluster: %q", got)
	}
}

// A volume can be made for a node that lacks a label by which its driver tells nodes apart.
func TestPlacingOnANodeWithoutTopology(t *testing.T) {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	node.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "csi.example.com", NodeID: "a", TopologyKeys: []string{v1.LabelTopologyZone}}}
	cluster := newCluster(t, whatif.Options{Objects: append(twoNodes(), node,
		objects.StorageClass("made", "csi.example.com", storagev1.VolumeBindingWaitForFirstConsumer),
		objects.PersistentVolumeClaim("data").StorageClass("made").Request("1Gi").Build(),
	)})
	placed, err := cluster.Place(t.Context(), objects.Pod("user").Requests("cpu", "3").PersistentVolumeClaim("data").Build())
	if err != nil || placed[0].Node != "a" {
		t.Errorf("got %+v, %v; want a pod on node a", placed, err)
	}
}

// What devices a pod gets is known to the next one, and given back with the fork.
func TestPlacingAllocatesDevices(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: append(twoNodes(),
		objects.DeviceClass("gpu"), objects.ResourceSlice("gpu.example.com", "b", "only"),
		objects.ResourceClaim("one").Request("gpu", "gpu", 1).Build(), objects.ResourceClaim("two").Request("gpu", "gpu", 1).Build(),
	)})
	fork := cluster.Fork()
	for range 2 { // the second time in a fork of its own
		placed, err := fork.Place(t.Context(), objects.Pod("first-user").ResourceClaim("one").Build(), objects.Pod("second-user").ResourceClaim("two").Build())
		must(t, err)
		if placed[0].Node != "b" || placed[1].Node != "" {
			t.Errorf("placed %+v", placed)
		}
		if got := nodesFor(t, cluster, objects.Pod("x").ResourceClaim("two").Build()); got != "b" {
			t.Errorf("the device is taken in the cluster: %q", got)
		}
		fork = cluster.Fork()
	}
}

// A claim of pods that all move is allocated again where they go; one that a pod uses that stays is not.
func TestDrainingReleasesDevices(t *testing.T) {
	user := func(name, claim string) objects.PodBuilder {
		return objects.Pod(name).Requests("cpu", "1").ResourceClaim(claim)
	}
	cluster := newCluster(t, whatif.Options{Objects: append(twoNodes(),
		objects.DeviceClass("gpu"), objects.ResourceSlice("a.example.com", "a", "first", "second"), objects.ResourceSlice("b.example.com", "b", "third", "fourth"),
		objects.ResourceClaim("own").Request("gpu", "gpu", 1).Build(), objects.ResourceClaim("shared").Request("gpu", "gpu", 1).Build(),
	)})
	onA := func(b objects.PodBuilder) *v1.Pod { return b.NodeSelector("pool", "a").Build() }
	must(t, cluster.Update(objects.Node("a").Label("pool", "a").Capacity("cpu", "4").Build()))
	daemon := user("daemon", "shared").With(func(pod *v1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", APIVersion: "apps/v1", Name: "d", UID: "d", Controller: new(true)}}
	})
	must(t, cluster.Remove(objects.Pod("first").Build()))
	placed, err := cluster.Place(t.Context(), onA(daemon), onA(user("sharer", "shared")), onA(user("owner", "own")))
	if err != nil || placed[0].Node != "a" || placed[1].Node != "a" || placed[2].Node != "a" {
		t.Fatalf("got %+v, %v", placed, err)
	}
	for _, name := range []string{"sharer", "owner"} { // now they may go anywhere
		pod := cluster.Get(objects.Pod(name).Build()).(*v1.Pod).DeepCopy()
		pod.Spec.NodeSelector = nil
		must(t, cluster.Update(pod))
	}
	placed, err = cluster.Fork().Drain(t.Context(), "a")
	must(t, err)
	got := map[string]string{}
	for _, p := range placed {
		got[p.Pod.Name] = p.Node
	}
	if diff := cmp.Diff(map[string]string{"owner": "b", "sharer": ""}, got); diff != "" {
		t.Errorf("the pods went elsewhere (-want +got):\n%s", diff)
	}
}

// Two pods with one UID are told apart by nothing, so that the second is refused at once, and the fork goes on.
func TestDuplicateUID(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: twoNodes()})
	one, two := objects.Pod("one").UID("same").Node("a").Build(), objects.Pod("two").UID("same").Node("b").Build()
	must(t, cluster.Add(one))
	waiting := objects.Pod("two").UID("same").Build()
	for name, add := range map[string]func() error{
		"Add":     func() error { return cluster.Add(two) },
		"Update":  func() error { return cluster.Fork().Update(objects.Pod("first").UID("same").Node("a").Build()) },
		"Place":   func() error { _, err := cluster.Place(t.Context(), waiting); return err },
		"Preempt": func() error { _, err := cluster.Preempt(t.Context(), waiting); return err },
	} {
		if err := add(); err == nil || !strings.Contains(err.Error(), "it has the UID of Pod default/one") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	must(t, cluster.Remove(one))
	must(t, cluster.Add(two))
}

// Two pods with one host port are on a node, though they should not be. As long as one of them is there, the port is taken.
func TestPortOfTwoPods(t *testing.T) {
	cluster := newCluster(t, whatif.Options{Objects: append(twoNodes(),
		objects.Pod("x").HostPort(80).Node("a").Build(), objects.Pod("y").HostPort(80).Node("a").Build(),
	)})
	pod := objects.Pod("z").HostPort(80).Build()
	one, none := cluster.Fork(), cluster.Fork()
	must(t, one.Remove(objects.Pod("x").Build()))
	must(t, none.Remove(objects.Pod("x").Build(), objects.Pod("y").Build()))
	for range 2 {
		for of, want := range map[*whatif.Cluster]string{cluster: "b", one: "b", none: "a b"} {
			if got := nodesFor(t, of, pod); got != want {
				t.Errorf("got nodes %q, want %q", got, want)
			}
		}
	}
}

// The program in the documentation is the one that runs as an example.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../docs/what-if.md")
	must(t, err)
	source, err := os.ReadFile("example_test.go")
	must(t, err)
	_, rest, _ := strings.Cut(string(page), "```go\n")
	program, rest, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(strings.ReplaceAll(string(source), "\n\t", "\n"), program) {
		t.Error("the program of docs/what-if.md is not in example_test.go")
	}
	_, rest, _ = strings.Cut(rest, "```\n")
	output, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(output) {
		if !strings.Contains(string(source), "// "+line) {
			t.Errorf("the example does not print %q", line)
		}
	}
}

// TestAnswersShareTheNamesOfNodes asks again and again: while the same nodes take a pod, no list of their names is made, and when
// others do, the lists of earlier answers stay as they were.
func TestAnswersShareTheNamesOfNodes(t *testing.T) {
	cluster := newCluster(t, whatif.Options{})
	must(t, cluster.Add(objects.Node("a").Capacity("cpu", "2").Build(), objects.Node("b").Capacity("cpu", "2").Build(), objects.Node("c").Capacity("cpu", "1").Build()))
	fits := func(fork *whatif.Cluster, name string) []string {
		fit, err := fork.Fits(t.Context(), objects.Pod(name).Requests("cpu", "2").Build())
		if err != nil {
			t.Fatal(err)
		}
		return fit.Nodes
	}
	first, second := fits(cluster, "one"), fits(cluster, "two")
	if &first[0] != &second[0] {
		t.Error("two equal answers have lists of their own")
	}
	fork := cluster.Fork()
	must(t, fork.Add(objects.Node("aa").Capacity("cpu", "2").Build()))
	want := [][]string{{"a", "b"}, {"a", "aa", "b"}, {"a", "b"}}
	if diff := cmp.Diff(want, [][]string{first, fits(fork, "three"), fits(cluster, "four")}); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}
