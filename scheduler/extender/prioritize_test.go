// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestPrioritize(t *testing.T) {
	server := newService(t, http.StatusOK, `[{"Host": "b", "Score": 10}, {"Host": "a", "Score": 0}]`)
	scores, weight, err := newExtender(t, server.URL).Prioritize(objects.Pod("p").Build(), makeNodes("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&extenderv1.HostPriorityList{{Host: "b", Score: 10}, {Host: "a"}}, scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if weight != 3 {
		t.Errorf("weight %d, want 3", weight)
	}
}

func TestBind(t *testing.T) {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p-uid"},
		Target:     v1.ObjectReference{Kind: "Node", Name: "a"},
	}
	tests := []struct{ name, answer, err string }{
		{"bound", "{}", ""},
		{"refused", `{"Error": "node a is locked"}`, "/scheduler/bind answered with an error: node a is locked"},
		{"no answer", "", "the answer is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newService(t, http.StatusOK, tt.answer)
			err := newExtender(t, server.URL).Bind(binding)
			var got extenderv1.ExtenderBindingArgs
			server.sent(t, "/scheduler/bind", &got)
			want := extenderv1.ExtenderBindingArgs{PodName: "p", PodNamespace: "default", PodUID: "p-uid", Node: "a"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if tt.err == "" && err != nil {
				t.Error(err)
			}
			if tt.err != "" {
				wantError(t, err, server.URL, tt.err)
			}
		})
	}
}
