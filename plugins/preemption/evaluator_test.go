// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"strings"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

func TestNewEvaluator(t *testing.T) {
	withInformers := &fixture.Handle{Informers: fixture.Informers(t)}
	tests := []struct {
		name    string
		options preemption.Options
		want    string // part of the error; empty if there is none
	}{
		{"no name", preemption.Options{Handle: withInformers}, "Options.PluginName"},
		{"no handle", preemption.Options{PluginName: "Test"}, "plugin Test reads pods and disruption budgets"},
		{"no informers", preemption.Options{PluginName: "Test", Handle: &fixture.Handle{}}, "InformerFactory"},
		{"default hooks", preemption.Options{PluginName: "Test", Handle: withInformers}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			evaluator, err := preemption.NewEvaluator(tt.options)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
			if (evaluator == nil) != (err != nil) {
				t.Errorf("got evaluator %v with error %v", evaluator, err)
			}
		})
	}
}

// Without a client nothing can be evicted; the pod is tried again instead of the scheduler failing.
func TestNoClient(t *testing.T) {
	preemptor := pod("p", 10, "1")
	all := list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))}
	cluster := fixture.NewCluster(t, fixture.ClusterOptions{
		Objects: all, Registry: registry(), Plugins: filters(), Go: func(task func()) { task() },
	})
	for synchronous, want := range map[bool]fwk.Code{false: fwk.Success, true: fwk.Error} {
		evaluator, err := preemption.NewEvaluator(preemption.Options{PluginName: "Test", Handle: cluster.Framework, Synchronous: synchronous})
		if err != nil {
			t.Fatal(err)
		}
		state, statuses := cluster.Filter(t, preemptor)
		_, status := evaluator.Preempt(silent(t), state, preemptor, statuses)
		if status.Code() != want {
			t.Errorf("synchronous %t: got status %v %q, want %v", synchronous, status.Code(), status.Message(), want)
		}
		if synchronous && !strings.Contains(status.Message(), "ClientSet") {
			t.Errorf("got message %q, which does not say what to do", status.Message())
		}
	}
	if got := cluster.Activated(); len(got) != 1 {
		t.Errorf("activated %q, want the preemptor once", got)
	}
}
