// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := selecting("a", "1", requires(term(in("b", "3", "2"))), prefers(preferred(4, in("c", "5"))))
	fragments, status := newPlugin(t, nil).SignPod(t.Context(), pod)
	fixture.CheckStatus(t, status, nil)
	affinity, err := fwk.NodeAffinitySigner(pod)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		fwk.NodeAffinitySignerName: affinity,
		fwk.NodeSelectorSignerName: map[string]string{"a": "1"},
	}
	got := map[string]any{}
	for _, fragment := range fragments {
		got[fragment.Key] = fragment.Value
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Errorf("fragments differ (-want +got):\n%s", diff)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

func TestHintClass(t *testing.T) {
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"nothing", objects.Pod("a").Build(), objects.Pod("b").Build(), true},
		{"same selector", selecting("a", "1", "b", "2"), selecting("b", "2", "a", "1"), true},
		{"same required terms", requiring(term(in("a", "1"))), requiring(term(in("a", "1"))), true},
		{
			"preferences don't count", requiring(term(in("a", "1"))),
			objects.Pod("b").With(requires(term(in("a", "1")))).With(prefers(preferred(1, in("c", "1")))).Build(), true,
		},
		{"other selector", selecting("a", "1"), selecting("a", "2"), false},
		{"other required terms", requiring(term(in("a", "1"))), requiring(term(in("a", "2"))), false},
		{"no required terms are not the same as no requirement", requiring(), objects.Pod("b").With(prefers()).Build(), false},
	}
	pl := newPlugin(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}
