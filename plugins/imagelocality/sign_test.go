// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := objects.Pod("p").With(container("b")).With(container("a:v1")).With(container("b:latest")).With(initContainer("reg:5000/x")).With(imageVolume("volume")).Build()
	fixture.CheckSigned(t, &plugin{}, pod, fwk.SignFragment{Key: fwk.ImageNamesSignerName, Value: []string{"a:v1", "b:latest", "reg:5000/x:latest"}})
}
