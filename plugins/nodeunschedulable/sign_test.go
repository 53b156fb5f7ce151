// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := objects.Pod("p").Toleration(ofCordon()).Build()
	fragments, status := (&plugin{}).SignPod(t.Context(), pod)
	fixture.CheckStatus(t, status, nil)
	want := []fwk.SignFragment{{Key: fwk.TolerationsSignerName, Value: pod.Spec.Tolerations}}
	if diff := cmp.Diff(want, fragments); diff != "" {
		t.Errorf("fragments differ (-want +got):\n%s", diff)
	}
}
