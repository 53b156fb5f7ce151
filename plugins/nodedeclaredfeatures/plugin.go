// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodedeclaredfeatures is the plugin NodeDeclaredFeatures: a pod that uses a feature which not every node has
// yet goes only to nodes that declare it (KEP-5328). Which features a pod needs is inferred from its spec.
//
//   - Extension points: PreFilter, Filter, Sign.
//   - Arguments: none.
//   - Wakes on: a node is added, or declares other features than before; the pod itself changes so that it needs other
//     features than before.
//   - Reads: the pod's spec, and status.declaredFeatures of the node; pods on the node don't matter.
//
// A feature is no longer asked for from a version of Kubernetes on that all nodes of a cluster have it in. The version is
// that of the program as k8s.io/component-base knows it, if it was set when the program was linked, and otherwise that of
// the Kubernetes libraries.
package nodedeclaredfeatures

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	componentversion "k8s.io/component-base/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "NodeDeclaredFeatures"

// reasonMissing is why a node is rejected that does not declare everything that the pod needs.
const reasonMissing = "node(s) didn't match Pod's required features"

var (
	_ fwk.PreFilterPlugin   = &plugin{}
	_ fwk.FilterPlugin      = &plugin{}
	_ fwk.EnqueueExtensions = &plugin{}
	_ fwk.SignPlugin        = &plugin{}
)

// plugin implements NodeDeclaredFeatures. Nothing in it changes after New.
type plugin struct {
	known *ndf.Framework
	// version is that of the cluster: features that every node of it has are not asked for.
	version *version.Version
}

// New builds the plugin; arguments and handle are not used.
func New(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return &plugin{known: ndf.DefaultFramework, version: clusterVersion(componentversion.Get().String())}, nil
}

// clusterVersion returns the version that was set when the program was linked, and that of the libraries if none was: the
// placeholder in its place says 0.0.0.
func clusterVersion(linked string) *version.Version {
	if parsed, err := version.ParseSemantic(linked); err == nil && parsed.Major() > 0 {
		return parsed
	}
	return version.MajorMinor(1, 37)
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }

// required infers which features a pod needs.
func (pl *plugin) required(pod *v1.Pod) (ndf.FeatureSet, error) {
	features, err := pl.known.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec}, pl.version)
	if err != nil {
		return ndf.FeatureSet{}, fmt.Errorf("inferring the node features that pod %s/%s needs: %w", pod.Namespace, pod.Name, err)
	}
	return features, nil
}
