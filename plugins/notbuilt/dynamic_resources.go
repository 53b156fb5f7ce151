// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
)

// DynamicResources is the name of a plugin.
const DynamicResources = "DynamicResources"

type dynamicResources struct {
	standIn
	noPreEnqueue
	noPostFilter
	noScore
	noReserve
	noPreBind
}

var (
	_ fwk.PreEnqueuePlugin         = &dynamicResources{}
	_ fwk.PreFilterPlugin          = &dynamicResources{}
	_ fwk.FilterPlugin             = &dynamicResources{}
	_ fwk.PostFilterPlugin         = &dynamicResources{}
	_ fwk.PodGroupPostFilterPlugin = &dynamicResources{}
	_ fwk.ScorePlugin              = &dynamicResources{}
	_ fwk.ReservePlugin            = &dynamicResources{}
	_ fwk.PreBindPlugin            = &dynamicResources{}
	_ fwk.EnqueueExtensions        = &dynamicResources{}
)

// NewDynamicResources builds the stand-in for DynamicResources; arguments are not used. Through the handle it learns
// which extended resources devices serve: NodeResourcesFit does not check those, so such a pod is rejected here.
func NewDynamicResources(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	classes := noderesources.NewDeviceClasses(handle)
	find := func(pod *v1.Pod) (*need, error) {
		if claims := pod.Spec.ResourceClaims; len(claims) > 0 {
			return &need{what: fmt.Sprintf("uses resource claim %q", claims[0].Name), field: "spec.resourceClaims[0]"}, nil
		}
		requested := noderesources.Request(pod).ScalarResources
		for _, name := range slices.Sorted(maps.Keys(requested)) {
			if requested[name] > 0 && classes.Serve(name) {
				return &need{what: fmt.Sprintf("requests %s, which a DeviceClass serves", name), field: "spec.containers"}, nil
			}
		}
		return nil, nil
	}
	return &dynamicResources{standIn: standIn{name: DynamicResources, find: find}}, nil
}
