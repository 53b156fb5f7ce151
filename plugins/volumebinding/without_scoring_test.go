// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestWithoutScoring(t *testing.T) {
	built, err := NewWithoutScoring(t.Context(), &configv1.VolumeBindingArgs{}, &fixture.Handle{Informers: fixture.Informers(t)})
	if err != nil {
		t.Fatal(err)
	}
	if status := built.(fwk.PreScorePlugin).PreScore(t.Context(), nil, claiming("c"), nil); !status.IsSkip() {
		t.Errorf("PreScore returns %v", status)
	}
	if _, filters := built.(fwk.FilterPlugin); !filters {
		t.Error("the plugin does not filter any more")
	}
	if _, err := NewWithoutScoring(t.Context(), nil, &fixture.Handle{}); err == nil {
		t.Error("no error without informers")
	}
}
