// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// audit runs the audit of a text with manifests and scenarios.
func audit(t *testing.T, text string, options simulate.Options) *inspect.Audit {
	t.Helper()
	input, err := simulate.Parse("input.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	audit, err := inspect.RunAudit(t.Context(), input, options)
	if err != nil {
		t.Fatal(err)
	}
	audit.Summary.WallSeconds = 0
	return audit
}

// documents joins parts of YAML into one text of several documents.
func documents(parts ...string) string { return strings.Join(parts, "\n---\n") }

// node and pod are objects on one line, scenario is a timeline of steps.
func node(name, rest string) string {
	return "{apiVersion: v1, kind: Node, metadata: {name: " + name + rest + "}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}"
}

func pod(name, cpu, rest string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: " + cpu + "}}}]" + rest + "}}"
}

func scenario(steps ...string) string {
	return "{apiVersion: rouse/v1alpha1, kind: Scenario, metadata: {name: test}, spec: {steps: [\n" + strings.Join(steps, ",\n") + "\n]}}"
}

func patchNode(at, name, patch string) string {
	return "{at: " + at + ", patch: {apiVersion: v1, kind: Node, metadata: {name: " + name + ", " + patch + "}}}"
}

func deletePod(at, name string) string {
	return "{at: " + at + ", delete: {apiVersion: v1, kind: Pod, metadata: {name: " + name + "}}}"
}

// rack is a plugin that forgot an event: labels of a node can change.
func rack() *scripted {
	return &scripted{
		name: "Rack", accepts: wantsLabel("rack"), reason: "node(s) were in no rack",
		events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, ifLabelled("rack"))},
	}
}

// forgottenEvent is a cluster in which the forgotten event happens.
func forgottenEvent() string {
	return documents(node("n1", ""), node("n2", ""), pod("web", "1", ""), scenario(
		patchNode("10s", "n1", "annotations: {note: nothing}"),
		patchNode("20s", "n2", "labels: {rack: r7}"),
		patchNode("30s", "n1", "labels: {rack: r8}"),
		patchNode("40s", "n1", "labels: {other: r8}"),
		patchNode("6m", "n1", "annotations: {note: late}"),
	))
}

func TestForgottenEventIsMissed(t *testing.T) {
	found := audit(t, forgottenEvent(), withPlugins(t, rack()))
	want := []inspect.MissedWakeup{{
		At: seconds(20), Pod: "default/web", Profile: "default-scheduler",
		Event: "NodeUpdateNodeLabel", Change: "Node n2 was changed", Node: "n2",
		MissedBy: []inspect.MissedBy{{Plugin: "Rack", At: seconds(20), Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonNotRegistered}},
		Until:    "5m0s", WokenBy: "UnschedulableTimeout",
	}}
	if diff := cmp.Diff(want, found.Missed); diff != "" {
		t.Errorf("missed wake-ups differ (-want +got):\n%s", diff)
	}
	wantRows := []inspect.Decisions{{Event: "NodeUpdateNodeLabel", Plugin: "Rack", MissedWakeups: 1}}
	if diff := cmp.Diff(wantRows, found.Decisions); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
	golden(t, "audit_missed.json", found)
}

func seconds(n int) simulate.Time { return simulate.Time(n) * 1e9 }

// TestMissReasons has pods that miss a wake-up for every reason.
func TestMissReasons(t *testing.T) {
	label := func(plugin *scripted) *scripted {
		plugin.name, plugin.accepts = "Rack", wantsLabel("rack")
		return plugin
	}
	labelled := documents(node("n1", ""), pod("web", "1", ""), scenario(patchNode("10s", "n1", "labels: {rack: r7}")))
	narrowed := on(fwk.Node, fwk.UpdateNodeLabel, nil)
	narrowed.PreQueueingHintFn = func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return fwk.PreQueueingHintResult{}, nil
	}
	siblings := &scripted{
		name: "Siblings",
		accepts: func(handle fwk.Handle, _ *v1.Pod, _ *v1.Node) bool {
			pods, err := handle.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
			return err == nil && len(pods) > 1
		},
		events: []fwk.ClusterEventWithHint{on(fwk.Pod, fwk.Add, nil)},
	}
	images := &scripted{
		name:    "Images",
		accepts: func(_ fwk.Handle, _ *v1.Pod, node *v1.Node) bool { return len(node.Status.Images) > 0 },
		events:  []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add|fwk.Update, nil)},
	}
	settings := &scripted{
		name: "Settings",
		accepts: func(handle fwk.Handle, _ *v1.Pod, _ *v1.Node) bool {
			maps, err := handle.SharedInformerFactory().Core().V1().ConfigMaps().Lister().List(labels.Everything())
			return err == nil && len(maps) > 0
		},
		events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil), on("configmaps.v1.", fwk.Update, nil)},
	}
	tests := map[string]struct {
		plugin *scripted
		input  string
		want   inspect.MissedBy
	}{
		"an event of a kind of the core group": {
			settings, documents(node("n1", ""), pod("web", "1", ""),
				scenario("{at: 10s, create: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}}}")),
			inspect.MissedBy{Plugin: "Settings", Event: "configmaps.v1.Add", Reason: inspect.MissReasonNotRegistered},
		},
		"the hint says so": {
			label(&scripted{events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add|fwk.UpdateNodeLabel, skips)}}), labelled,
			inspect.MissedBy{Plugin: "Rack", Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonSkipped},
		},
		"the plugin waits for no event at all": {
			label(&scripted{}), labelled,
			inspect.MissedBy{Plugin: "Rack", Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonNotRegistered},
		},
		"the event is narrowed to other pods": {
			label(&scripted{events: []fwk.ClusterEventWithHint{narrowed}}), labelled,
			inspect.MissedBy{Plugin: "Rack", Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonNotAsked},
		},
		"the event is never announced": {
			siblings, documents(node("n1", ""), pod("web", "1", ""), scenario("{at: 10s, create: "+pod("sibling", "9", "")+"}")),
			inspect.MissedBy{Plugin: "Siblings", Event: "UnscheduledPodAdd", Reason: inspect.MissReasonNotAnnounced},
		},
		"the change is no event": {
			images, documents(node("n1", ""), pod("web", "1", ""),
				scenario("{at: 10s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {images: [{names: [i]}]}}}")),
			inspect.MissedBy{Plugin: "Images", Event: "", Reason: inspect.MissReasonNotAnnounced},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := audit(t, test.input, withPlugins(t, test.plugin))
			if len(found.Missed) != 1 {
				t.Fatalf("%d missed wake-ups, want one: %+v", len(found.Missed), found)
			}
			test.want.At = seconds(10)
			if diff := cmp.Diff([]inspect.MissedBy{test.want}, found.Missed[0].MissedBy); diff != "" {
				t.Errorf("plugins differ (-want +got):\n%s", diff)
			}
			if missed := found.Missed[0]; missed.Pod != "default/web" || missed.Node != "n1" || missed.Until != "" {
				t.Errorf("missed %+v, want default/web to wait for n1 until the end", missed)
			}
		})
	}
}

// TestMissedByAnEarlierEvent has a plugin that lets the event pass with which it stops rejecting a node that another
// plugin still rejects. The pod only fits later, and that event is none of the first plugin's.
func TestMissedByAnEarlierEvent(t *testing.T) {
	first := &scripted{name: "First", accepts: wantsLabel("a"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.UpdateNodeLabel, skips)}}
	second := &scripted{
		name:    "Second",
		accepts: func(_ fwk.Handle, _ *v1.Pod, node *v1.Node) bool { return node.Annotations["b"] != "" },
		events:  []fwk.ClusterEventWithHint{on(fwk.Node, fwk.UpdateNodeAnnotation, nil)},
	}
	found := audit(t, documents(node("n1", ""), pod("web", "1", ""), scenario(
		patchNode("10s", "n1", "labels: {a: x}"), patchNode("20s", "n1", "annotations: {b: x}"),
	)), withPlugins(t, first, second))
	want := []inspect.MissedWakeup{{
		At: seconds(20), Pod: "default/web", Profile: "default-scheduler",
		Event: "NodeUpdateNodeAnnotation", Change: "Node n1 was changed", Node: "n1",
		MissedBy: []inspect.MissedBy{{Plugin: "First", At: seconds(10), Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonSkipped}},
	}}
	if diff := cmp.Diff(want, found.Missed); diff != "" {
		t.Errorf("missed wake-ups differ (-want +got):\n%s", diff)
	}
}

// TestMissedByOnNewNode has two plugins that reject a pod, each on a node of its own. Both should know that it fits a third
// one when that comes.
func TestMissedByOnNewNode(t *testing.T) {
	first := &scripted{name: "First", accepts: wantsLabel("a"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, skips)}}
	second := &scripted{name: "Second", accepts: wantsLabel("b"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Update, nil)}}
	found := audit(t, documents(node("n1", ", labels: {b: x}"), node("n2", ", labels: {a: x}"), pod("web", "1", ""),
		scenario("{at: 10s, create: "+node("n3", ", labels: {a: x, b: x}")+"}")), withPlugins(t, first, second))
	want := []inspect.MissedBy{
		{Plugin: "First", At: seconds(10), Event: "NodeAdd", Reason: inspect.MissReasonSkipped},
		{Plugin: "Second", At: seconds(10), Event: "NodeAdd", Reason: inspect.MissReasonNotRegistered},
	}
	if len(found.Missed) != 1 || found.Missed[0].Node != "n3" {
		t.Fatalf("missed %+v, want one on n3", found.Missed)
	}
	if diff := cmp.Diff(want, found.Missed[0].MissedBy); diff != "" {
		t.Errorf("plugins differ (-want +got):\n%s", diff)
	}
	if found.Summary.MissedWakeups != 1 || len(found.Decisions) != 2 {
		t.Errorf("summary %+v and rows %+v, want one missed wake-up in two rows", found.Summary, found.Decisions)
	}
}

// TestPreemptionThatIsMissed has a pod that fits nowhere after the event, but could preempt another: only if that is less
// important, and the pod may.
func TestPreemptionThatIsMissed(t *testing.T) {
	tests := []struct {
		name    string
		spec    string
		victims []string // nil: nothing is missed
	}{
		{"less important", ", priority: 10", []string{"default/low"}},
		{"as important", ", priority: 5", nil},
		{"may not preempt", ", priority: 10, preemptionPolicy: Never", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			deaf := &scripted{name: "Deaf", accepts: wantsLabel("a"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)}}
			found := audit(t, documents(node("n1", ""), pod("low", "3", ", priority: 5, nodeName: n1"), pod("web", "3", test.spec),
				scenario(patchNode("10s", "n1", "labels: {a: x}"))), withPlugins(t, deaf))
			if test.victims == nil {
				if len(found.Missed) > 0 {
					t.Errorf("missed %+v, want nothing", found.Missed)
				}
				return
			}
			want := []inspect.MissedWakeup{{
				At: seconds(10), Pod: "default/web", Profile: "default-scheduler",
				Event: "NodeUpdateNodeLabel", Change: "Node n1 was changed", Node: "n1", Victims: test.victims,
				MissedBy: []inspect.MissedBy{{Plugin: "Deaf", At: seconds(10), Event: "NodeUpdateNodeLabel", Reason: inspect.MissReasonNotRegistered}},
			}}
			if diff := cmp.Diff(want, found.Missed); diff != "" {
				t.Fatalf("missed wake-ups differ (-want +got):\n%s", diff)
			}
			golden(t, "audit_preemption.json", found)
		})
	}
}

// TestDecisions has every kind of decision that is not a missed wake-up.
func TestDecisions(t *testing.T) {
	right := rack()
	right.events = []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add|fwk.UpdateNodeLabel, ifLabelled("rack"))}
	found := audit(t, documents(node("n1", ""), pod("web", "1", ""), pod("big", "5", ""), scenario(
		patchNode("10s", "n1", "labels: {other: x}"),                // is skipped for web; the labels mean nothing to what rejects big
		patchNode("20s", "n1", "labels: {rack: r7}"),                // wakes web, and it fits
		"{at: 30s, create: "+pod("small", "2", "")+"}",              // fits
		deletePod("40s", "small"),                                   // wakes big, in vain
		"{at: 50s, create: "+node("n2", ", labels: {rack: r8}")+"}", // is too small for big, which the hint knows
	)), withPlugins(t, right))
	want := []inspect.Decisions{
		{Event: "AssignedPodDelete", Plugin: "NodeResourcesFit", WastedWakeups: 1},
		{Event: "NodeAdd", Plugin: "NodeResourcesFit", RightSkips: 1},
		{Event: "NodeUpdateNodeLabel", Plugin: "Rack", RightWakeups: 1, RightSkips: 1},
	}
	if diff := cmp.Diff(want, found.Decisions); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
	golden(t, "audit_right.json", found)
}

// TestRightWakeupThatDoesNotHelp has a plugin that wakes a pod because it does not mind any more, but another does.
func TestRightWakeupThatDoesNotHelp(t *testing.T) {
	first := &scripted{name: "First", accepts: wantsLabel("a"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add|fwk.UpdateNodeLabel, nil)}}
	second := &scripted{name: "Second", accepts: wantsLabel("b"), events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add|fwk.UpdateNodeLabel, nil)}}
	found := audit(t, documents(node("n1", ""), pod("web", "1", ""), scenario(
		patchNode("10s", "n1", "labels: {c: x}"),
		patchNode("20s", "n1", "labels: {a: x}"),
		"{at: 30s, create: "+node("n2", ", labels: {b: x}")+"}", // Second, which rejects the pod now, takes it here
	)), withPlugins(t, first, second))
	want := []inspect.Decisions{
		{Event: "NodeAdd", Plugin: "Second", RightWakeups: 1},
		{Event: "NodeUpdateNodeLabel", Plugin: "First", RightWakeups: 1, WastedWakeups: 1},
	}
	if diff := cmp.Diff(want, found.Decisions); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
}

// TestPodThatOthersOvertakeMissesNothing has two pods that would fit a new node, but not both. The one that is woken
// takes it.
func TestPodThatOthersOvertakeMissesNothing(t *testing.T) {
	deaf := &scripted{name: "Deaf", accepts: func(_ fwk.Handle, pod *v1.Pod, node *v1.Node) bool {
		return pod.Name != "left" || node.Labels["new"] != ""
	}}
	found := audit(t, documents(node("n1", ""), pod("big", "3", ", nodeName: n1"), pod("left", "3", ""), pod("woken", "3", ""), scenario(
		"{at: 10s, create: "+node("n2", ", labels: {new: x}")+"}",
	)), withPlugins(t, deaf))
	if len(found.Missed) > 0 {
		t.Errorf("missed %+v, want nothing: the other pod took the place", found.Missed)
	}
	found = audit(t, documents(node("n1", ""), pod("left", "3", ""), scenario(
		"{at: 10s, create: "+node("n2", ", labels: {new: x}")+"}",
	)), withPlugins(t, deaf))
	if len(found.Missed) != 1 {
		t.Errorf("missed %+v, want one: no other pod took the place", found.Missed)
	}
}

// TestPodsRejectedAfterFilterAreLeftOut has a pod that Permit rejects, so that Filter says nothing about its wake-ups.
func TestPodsRejectedAfterFilterAreLeftOut(t *testing.T) {
	late := &scripted{name: "Late", permit: func(pod *v1.Pod) *fwk.Status {
		if pod.Name == "web" {
			return fwk.NewStatus(fwk.Unschedulable, "not now")
		}
		return nil
	}}
	found := audit(t, documents(node("n1", ""), pod("web", "1", ""), scenario(
		"{at: 10s, create: "+node("n2", "")+"}",
	)), withPlugins(t, late))
	if len(found.Missed) > 0 || len(found.Decisions) > 0 || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0], "1 pod") {
		t.Errorf("audit %+v, want a warning that one pod is not judged, and nothing else", found)
	}
}

// TestBindingThatFailsMakesRoom has a pod for which a node makes room when another waits for permission in vain.
func TestBindingThatFailsMakesRoom(t *testing.T) {
	reluctant := &scripted{name: "Reluctant", permit: func(pod *v1.Pod) *fwk.Status {
		if pod.Name == "reluctant" {
			return fwk.NewStatus(fwk.Wait)
		}
		return nil
	}}
	// It forgot that a pod that goes makes room.
	room := &scripted{
		name: "Room",
		accepts: func(handle fwk.Handle, pod *v1.Pod, node *v1.Node) bool {
			info, err := handle.SnapshotSharedLister().NodeInfos().Get(node.Name)
			return err == nil && len(info.GetPods()) == 0
		},
		events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)},
	}
	found := audit(t, documents(node("n1", ""), pod("reluctant", "1", ""), pod("web", "1", ""), scenario(
		patchNode("1m", "n1", "annotations: {note: late}"),
	)), withPlugins(t, reluctant, room))
	if len(found.Missed) != 1 {
		t.Fatalf("audit %+v, want a missed wake-up", found)
	}
	if got := found.Missed[0]; got.Event != "AssignedPodDelete" || got.Change != "Pod default/reluctant was not bound after all" || got.MissedBy[0].Plugin != "Room" {
		t.Errorf("missed %+v, want AssignedPodDelete that Room did not register", got)
	}
}

// TestScenariosOfTheTestdata audits the in-tree plugins, which must miss nothing.
func TestScenariosOfTheTestdata(t *testing.T) {
	paths, err := filepath.Glob("../testdata/scenarios/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, path := range append(paths, "../testdata/quickstart/timeline.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			files := []string{path}
			if strings.Contains(path, "quickstart") {
				files = append(files, "../testdata/quickstart/cluster.yaml")
			}
			input, err := simulate.Load(files, simulate.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := inspect.RunAudit(t.Context(), input, simulate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range found.Missed {
				t.Errorf("%v %+v", &found.Missed[i], found.Missed[i].MissedBy)
			}
		})
	}
}

// TestPreemptionThatADeletionEnables has a pod wait that needs a whole node, on which a pod of its own priority and one of lower
// priority run. When the first goes, NodeResourcesFit rejects the pod as before, and preempting the other helps.
func TestPreemptionThatADeletionEnables(t *testing.T) {
	found := audit(t, documents(node("n1", ""),
		pod("equal", "1", ", priority: 100, nodeName: n1"), pod("lower", "1", ", priority: 0, nodeName: n1"), pod("waiting", "4", ", priority: 100"),
		scenario(deletePod("10s", "equal"))), simulate.Options{})
	want := inspect.Decisions{Event: "AssignedPodDelete", Plugin: "NodeResourcesFit", RightWakeups: 2} // and that of the victim
	if !slices.Contains(found.Decisions, want) {
		t.Errorf("decisions %+v, want %+v", found.Decisions, want)
	}
}
