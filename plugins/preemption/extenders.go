// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// within returns the extender with calls that end with the context, if it can do that.
func within(ctx context.Context, extender fwk.Extender) fwk.Extender {
	if e, ok := extender.(interface {
		WithContext(ctx context.Context) fwk.Extender
	}); ok {
		return e.WithContext(ctx)
	}
	return extender
}

// askExtenders lets the extenders, one after the other, turn nodes down and choose other victims.
func (e *Evaluator) askExtenders(ctx context.Context, pod *v1.Pod, victims map[string]*extenderv1.Victims) (map[string]*extenderv1.Victims, error) {
	for _, extender := range e.handle.Extenders() {
		if len(victims) == 0 {
			break
		}
		if !extender.SupportsPreemption() || !extender.IsInterested(pod) {
			continue
		}
		answer, err := within(ctx, extender).ProcessPreemption(pod, victims, e.handle.SnapshotSharedLister().NodeInfos())
		if err != nil {
			if !extender.IsIgnorable() || ctx.Err() != nil {
				return nil, fmt.Errorf("asking extender %s about preemption: %w", extender.Name(), err)
			}
			klog.FromContext(ctx).Info("Skipping an extender that returned an error", "extender", extender.Name(), "err", err)
			continue
		}
		victims = make(map[string]*extenderv1.Victims, len(answer))
		for node, chosen := range answer {
			switch {
			case chosen != nil && len(chosen.Pods) > 0:
				victims[node] = chosen
			case !extender.IsIgnorable():
				return nil, withoutVictims(node)
			default:
				klog.FromContext(ctx).Info("Leaving out a node for which an extender returned no victims",
					"extender", extender.Name(), "node", node)
			}
		}
	}
	return victims, nil
}
