// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// misnaming names nodes that do not exist.
type misnaming struct {
	rude
	kept      []string
	nominated string
}

func (m *misnaming) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if m.kept == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable, "to have PostFilter called")
	}
	return &fwk.PreFilterResult{NodeNames: sets.New(m.kept...)}, nil
}

func (m *misnaming) PostFilter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	nominating := fwk.NominatingInfo{NominatedNodeName: m.nominated, NominatingMode: fwk.ModeOverride}
	return &fwk.PostFilterResult{NominatingInfo: &nominating}, fwk.NewStatus(fwk.Success)
}

// A plugin that names nodes that do not exist is named in the trace, with the nodes.
func TestPluginsThatNameUnknownNodes(t *testing.T) {
	tests := map[string]struct {
		plugin misnaming
		want   string // empty if all nodes exist
	}{
		"PreFilter, all unknown":      {misnaming{kept: []string{"n8", "n7"}}, `plugin "Rude" named nodes in PreFilter that do not exist: n7, n8`},
		"PreFilter, one unknown":      {misnaming{kept: []string{"n1", "n7"}}, `plugin "Rude" named nodes in PreFilter that do not exist: n7`},
		"PreFilter, many":             {misnaming{kept: []string{"a", "b", "c", "d", "e", "f", "g"}}, "that do not exist: a, b, c, d, e and 2 more"},
		"PreFilter, nodes that exist": {misnaming{kept: []string{"n1"}}, ""},
		"PostFilter":                  {misnaming{nominated: "n7"}, `plugin "Rude" named nodes in PostFilter that do not exist: n7`},
		"PostFilter, existing":        {misnaming{nominated: "n1"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := rudeOptions(t, &rude{})
			with := withPlugin(t, "Rude", func(fwk.Handle) fwk.Plugin { return &test.plugin })
			options.Registry = with.Registry
			cluster, err := simulate.NewCluster(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			if err := cluster.Create(newNode("n1", "4"), newPod("p", "1")); err != nil {
				t.Fatal(err)
			}
			if err := cluster.Advance(0); err != nil {
				t.Fatal(err)
			}
			said := slices.IndexFunc(cluster.Trace(), func(entry simulate.TraceEntry) bool {
				return entry.What == simulate.WhatFailed && entry.Plugin == "Rude" && entry.Pod == "shop/p" && strings.Contains(entry.Message, "do not exist")
			})
			switch {
			case (said >= 0) != (test.want != ""):
				t.Errorf("want %q in:\n%v", test.want, cluster.Trace())
			case said >= 0 && !strings.HasSuffix(cluster.Trace()[said].Message, test.want):
				t.Errorf("message %q, want %q", cluster.Trace()[said].Message, test.want)
			}
		})
	}
}

// A plugin that rejects a pod without a reason is named in the message of the pod.
func TestRejectionsWithoutAReason(t *testing.T) {
	for _, at := range []runtime.Method{runtime.MethodPreFilter, runtime.MethodFilter, runtime.MethodReserve, runtime.MethodPermit} {
		for _, code := range []fwk.Code{fwk.Unschedulable, fwk.UnschedulableAndUnresolvable} {
			t.Run(string(at)+" "+code.String(), func(t *testing.T) {
				reject := func(call) *fwk.Status { return fwk.NewStatus(code) }
				cluster, err := misplay(t, &rude{at: at, do: reject}, func(options *simulate.Options) { options.Trace = true })
				if err != nil {
					t.Fatal(err)
				}
				const want = "rejected by Rude without a reason"
				if state, _ := cluster.Pod("shop", "bad"); !strings.Contains(state.Message, want) {
					t.Errorf("message %q, want %q", state.Message, want)
				}
				said := func(entry simulate.TraceEntry) bool {
					return entry.What == simulate.WhatRejected && strings.Contains(entry.Message, want)
				}
				if !slices.ContainsFunc(cluster.Trace(), said) {
					t.Errorf("no entry says so:\n%v", cluster.Trace())
				}
			})
		}
	}
}

// TestKindsThatPluginsRead has objects of kinds that a plugin reads, by other plurals, in other versions or only late.
func TestKindsThatPluginsRead(t *testing.T) {
	for _, resource := range []string{"gateways.v1.example.com", "gatewaies.v1.example.com", "gateway.v1.example.com"} {
		report := run(t, documents(
			"{apiVersion: example.com/v1, kind: Gateway, metadata: {name: g, namespace: default}, spec: {open: 'no'}}",
			node("n1", ""), pod("a", "1", ""), scenario(
				"{at: 10s, patch: {apiVersion: example.com/v1, kind: Gateway, metadata: {name: g, namespace: default}, spec: {open: 'yes'}}}",
				"{expect: {pods: [{name: a, pool: bound, wokenBy: "+resource+"Update}]}}",
			)), withPlugin(t, "Test", announced(fwk.EventResource(resource), "spec", "open")))
		wantNoFailures(t, report)
		if len(report.Warnings) > 0 {
			t.Errorf("%s: warnings: %q", resource, report.Warnings)
		}
	}
	other := run(t, documents("{apiVersion: example.com/v1, kind: Gateway, metadata: {name: g}}", node("n1", "")),
		withPlugin(t, "Test", announced("gateways.v1beta1.example.com", "spec", "open")))
	if want := "read in another version, as simulations don't convert them: 1 of example.com/v1 Gateway (read as v1beta1)"; len(other.Warnings) != 1 || !strings.HasSuffix(other.Warnings[0], want) {
		t.Errorf("another version: warnings %q, want %q", other.Warnings, want)
	}
	found := 0
	late := run(t, documents("{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: default}}", node("n1", ""), pod("a", "1", "")),
		withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin {
			return &filterPlugin{filter: func(*v1.Pod) *fwk.Status {
				if _, err := handle.SharedInformerFactory().Core().V1().ConfigMaps().Lister().ConfigMaps("default").Get("m"); err == nil {
					found++
				}
				return nil
			}}
		}))
	if found == 0 || len(late.Warnings) != 0 {
		t.Errorf("a kind asked for late: found %d times, warnings %q", found, late.Warnings)
	}
}
