// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"testing"

	"github.com/rouse-scheduler/rouse/runtime"
)

func TestPodsInPreBind(t *testing.T) {
	f := build(t, runtime.Options{}, nil)
	if absent := f.GetPodInPreBind("p"); absent != nil {
		t.Errorf("an absent pod is %v", absent)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	f.AddPodInPreBind("p", cancel)
	if !f.GetPodInPreBind("p").CancelPod("preempted") || !f.GetPodInPreBind("p").CancelPod("again") {
		t.Error("a pod in PreBind could not be cancelled")
	}
	if got := errorText(context.Cause(ctx)); got != "preempted" {
		t.Errorf("the binding ended because of %q, want the first reason", got)
	}
	if f.GetPodInPreBind("p").MarkPrebound() {
		t.Error("a cancelled pod was marked as prebound")
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	f.AddPodInPreBind("p", cancel)
	if !f.GetPodInPreBind("p").MarkPrebound() {
		t.Error("the new entry of a pod is cancelled from the beginning")
	}
	if f.GetPodInPreBind("p").CancelPod("too late") || ctx.Err() != nil {
		t.Error("a prebound pod was cancelled")
	}

	f.RemovePodInPreBind("p")
	f.RemovePodInPreBind("p")
	if f.GetPodInPreBind("p") != nil {
		t.Error("the pod is still there")
	}
}
