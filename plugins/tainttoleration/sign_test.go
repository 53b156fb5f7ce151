// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	fixture.CheckSigned(t, &plugin{}, pod(exists("b", ""), exists("a", "")), fwk.SignFragment{Key: fwk.TolerationsSignerName, Value: []v1.Toleration{exists("a", ""), exists("b", "")}})
}
