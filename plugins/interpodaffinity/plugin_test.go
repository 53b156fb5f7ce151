// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestNew(t *testing.T) {
	with := &fixture.Handle{Informers: fixture.Informers(t)}
	tests := []struct {
		name    string
		args    apiruntime.Object
		handle  fwk.Handle
		wantErr string
	}{
		{"no args", nil, with, ""},
		{"args", weighing(100), with, ""},
		{"weight too large", weighing(101), with, "hardPodAffinityWeight"},
		{"weight negative", weighing(-1), with, "hardPodAffinityWeight"},
		{"no informers", nil, &fixture.Handle{}, "needs an informer factory"},
		{"no handle", nil, nil, "needs an informer factory"},
		{"args of another plugin", &configv1.NodeAffinityArgs{}, with, "want args to be of type InterPodAffinityArgs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(t.Context(), tt.args, tt.handle)
			if tt.wantErr == "" && err != nil {
				t.Errorf("got error %v", err)
			}
			if tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("got error %v, want one that mentions %q", err, tt.wantErr)
			}
		})
	}
}
