// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/storage/ephemeral"
	storagevolume "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// disk is a volume as its driver counts it.
type disk struct {
	driver string
	// handle is how the driver calls the volume. A volume that is still to be made has none; it is told from others by
	// the claim that it is made for, written namespace/name.
	handle string
	claim  string
}

// counter finds the disks of pods on one node.
type counter struct {
	*plugin
	logger klog.Logger
	// hasCSINode tells that the node has one. Otherwise no CSI driver takes in-tree volumes over there.
	hasCSINode bool
	// consulted, if not nil, hears which objects were looked up, whether they were there or not.
	consulted *consulted
}

// add adds the disks of a pod. Where lenient is set, claims that can't be looked up don't count; otherwise they are an
// error.
func (c *counter) add(pod *v1.Pod, lenient bool, into sets.Set[disk]) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		var found *disk
		var err error
		if name, ok := podvolumes.ClaimName(pod, volume); ok {
			found, err = c.claimed(pod, volume, name, lenient)
		} else {
			found, err = c.inline(pod, volume)
		}
		if err != nil {
			return err
		}
		if found != nil {
			into.Insert(*found)
		}
	}
	return nil
}

// claimed returns the disk behind a volume that stands for a claim; nil if it does not count.
func (c *counter) claimed(pod *v1.Pod, volume *v1.Volume, name string, lenient bool) (*disk, error) {
	if name == "" {
		return nil, errors.New("PersistentVolumeClaim had no name")
	}
	c.consulted.addClaim(pod.Namespace, name)
	claim, err := c.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
	switch {
	case err != nil && lenient:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking up PVC %s/%s: %w", pod.Namespace, name, err)
	}
	if volume.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
			return nil, err
		}
	}
	if claim.Spec.VolumeName == "" {
		return c.toBeMade(claim), nil
	}
	c.consulted.addVolume(claim.Spec.VolumeName)
	persistent, err := c.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return c.toBeMade(claim), nil
	}
	return c.persistent(persistent), nil
}

// persistent returns the disk of a persistent volume; nil if no CSI driver attaches it.
func (c *counter) persistent(volume *v1.PersistentVolume) *disk {
	source := volume.Spec.CSI
	if source == nil {
		if !c.translator.IsPVMigratable(volume) {
			return nil
		}
		built, err := c.translator.GetInTreePluginNameFromSpec(volume, nil)
		if err != nil || !c.migrated(built) {
			return nil
		}
		translated, err := c.translator.TranslateInTreePVToCSI(c.logger, volume)
		if err != nil {
			c.logger.V(5).Info("A volume that can't be translated for its CSI driver does not count", "volume", volume.Name, "err", err)
			return nil
		}
		source = translated.Spec.CSI
	}
	return diskOf(source)
}

// toBeMade returns the disk of a claim that has no volume yet; nil if its storage class does not tell the driver.
func (c *counter) toBeMade(claim *v1.PersistentVolumeClaim) *disk {
	class, err := c.classes.Get(storagevolume.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return nil
	}
	driver := class.Provisioner
	if c.translator.IsMigratableIntreePluginByName(driver) {
		if !c.migrated(driver) {
			return nil
		}
		if driver, err = c.translator.GetCSINameFromInTreeName(driver); err != nil {
			return nil
		}
	}
	if driver == "" {
		return nil
	}
	return &disk{driver: driver, claim: claim.Namespace + "/" + claim.Name}
}

// inline returns the disk of an in-tree volume that is written out in the pod; nil if no CSI driver attaches it.
func (c *counter) inline(pod *v1.Pod, volume *v1.Volume) (*disk, error) {
	if !c.hasCSINode || !c.translator.IsInlineMigratable(volume) {
		return nil, nil
	}
	built, err := c.translator.GetInTreePluginNameFromSpec(nil, volume)
	if err != nil {
		return nil, fmt.Errorf("looking up the plugin of volume %q of pod %s/%s: %w", volume.Name, pod.Namespace, pod.Name, err)
	}
	if !c.migrated(built) {
		return nil, nil
	}
	translated, err := c.translator.TranslateInTreeInlineVolumeToCSI(c.logger, volume, pod.Namespace)
	if err != nil {
		return nil, fmt.Errorf("translating volume %q of pod %s/%s for its CSI driver: %w", volume.Name, pod.Namespace, pod.Name, err)
	}
	return diskOf(translated.Spec.CSI), nil
}

// migrated reports whether a CSI driver attaches the volumes of an in-tree plugin on the node. What the CSINode says of the
// plugin is not asked: that the node has one is enough.
func (c *counter) migrated(inTreePlugin string) bool {
	return c.hasCSINode && podvolumes.IsMigrated(inTreePlugin)
}

func diskOf(source *v1.CSIPersistentVolumeSource) *disk {
	if source == nil || source.Driver == "" || source.VolumeHandle == "" {
		return nil
	}
	return &disk{driver: source.Driver, handle: source.VolumeHandle}
}
