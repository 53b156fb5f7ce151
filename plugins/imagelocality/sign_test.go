// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	pod := fixture.Pod("p", container("b"), container("a:v1"), container("b:latest"), initContainer("reg:5000/x"), imageVolume("volume"))
	fragments, status := (&plugin{}).SignPod(t.Context(), pod)
	fixture.CheckStatus(t, status, nil)
	want := []fwk.SignFragment{{Key: fwk.ImageNamesSignerName, Value: []string{"a:v1", "b:latest", "reg:5000/x:latest"}}}
	if diff := cmp.Diff(want, fragments); diff != "" {
		t.Errorf("fragments differ (-want +got):\n%s", diff)
	}
}
