// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestNew(t *testing.T) {
	with := &fixture.Handle{Informers: fixture.Informers(t)}
	without := &fixture.Handle{}
	valid := constraintOn(1, zone, hard, selectingNothing)
	tests := []struct {
		name    string
		args    apiruntime.Object
		handle  fwk.Handle
		wantErr string
	}{
		{"no args", nil, with, ""},
		{"constraints of the system", &configv1.PodTopologySpreadArgs{DefaultingType: configv1.SystemDefaulting}, with, ""},
		{"a list", list(valid), with, ""},
		{"an empty list needs no informers", list(), without, ""},
		{"constraints of the system need informers", nil, without, "needs an informer factory"},
		{"a list needs informers", list(valid), without, "needs an informer factory"},
		{"no handle", nil, nil, "needs a handle"},
		{
			"the system and a list", &configv1.PodTopologySpreadArgs{
				DefaultingType: configv1.SystemDefaulting, DefaultConstraints: []v1.TopologySpreadConstraint{valid},
			}, with, "defaultingType",
		},
		{"a selector in the list", list(constraintOn(1, zone, hard)), with, "labelSelector"},
		{"args of another plugin", &configv1.NodeAffinityArgs{}, with, "want args to be of type PodTopologySpreadArgs"},
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
