// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
)

// SignPod implements fwk.SignPlugin; the fragment is the one of NodeResourcesFit.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return noderesources.Sign(pod, pl.classes)
}
