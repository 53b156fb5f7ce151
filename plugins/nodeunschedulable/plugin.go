// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeunschedulable is the plugin NodeUnschedulable: a cordoned node (spec.unschedulable) takes only pods that
// tolerate the taint node.kubernetes.io/unschedulable with effect NoSchedule.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a node is added schedulable or uncordoned; the pod itself gets the toleration.
//   - Reads: the tolerations of the pod and spec.unschedulable of the node; pods on the node don't matter.
package nodeunschedulable

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "NodeUnschedulable"

// reasonCordoned is why a node is rejected.
const reasonCordoned = "node(s) were unschedulable"

var (
	_ fwk.PreFilterPlugin   = &plugin{}
	_ fwk.FilterPlugin      = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
	_ fwk.SignPlugin        = &plugin{}
)

// plugin implements NodeUnschedulable. It has no state.
type plugin struct{}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }

// toleratesCordon reports whether a pod may be placed on cordoned nodes.
func toleratesCordon(logger klog.Logger, pod *v1.Pod) bool {
	cordon := v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}
	return corev1.TolerationsTolerateTaint(logger, pod.Spec.Tolerations, &cordon, false)
}
