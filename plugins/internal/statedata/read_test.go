// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package statedata_test

import (
	"errors"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

type number struct{ value int }

func (n *number) Clone() fwk.StateData { return n }

type word struct{}

func (w *word) Clone() fwk.StateData { return w }

func TestRead(t *testing.T) {
	state := framework.NewCycleState()
	if _, err := statedata.Read[*number](state, "key"); !errors.Is(err, fwk.ErrNotFound) {
		t.Errorf("absent key: got error %v, want one that wraps ErrNotFound", err)
	}
	state.Write("key", &word{})
	if _, err := statedata.Read[*number](state, "key"); err == nil {
		t.Error("data of another type: got no error")
	}
	state.Write("key", &number{value: 7})
	got, err := statedata.Read[*number](state, "key")
	if err != nil || got.value != 7 {
		t.Errorf("got %v and error %v, want 7", got, err)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = statedata.Read[*number](state, "key") }); allocs != 0 {
		t.Errorf("a successful read allocates %v times", allocs)
	}
}
