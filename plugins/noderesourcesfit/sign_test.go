// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{gpu: "gpus"}}
	for name, tt := range map[string]struct {
		dra  fwk.SharedDRAManager
		want fwk.Code
	}{
		"no device classes":          {nil, fwk.Success},
		"resource served by devices": {dra, fwk.Unschedulable},
	} {
		t.Run(name, func(t *testing.T) {
			fragments, status := newPlugin(t, nil, tt.dra).SignPod(t.Context(), requests(gpu, "1"))
			if status.Code() != tt.want || (len(fragments) == 1) != status.IsSuccess() {
				t.Errorf("got %v, %v, want %v", fragments, status, tt.want)
			}
		})
	}
}
