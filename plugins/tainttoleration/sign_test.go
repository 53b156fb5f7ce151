// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	fragments, status := (&plugin{}).SignPod(t.Context(), pod(exists("b", ""), exists("a", "")))
	fixture.CheckStatus(t, status, nil)
	want := []fwk.SignFragment{{Key: fwk.TolerationsSignerName, Value: []v1.Toleration{exists("a", ""), exists("b", "")}}}
	if diff := cmp.Diff(want, fragments); diff != "" {
		t.Errorf("fragments differ (-want +got):\n%s", diff)
	}
}
