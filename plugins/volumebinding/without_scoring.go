// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

// NewWithoutScoring is like [New], but to the plugin every node that a pod fits is as good as another, whatever storage
// it has left. The arguments need no shape.
func NewWithoutScoring(ctx context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.VolumeBindingArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if len(args.Shape) == 0 {
		args = args.DeepCopy()
		args.Shape = []configv1.UtilizationShapePoint{{}} // which New asks for, and is not used
	}
	built, err := New(ctx, args, handle)
	if err != nil {
		return nil, err
	}
	return withoutScoring{built.(*plugin)}, nil
}

// withoutScoring is the plugin without its scores.
type withoutScoring struct{ *plugin }

// PreScore implements fwk.PreScorePlugin: it has Score skipped.
func (withoutScoring) PreScore(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) *fwk.Status {
	return fwk.NewStatus(fwk.Skip)
}
