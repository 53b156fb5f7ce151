// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// boundClaim is a bound claim, with what is the same for all nodes.
type boundClaim struct {
	// gone is set if the claim has no volume; failure is why that can't be told.
	gone    bool
	failure error
	// affinity is from where the volume can be reached. If plugin is set, it is an in-tree plugin, and on nodes that leave its
	// volumes to a CSI driver migrated counts, which goes by the labels of the driver.
	affinity        affinity
	plugin          string
	migrated        affinity
	migratedFailure error
}

// prepareBound looks up the volumes of bound claims.
func (pl *plugin) prepareBound(logger klog.Logger, claims []*v1.PersistentVolumeClaim) []boundClaim {
	prepared := make([]boundClaim, len(claims))
	for i, claim := range claims {
		prepared[i] = pl.boundTo(logger, claim.Spec.VolumeName)
	}
	return prepared
}

func (pl *plugin) boundTo(logger klog.Logger, name string) boundClaim {
	volume, err := pl.volumes.Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return boundClaim{gone: true}
	case err != nil:
		return boundClaim{failure: err}
	}
	plugin, err := pl.migratedPlugin(volume)
	if err != nil {
		return boundClaim{failure: err}
	}
	b := boundClaim{affinity: affinityOf(volume), plugin: plugin}
	if plugin == "" {
		return b
	}
	translated, err := pl.translate(logger, volume)
	if err != nil {
		b.migratedFailure = err
		return b
	}
	b.migrated = affinityOf(translated)
	return b
}

// migratedPlugin returns the in-tree plugin of a volume if CSI drivers take its volumes over; it is empty for other volumes.
func (pl *plugin) migratedPlugin(volume *v1.PersistentVolume) (string, error) {
	if volume.Spec.CSI != nil || !pl.translator.IsPVMigratable(volume) {
		return "", nil
	}
	plugin, err := pl.translator.GetInTreePluginNameFromSpec(volume, nil)
	if err != nil {
		return "", fmt.Errorf("looking up the plugin of persistentvolume %q: %w", volume.Name, err)
	}
	if !podvolumes.IsMigrated(plugin) {
		return "", nil
	}
	return plugin, nil
}

// translate returns an in-tree volume as the CSI driver sees it, with the node affinity that goes by the labels of the driver.
func (pl *plugin) translate(logger klog.Logger, volume *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	translated, err := pl.translator.TranslateInTreePVToCSI(logger, volume)
	if err != nil {
		return nil, fmt.Errorf("translating persistentvolume %q for its CSI driver: %w", volume.Name, err)
	}
	return translated, nil
}

// checkBound returns why a node can't reach the volumes of bound claims; an empty reason if it can.
func (pl *plugin) checkBound(bound []boundClaim, node *v1.Node) (reason string, err error) {
	for i := range bound {
		claim := &bound[i]
		reachable, failure := &claim.affinity, claim.failure
		if claim.plugin != "" && pl.isMigratedOn(node.Name, claim.plugin) {
			reachable, failure = &claim.migrated, claim.migratedFailure
		}
		switch {
		case claim.gone:
			return reasonVolumeGone, nil
		case failure != nil:
			return "", failure
		case !reachable.includes(node.Labels):
			return reasonNodeConflict, nil
		}
	}
	return "", nil
}

// isMigratedOn reports whether a node leaves the volumes of an in-tree plugin to a CSI driver. A node without a CSINode has
// no CSI drivers.
func (pl *plugin) isMigratedOn(node, plugin string) bool {
	csiNode, err := pl.csiNodes.Get(node)
	return err == nil && hasMigrated(csiNode, plugin)
}

func hasMigrated(csiNode *storagev1.CSINode, plugin string) bool {
	if csiNode == nil {
		return false
	}
	for migrated := range strings.SplitSeq(csiNode.Annotations[v1.MigratedPluginsAnnotationKey], ",") {
		if migrated == plugin {
			return true
		}
	}
	return false
}

// asOnNode returns an in-tree volume as the CSI driver sees it that has taken it over on the node. Other volumes are returned as
// they are.
func (pl *plugin) asOnNode(logger klog.Logger, volume *v1.PersistentVolume, nodeName string) (*v1.PersistentVolume, error) {
	plugin, err := pl.migratedPlugin(volume)
	if err != nil || plugin == "" || !pl.isMigratedOn(nodeName, plugin) {
		return volume, err
	}
	return pl.translate(logger, volume)
}
