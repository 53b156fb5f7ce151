// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	storagevolume "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// checkBound returns why a node can't reach the volumes of bound claims; an empty reason if it can.
func (pl *plugin) checkBound(logger klog.Logger, bound []*v1.PersistentVolumeClaim, node *v1.Node) (reason string, err error) {
	for _, claim := range bound {
		volume, err := pl.volumes.Get(claim.Spec.VolumeName)
		switch {
		case apierrors.IsNotFound(err):
			return reasonVolumeGone, nil
		case err != nil:
			return "", err
		}
		affinity, err := pl.asOnNode(logger, volume, node.Name)
		if err != nil {
			return "", err
		}
		if storagevolume.CheckNodeAffinity(affinity, node.Labels) != nil {
			return reasonNodeConflict, nil
		}
	}
	return "", nil
}

// asOnNode returns an in-tree volume as the CSI driver sees it that has taken it over on the node, with the node
// affinity that goes by the labels of the driver. Other volumes are returned as they are.
func (pl *plugin) asOnNode(logger klog.Logger, volume *v1.PersistentVolume, nodeName string) (*v1.PersistentVolume, error) {
	if volume.Spec.CSI != nil || !pl.translator.IsPVMigratable(volume) {
		return volume, nil
	}
	built, err := pl.translator.GetInTreePluginNameFromSpec(volume, nil)
	if err != nil {
		return nil, fmt.Errorf("looking up the plugin of persistentvolume %q: %w", volume.Name, err)
	}
	if !podvolumes.IsMigrated(built) {
		return volume, nil
	}
	// A node without a CSINode has no CSI drivers.
	csiNode, err := pl.csiNodes.Get(nodeName)
	if err != nil || !slices.Contains(migratedPlugins(csiNode), built) {
		return volume, nil
	}
	translated, err := pl.translator.TranslateInTreePVToCSI(logger, volume)
	if err != nil {
		return nil, fmt.Errorf("translating persistentvolume %q for its CSI driver: %w", volume.Name, err)
	}
	return translated, nil
}

// migratedPlugins returns the in-tree plugins whose volumes are left to CSI drivers on a node.
func migratedPlugins(csiNode *storagev1.CSINode) []string {
	if csiNode == nil {
		return nil
	}
	return strings.Split(csiNode.Annotations[v1.MigratedPluginsAnnotationKey], ",")
}
