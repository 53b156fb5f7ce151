// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Usually, controller-gen writes these.

// DeepCopyObject implements runtime.Object.
func (g *PodGroup) DeepCopyObject() apiruntime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *PodGroupList) DeepCopyObject() apiruntime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		l.Items[i].ObjectMeta.DeepCopyInto(&out.Items[i].ObjectMeta)
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (p *NodePrice) DeepCopyObject() apiruntime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *NodePriceList) DeepCopyObject() apiruntime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = slices.Clone(l.Items)
	for i := range out.Items {
		l.Items[i].ObjectMeta.DeepCopyInto(&out.Items[i].ObjectMeta)
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (a *GangArgs) DeepCopyObject() apiruntime.Object {
	out := *a
	return &out
}
