// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// createNodes creates nodes, which have their name as their hostname.
type createNodes struct {
	opcode
	Count            int    `json:"count"`
	CountParam       string `json:"countParam"`
	NodeTemplatePath string `json:"nodeTemplatePath"`
	// LabelNodePrepareStrategy gives each node a label, with the values in turn.
	LabelNodePrepareStrategy *struct {
		LabelKey    string   `json:"labelKey"`
		LabelValues []string `json:"labelValues"`
	} `json:"labelNodePrepareStrategy"`
	NodeAllocatableStrategy *allocatableStrategy `json:"nodeAllocatableStrategy"`
}

// allocatableStrategy says how many volumes a node takes: of old plugins by a resource, of CSI drivers by a CSINode, which
// also names the old plugins that CSI drivers stand in for.
type allocatableStrategy struct {
	NodeAllocatable    map[v1.ResourceName]string                `json:"nodeAllocatable"`
	CSINodeAllocatable map[string]*storagev1.VolumeNodeResources `json:"csiNodeAllocatable"`
	MigratedPlugins    []string                                  `json:"migratedPlugins"`
}

// defaultNode is the template of nodes for which an operation names none, relative to the suite.
const defaultNode = "templates/node-default.yaml"

func (o *createNodes) prepare(at place) (step, error) {
	count, err := at.count(o.Count, o.CountParam, 0)
	if err != nil {
		return step{}, err
	}
	path := at.path(o.NodeTemplatePath)
	if path == "" {
		path = at.suitePath(defaultNode)
	}
	template, err := at.manifest(path, nil, count)
	if err != nil {
		return step{}, err
	}
	features := 0
	if _, declares := at.params[declaredFeatures]; declares {
		if features, err = at.params.integer("$"+declaredFeatures, 0); err != nil {
			return step{}, err
		}
	}
	return step{name: o.Opcode, manifests: []*manifest{template}, do: func(ctx context.Context, r *run) error {
		return inParallel(ctx, count, func(i int) error {
			node, err := object[v1.Node](template, i)
			if err != nil {
				return err
			}
			o.fit(node, at.index, i, features)
			return o.create(ctx, r, node)
		})
	}}, nil
}

// declaredFeatures is a parameter: how many features each node declares.
const declaredFeatures = "numNodeDeclaredFeatures"

// fit gives a node what the operation says it has in addition to the template.
func (o *createNodes) fit(node *v1.Node, operation, index, features int) {
	if node.Name == "" {
		node.Name = fmt.Sprintf("%s%d-%d", node.GenerateName, operation, index)
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Labels[v1.LabelHostname] == "" {
		node.Labels[v1.LabelHostname] = node.Name
	}
	if labels := o.LabelNodePrepareStrategy; labels != nil {
		node.Labels[labels.LabelKey] = labels.LabelValues[index%len(labels.LabelValues)]
	}
	for i := range features {
		node.Status.DeclaredFeatures = append(node.Status.DeclaredFeatures, fmt.Sprintf("Feature%04d", i))
	}
	if o.NodeAllocatableStrategy == nil {
		return
	}
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = maps.Clone(node.Status.Capacity)
	}
	for name, amount := range o.NodeAllocatableStrategy.NodeAllocatable {
		node.Status.Capacity[name] = resource.MustParse(amount)
		node.Status.Allocatable[name] = resource.MustParse(amount)
	}
}

// migratedPlugins is the annotation of a CSINode with the old plugins that CSI drivers stand in for.
const migratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins"

func (o *createNodes) create(ctx context.Context, r *run, node *v1.Node) error {
	if _, err := r.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating node %s: %w", node.Name, err)
	}
	if o.NodeAllocatableStrategy == nil || len(o.NodeAllocatableStrategy.CSINodeAllocatable) == 0 {
		return nil
	}
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	if migrated := o.NodeAllocatableStrategy.MigratedPlugins; len(migrated) > 0 {
		csi.Annotations = map[string]string{migratedPlugins: strings.Join(migrated, ",")}
	}
	for _, driver := range slices.Sorted(maps.Keys(o.NodeAllocatableStrategy.CSINodeAllocatable)) {
		csi.Spec.Drivers = append(csi.Spec.Drivers, storagev1.CSINodeDriver{
			Name: driver, NodeID: node.Name,
			Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(ptr.Deref(o.NodeAllocatableStrategy.CSINodeAllocatable[driver].Count, 0))},
		})
	}
	if _, err := r.client.StorageV1().CSINodes().Create(ctx, csi, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the CSINode of %s: %w", node.Name, err)
	}
	return nil
}
