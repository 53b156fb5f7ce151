// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rackbudget_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"

	"example.com/rackscheduler/rackbudget"
)

// Rack r1 has the nodes n1 and n2, rack r2 has n3, and n4 is in no rack. Team shop has a pod on n1.
func nodes() []*v1.Node {
	return []*v1.Node{
		inRack("n1", "r1").Build(), inRack("n2", "r1").Build(), inRack("n3", "r2").Build(), objects.Node("n4").Build(),
	}
}

func inRack(name, rack string) objects.NodeBuilder {
	return objects.Node(name).Label("example.com/rack", rack)
}

func ofTeam(name, team string) objects.PodBuilder {
	return objects.Pod(name).Label("example.com/team", team)
}

func running() *v1.Pod { return ofTeam("running", "shop").Node("n1").Build() }

func TestFilter(t *testing.T) {
	full := fwk.NewStatus(fwk.Unschedulable, rackbudget.ReasonFull)
	tests := []struct {
		name string
		args any
		pod  *v1.Pod
		want map[string]*fwk.Status
	}{
		{
			name: "one pod of the team is enough",
			args: rackbudget.Args{PodsPerRack: 1, RackLabel: "example.com/rack", TeamLabel: "example.com/team"},
			pod:  ofTeam("web", "shop").Build(),
			want: map[string]*fwk.Status{"n1": full, "n2": full, "n3": nil, "n4": nil},
		},
		{
			name: "two are allowed by default",
			pod:  ofTeam("web", "shop").Build(),
			want: map[string]*fwk.Status{"n1": nil, "n2": nil, "n3": nil, "n4": nil},
		},
		{
			name: "another team",
			args: map[string]any{"podsPerRack": 1},
			pod:  ofTeam("web", "mail").Build(),
			want: map[string]*fwk.Status{"n1": nil, "n2": nil, "n3": nil, "n4": nil},
		},
		{
			name: "no team",
			args: map[string]any{"podsPerRack": 1},
			pod:  objects.Pod("web").Build(),
			want: map[string]*fwk.Status{"n1": nil, "n2": nil, "n3": nil, "n4": nil},
		},
		{
			name: "other labels",
			args: map[string]any{"podsPerRack": 1, "rackLabel": v1.LabelHostname},
			pod:  ofTeam("web", "shop").Build(),
			want: map[string]*fwk.Status{"n1": full, "n2": nil, "n3": nil, "n4": nil},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := plugintest.NewFramework(t, rackbudget.Name, rackbudget.New, plugintest.Options{
				Args: test.args, Nodes: nodes(), Pods: []*v1.Pod{running()},
			})
			if diff := cmp.Diff(test.want, f.FilterAll(test.pod)); diff != "" {
				t.Errorf("statuses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNominatedPodsCount checks AddPod: a pod for which preemption keeps a place counts as if it were there.
func TestNominatedPodsCount(t *testing.T) {
	nominated := ofTeam("nominated", "shop").Priority(10).NominatedNode("n3").Build()
	f := plugintest.NewFramework(t, rackbudget.Name, rackbudget.New, plugintest.Options{
		Args: map[string]any{"podsPerRack": 1}, Nodes: nodes(), Pods: []*v1.Pod{nominated},
	})
	if got := f.Filter(ofTeam("web", "shop").Build(), "n3"); got.Code() != fwk.Unschedulable {
		t.Errorf("n3: got %v, want it to be rejected", got.Code())
	}
	if got := f.Filter(ofTeam("mail", "mail").Build(), "n3"); !got.IsSuccess() {
		t.Errorf("another team on n3: got %v, want it to be accepted", got)
	}
}

// TestIndependence has two schedulers with different arguments in one process.
func TestIndependence(t *testing.T) {
	build := func(podsPerRack int) *plugintest.Framework {
		return plugintest.NewFramework(t, rackbudget.Name, rackbudget.New, plugintest.Options{
			Args: map[string]any{"podsPerRack": podsPerRack}, Nodes: nodes(), Pods: []*v1.Pod{running()},
		})
	}
	strict, lenient := build(1), build(3)
	pod := ofTeam("web", "shop").Build()
	for range 2 {
		if strict.Filter(pod, "n2").IsSuccess() {
			t.Error("the strict one accepts n2")
		}
		if got := lenient.Filter(pod, "n2"); !got.IsSuccess() {
			t.Errorf("the lenient one rejects n2: %v", got)
		}
	}
}

func TestHints(t *testing.T) {
	f := plugintest.NewFramework(t, rackbudget.Name, rackbudget.New, plugintest.Options{})
	web, mail := ofTeam("web", "shop").Build(), ofTeam("mail", "mail").Node("n1").Build()
	tests := []struct {
		name       string
		transition plugintest.Transition
		want       bool
	}{
		{"pod of the team deleted", plugintest.Deleted(running()), true},
		{"pod of another team deleted", plugintest.Deleted(mail), false},
		{"pod leaves the team", plugintest.Updated(running(), ofTeam("running", "mail").Node("n1").Build()), true},
		{"pod joins the team", plugintest.Updated(mail, ofTeam("mail", "shop").Node("n1").Build()), false},
		{"node added", plugintest.Added(inRack("n5", "r3").Build()), true},
		{"node deleted", plugintest.Deleted(inRack("n5", "r3").Build()), true},
		{"node changes racks", plugintest.Updated(inRack("n1", "r1").Build(), inRack("n1", "r2").Build()), true},
		{"other label of a node", plugintest.Updated(inRack("n1", "r1").Build(), inRack("n1", "r1").Label("disk", "ssd").Build()), false},
		{"the pod changes teams", plugintest.Updated(web, ofTeam("web", "mail").Build()), true},
		{"other label of the pod", plugintest.Updated(web, ofTeam("web", "shop").Label("app", "web").Build()), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := f.Wakes(web, test.transition); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestWakeUps(t *testing.T) {
	web, post := ofTeam("web", "shop"), ofTeam("post", "mail")
	plugintest.CheckRequeue(t, rackbudget.Name, rackbudget.New,
		plugintest.Options{
			Args:  map[string]any{"podsPerRack": 1},
			Nodes: []*v1.Node{inRack("n1", "r1").Build(), inRack("n2", "r1").Build()},
			Pods:  []*v1.Pod{running(), post.Name("running-mail").Node("n2").Build(), web.Build(), post.Build()},
		},
		plugintest.Deleted(running()),
		plugintest.Updated(running(), ofTeam("running", "mail").Node("n1").Build()),
		plugintest.Added(inRack("n3", "r2").Build()),
		plugintest.Deleted(inRack("n1", "r1").Build()), // takes its pod along
		plugintest.Updated(inRack("n1", "r1").Build(), inRack("n1", "r2").Build()),
		plugintest.Updated(inRack("n2", "r1").Build(), inRack("n2", "r2").Build()),
		plugintest.Updated(web.Build(), ofTeam("web", "accounting").Build()),
	)
}

func TestCluster(t *testing.T) {
	cluster := plugintest.NewCluster(t, rackbudget.Name, rackbudget.New, plugintest.Options{
		Args:  map[string]any{"podsPerRack": 1},
		Nodes: []*v1.Node{inRack("n1", "r1").Build(), inRack("n2", "r1").Build()},
		Pods:  []*v1.Pod{running(), ofTeam("web", "shop").Build()},
	})
	cluster.Settle()
	cluster.ExpectRejected("web", rackbudget.Name)

	cluster.Delete(running())
	cluster.Settle()
	if got := cluster.Pod("web"); got.Node == "" || got.WokenBy != "AssignedPodDelete" {
		t.Errorf("got %+v, want the pod on a node, woken by AssignedPodDelete", got)
	}
}

func TestArguments(t *testing.T) {
	written := func(text string) apiruntime.Object { return &apiruntime.Unknown{Raw: []byte(text)} }
	tests := []struct {
		name string
		args apiruntime.Object
		want string
	}{
		{"misspelled", written(`{"podsPerRak": 1}`), `podsPerRak: Invalid value: unknown field "podsPerRak"`},
		{"impossible", written(`{"podsPerRack": 0, "teamLabel": ""}`), "[podsPerRack: Invalid value: 0: must be at least 1, teamLabel: Required value: name the label of pods that says which team they belong to]"},
		{"of another kind", &v1.Pod{}, "want args of type runtime.Unknown, got *v1.Pod"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := rackbudget.New(t.Context(), test.args, nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
