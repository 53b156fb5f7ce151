// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := objects.Pod("p").Toleration(ofCordon()).Build()
	fixture.CheckSigned(t, &plugin{}, pod, fwk.SignFragment{Key: fwk.TolerationsSignerName, Value: pod.Spec.Tolerations})
}
