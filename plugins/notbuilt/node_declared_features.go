// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	fwk "k8s.io/kube-scheduler/framework"
)

// NodeDeclaredFeatures is the name of a plugin.
const NodeDeclaredFeatures = "NodeDeclaredFeatures"

// NewNodeDeclaredFeatures builds the stand-in for NodeDeclaredFeatures; arguments and handle are not used.
func NewNodeDeclaredFeatures(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	// Features that every node of this version has are not asked for.
	libraries := version.MajorMinor(1, 37)
	find := func(pod *v1.Pod) (*need, error) {
		features := nodedeclaredfeatures.DefaultFramework
		required, err := features.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, libraries)
		if err != nil {
			return nil, fmt.Errorf("inferring the node features that pod %s/%s requires: %w", pod.Namespace, pod.Name, err)
		}
		if required.IsEmpty() {
			return nil, nil
		}
		names, err := features.Unmap(required)
		if err != nil {
			return nil, fmt.Errorf("naming the node features that pod %s/%s requires: %w", pod.Namespace, pod.Name, err)
		}
		return &need{what: fmt.Sprintf("requires the node features %v", names), field: "spec"}, nil
	}
	return &standIn{name: NodeDeclaredFeatures, find: find}, nil
}
