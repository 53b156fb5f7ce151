// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
)

// attachmentsByNode is the index of VolumeAttachments by the name of their node. Whoever else indexes them so, under the
// same name, shares the index.
const attachmentsByNode = "va.spec.nodename"

// indexAttachments returns the VolumeAttachments of an informer with the index, which another profile may have added.
func indexAttachments(informer clientcache.SharedIndexInformer) (clientcache.Indexer, error) {
	indexer := informer.GetIndexer()
	if _, found := indexer.GetIndexers()[attachmentsByNode]; found {
		return indexer, nil
	}
	err := informer.AddIndexers(clientcache.Indexers{attachmentsByNode: func(object any) ([]string, error) {
		attachment, ok := object.(*storagev1.VolumeAttachment)
		if !ok || attachment.Spec.NodeName == "" {
			return nil, nil
		}
		return []string{attachment.Spec.NodeName}, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("indexing VolumeAttachments by node: %w", err)
	}
	return indexer, nil
}

// attached adds the persistent volumes that are attached to a node. Attachments of volumes that are gone, or not those
// of CSI drivers, don't count.
func (c *counter) attached(nodeName string, into sets.Set[disk]) error {
	objects, err := c.attachments.ByIndex(attachmentsByNode, nodeName)
	if err != nil {
		return fmt.Errorf("listing the VolumeAttachments of node %s: %w", nodeName, err)
	}
	for _, object := range objects {
		attachment, ok := object.(*storagev1.VolumeAttachment)
		if !ok || attachment.Spec.Attacher == "" || attachment.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		c.consulted.addVolume(*attachment.Spec.Source.PersistentVolumeName)
		volume, err := c.volumes.Get(*attachment.Spec.Source.PersistentVolumeName)
		if err != nil || volume.Spec.CSI == nil {
			continue
		}
		into.Insert(disk{driver: attachment.Spec.Attacher, handle: volume.Spec.CSI.VolumeHandle})
	}
	return nil
}
