// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

type victimMap = map[string]*extenderv1.Victims

// extender is an extender that has a say in preemption.
type extender struct {
	fwk.Extender
	ignorable, indifferent, unsupported bool
	process                             func(victims victimMap) (victimMap, error)
}

func (e *extender) Name() string              { return "ext" }
func (e *extender) SupportsPreemption() bool  { return !e.unsupported }
func (e *extender) IsInterested(*v1.Pod) bool { return !e.indifferent }
func (e *extender) IsIgnorable() bool         { return e.ignorable }
func (e *extender) ProcessPreemption(_ *v1.Pod, victims victimMap, nodes fwk.NodeInfoLister) (victimMap, error) {
	if list, err := nodes.List(); err != nil || len(list) == 0 {
		return nil, errors.New("the extender sees no nodes")
	}
	return e.process(victims)
}

func keep(names ...string) func(victimMap) (victimMap, error) {
	return func(victims victimMap) (victimMap, error) {
		kept := victimMap{}
		for _, name := range names {
			if victims[name] != nil {
				kept[name] = victims[name]
			}
		}
		return kept, nil
	}
}

func TestExtenders(t *testing.T) {
	fail := func(victimMap) (victimMap, error) { return nil, errors.New("down") }
	empty := func(victims victimMap) (victimMap, error) {
		victims["a"] = &extenderv1.Victims{}
		victims["b"] = nil
		return victims, nil
	}
	must := func(victimMap) (victimMap, error) {
		t.Error("this extender must not be asked")
		return nil, nil
	}
	others := func(victims victimMap) (victimMap, error) {
		victims["c"] = &extenderv1.Victims{Pods: []*v1.Pod{pod("vc", 9, "1", on("c")), pod("other", 9, "1", on("c"))}}
		return keep("c")(victims)
	}
	unknown := func(victims victimMap) (victimMap, error) {
		return victimMap{"z": victims["a"]}, nil
	}
	type extenders = []fwk.Extender
	const noCandidate = "no candidate node for preemption"
	tests := []struct {
		name      string
		extenders extenders
		node      string // where the pod goes
		victims   string
		want      *fwk.Status // if it goes nowhere
	}{
		{"none", nil, "a", "va", nil},
		{"keeps all", extenders{&extender{process: keep("a", "b", "c")}}, "a", "va", nil},
		{"keeps some", extenders{&extender{process: keep("b", "c")}}, "b", "vb", nil},
		{"keeps none", extenders{&extender{process: keep()}}, "", "", fwk.NewStatus(fwk.Unschedulable, noCandidate)},
		{"keeps none, and the next is not asked", extenders{&extender{process: keep()}, &extender{process: must}}, "", "",
			fwk.NewStatus(fwk.Unschedulable, noCandidate)},
		{"one after the other", extenders{&extender{process: keep("a", "b")}, &extender{process: keep("b", "c")}}, "b", "vb", nil},
		{"nothing in common", extenders{&extender{process: keep("a")}, &extender{process: keep("c")}}, "", "",
			fwk.NewStatus(fwk.Unschedulable, noCandidate)},
		{"chooses other victims", extenders{&extender{process: others}}, "c", "vc other", nil},
		{"a node that was no candidate is ignored", extenders{&extender{process: unknown}}, "", "", fwk.NewStatus(fwk.Unschedulable, noCandidate)},
		{"fails", extenders{&extender{process: fail}}, "", "", fwk.NewStatus(fwk.Error, "asking extender ext about preemption: down")},
		{"fails, ignorable", extenders{&extender{process: fail, ignorable: true}, &extender{process: keep("b")}}, "b", "vb", nil},
		{"no victims, ignorable", extenders{&extender{process: empty, ignorable: true}}, "c", "vc", nil},
		{"not interested", extenders{&extender{process: must, indifferent: true}}, "a", "va", nil},
		{"does not support preemption", extenders{&extender{process: must, unsupported: true}}, "a", "va", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "1")
			// The priorities make a the best node, then b.
			s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
				Extenders: tt.extenders,
				Objects: list{
					preemptor, node("a", "1"), pod("va", 1, "1", on("a")), node("b", "1"), pod("vb", 2, "1", on("b")),
					node("c", "1"), pod("vc", 3, "1", on("c")), pod("other", 20, "1"),
				},
			}})
			result, status := s.preempt(t, preemptor)
			if tt.want == nil {
				s.checkPreempted(t, result, status, tt.node, tt.victims)
				return
			}
			fixture.CheckStatus(t, status, tt.want)
			if nominated(result) != "kept" || len(s.deleted()) > 0 {
				t.Errorf("nomination %s, deleted %q; want it kept, and no pod deleted", nominated(result), s.deleted())
			}
		})
	}
}

func TestExtenderLeavesNoVictims(t *testing.T) {
	preemptor := pod("p", 10, "1")
	s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
		Extenders: []fwk.Extender{&extender{process: func(victimMap) (victimMap, error) { return victimMap{"a": nil}, nil }}},
		Objects:   list{preemptor, node("a", "1"), pod("va", 1, "1", on("a"))},
	}})
	_, status := s.preempt(t, preemptor)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Error, `expected at least one victim pod on node "a"`))
}
