// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// Verdicts on a pod that asks for an extended resource are cached whether devices serve it or not, and not for both.
func TestFilterKeySaysWhatDevicesServe(t *testing.T) {
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{}}
	pl := newPlugin(t, nil, dra)
	key := func() string {
		pod, state := requests("example.com/nic", "2"), framework.NewCycleState()
		if _, status := pl.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
			t.Fatal(status.AsError())
		}
		key, ok := pl.AppendFilterKey(nil, state, pod)
		if !ok {
			t.Fatal("there is no key")
		}
		return string(key)
	}
	without := key()
	dra.Serving["example.com/nic"] = "nics"
	if with := key(); with == without {
		t.Error("the key is the same whether devices serve the resource or not")
	}
}
