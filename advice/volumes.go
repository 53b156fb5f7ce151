// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/rouse-scheduler/rouse/inspect"
)

// claims makes what the pod's claims lack everywhere: the claim itself, its volume, or the binding of the two.
func (v *view) claims() []fix {
	var changes fix
	for _, name := range claimNames(v.pod) {
		claim := v.claim(name)
		switch {
		case claim == nil, claim.Spec.VolumeName == "" && !v.bindsLater(claim):
			changes = append(changes, v.bindClaim(name, claim))
		case claim.Spec.VolumeName != "" && v.volume(claim.Spec.VolumeName) == nil:
			changes = append(changes, v.addVolume(claim, claim.Spec.VolumeName))
		}
	}
	return []fix{changes}
}

// bindsLater reports whether a claim is bound only when a pod that uses it has a node.
func (v *view) bindsLater(claim *v1.PersistentVolumeClaim) bool {
	class := v.class(volume.GetPersistentVolumeClaimClass(claim))
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// bindClaim binds a claim to a new volume that every node reaches; a claim that does not exist is created.
func (v *view) bindClaim(name string, claim *v1.PersistentVolumeClaim) *change {
	text := fmt.Sprintf("bind the claim %s/%s to a volume", v.pod.Namespace, name)
	if claim == nil {
		text = fmt.Sprintf("create the claim %s/%s, bound to a volume", v.pod.Namespace, name)
	}
	return &change{
		Change: inspect.Change{Action: inspect.ChangeBindClaim, Kind: "PersistentVolumeClaim", Namespace: v.pod.Namespace, Name: name, Text: text},
		rank:   rankOfVolume,
		apply: func(t target) error {
			bound := claim
			if bound == nil {
				bound = &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.pod.Namespace, Name: name}}
				bound.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
				if owner := v.ownerOf(name); owner != nil {
					bound.OwnerReferences = []metav1.OwnerReference{*owner}
				}
			}
			bound = bound.DeepCopy()
			made := volumeFor(bound, "volume-for-"+name)
			made.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: bound.Namespace, Name: bound.Name, UID: bound.UID}
			made.Status.Phase = v1.VolumeBound
			bound.Spec.VolumeName, bound.Status.Phase = made.Name, v1.ClaimBound
			metav1.SetMetaDataAnnotation(&bound.ObjectMeta, volume.AnnBindCompleted, "yes")
			if err := t.Add(made); err != nil {
				return err
			}
			if claim == nil {
				return t.Add(bound)
			}
			return t.Update(bound)
		},
	}
}

// ownerOf returns who owns a claim of a generic ephemeral volume: the pod; nil for other claims.
func (v *view) ownerOf(claim string) *metav1.OwnerReference {
	ephemeral := slices.ContainsFunc(v.pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil && v.pod.Name+"-"+volume.Name == claim })
	if !ephemeral {
		return nil
	}
	return metav1.NewControllerRef(v.pod, v1.SchemeGroupVersion.WithKind("Pod"))
}

// addVolume creates a volume that suits a claim and that every node reaches.
func (v *view) addVolume(claim *v1.PersistentVolumeClaim, name string) *change {
	size := claim.Spec.Resources.Requests[v1.ResourceStorage]
	class := cmp.Or(volume.GetPersistentVolumeClaimClass(claim), "none")
	return &change{
		Change: inspect.Change{
			Action: inspect.ChangeAddVolume, Kind: "PersistentVolume", Name: name,
			Text: fmt.Sprintf("create a PersistentVolume of %s with storage class %s for the claim %s/%s", size.String(), class, claim.Namespace, claim.Name),
		},
		rank:  rankOfVolume,
		apply: func(t target) error { return t.Add(volumeFor(claim, name)) },
	}
}

// volumeFor returns a volume that suits a claim.
func volumeFor(claim *v1.PersistentVolumeClaim, name string) *v1.PersistentVolume {
	made := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			Capacity:               v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:            slices.Clone(claim.Spec.AccessModes),
			StorageClassName:       volume.GetPersistentVolumeClaimClass(claim),
			VolumeMode:             claim.Spec.VolumeMode,
			PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "storage.example", Path: "/"}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	if selector := claim.Spec.Selector; selector != nil {
		made.Labels = selector.MatchLabels
	}
	if made.Spec.VolumeMode == nil {
		mode := v1.PersistentVolumeFilesystem
		made.Spec.VolumeMode = &mode
	}
	return made
}

// storage gives a node the labels that the pod's volumes ask for, and makes volumes for claims that find none there.
func (v *view) storage(node *v1.Node, _ []string) []fix {
	reach := labelChanges{node: node}
	fixes := []fix{nil}
	var made fix
	for _, name := range claimNames(v.pod) {
		claim := v.claim(name)
		if claim == nil {
			continue
		}
		pv := v.volume(claim.Spec.VolumeName)
		switch {
		case claim.Spec.VolumeName == "":
			made = append(made, v.addVolume(claim, "volume-for-"+name))
		case pv != nil && pv.Spec.NodeAffinity != nil && pv.Spec.NodeAffinity.Required != nil:
			if reachable := reach.forTerms(pv.Spec.NodeAffinity.Required.NodeSelectorTerms); len(reachable) > 0 {
				fixes = reachable
			}
		}
	}
	for i := range fixes {
		fixes[i] = append(fixes[i], made...)
	}
	return fixes
}

// zone gives a node the zone and region of the pod's volumes.
func (v *view) zone(node *v1.Node, _ []string) []fix {
	labels := labelChanges{node: node}
	for _, name := range claimNames(v.pod) {
		claim := v.claim(name)
		if claim == nil {
			continue
		}
		pv := v.volume(claim.Spec.VolumeName)
		if pv == nil {
			continue
		}
		for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
			value, has := pv.Labels[key]
			if !has {
				continue
			}
			if _, labelled := node.Labels[key]; !labelled {
				value, _, _ = strings.Cut(value, "__") // one of several zones
				labels.set(key, value)
			}
		}
	}
	return labels.fixes()
}

// volumeLimit installs a driver that a node lacks, or ends pods that use volumes there.
func (v *view) volumeLimit(node *v1.Node, reasons []string) []fix {
	var installed fix
	for _, reason := range reasons {
		driver, missing := strings.CutSuffix(reason, " CSI driver is not installed on the node")
		if !missing {
			continue
		}
		installed = append(installed, &change{
			Change: inspect.Change{
				Action: inspect.ChangeInstallDriver, Kind: "CSINode", Name: node.Name, Key: driver,
				Text: fmt.Sprintf("install the CSI driver %s on %s", driver, node.Name),
			},
			rank: rankOfVolume,
			apply: func(t target) error {
				added := storagev1.CSINodeDriver{Name: driver, NodeID: node.Name}
				known := v.csiNodes[node.Name]
				if known == nil {
					return t.Add(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{added}}})
				}
				return edit(known, func(known *storagev1.CSINode) { known.Spec.Drivers = append(known.Spec.Drivers, added) })(t)
			},
		})
	}
	if len(installed) > 0 {
		return []fix{installed}
	}
	return v.clear(node, reasons)
}
