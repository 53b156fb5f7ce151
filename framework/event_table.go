// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventAction is one action of the table of events, as an event that happens carries it.
type EventAction struct {
	// Name is the word that labels end with, such as UpdateNodeLabel.
	Name string
	// Bit is the one bit of the action; the general Update is the only action of several bits.
	Bit fwk.ActionType
}

// WatchedResource is one row of the table of events: a kind of object whose changes can wake pods.
type WatchedResource struct {
	// Name is the official name that plugins register, such as Node or storage.k8s.io/CSINode.
	Name fwk.EventResource
	// Informer is the API resource whose informer delivers the events.
	Informer schema.GroupVersionResource
	// Actions are the actions that the scheduler announces of the resource, in the order of their bits. TargetPod has
	// updates alone; UnscheduledPod has none, as only pod groups would wait for other pods without a node.
	Actions []EventAction
	// Optional marks kinds that belong to features that are off by default: a registration for everything leaves them
	// out, because the API server may not know them.
	Optional bool
}

// Namespace is the resource of the events of namespaces. The official table has none, although terms of pod affinity
// select namespaces by label.
const Namespace fwk.EventResource = "Namespace"

// Actions returns every single action, in the order of the bits. The names are those that labels and metrics use.
func Actions() []EventAction {
	bits := make([]EventAction, 0, 15)
	for bit := fwk.Add; bit < fwk.All; bit <<= 1 {
		bits = append(bits, EventAction{Name: bit.String(), Bit: bit})
	}
	return bits
}

// Resources returns the table of events: every resource that the scheduler watches without being told how. Resources
// that are not in it are custom ones, or others of the API server, named plural.version.group (see [ParseCustomResource]).
func Resources() []WatchedResource {
	core := schema.GroupVersion{Version: "v1"}
	storage := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	devices := schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}
	groups := schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1beta1"}
	compositeGroups := schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1alpha3"}
	pod := fwk.UpdatePodLabel | fwk.UpdatePodScaleDown | fwk.UpdatePodScaleUp | fwk.UpdatePodToleration |
		fwk.UpdatePodSchedulingGatesEliminated | fwk.UpdatePodGeneratedResourceClaim
	node := fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeCondition |
		fwk.UpdateNodeAnnotation | fwk.UpdateNodeDeclaredFeature | fwk.UpdateNodePreemptionPolicy
	rows := []struct {
		name     fwk.EventResource
		version  schema.GroupVersion
		plural   string
		specific fwk.ActionType // the actions without the general Update; none stands for Add, Delete and the general Update
		general  bool           // a general Update happens in addition to the specific ones
		optional bool
	}{
		{name: fwk.AssignedPod, version: core, plural: "pods", specific: fwk.Add | fwk.Delete | pod, general: true},
		{name: fwk.UnscheduledPod, version: core, plural: "pods"},
		{name: fwk.TargetPod, version: core, plural: "pods", specific: pod, general: true},
		{name: fwk.Node, version: core, plural: "nodes", specific: fwk.Add | fwk.Delete | node},
		{name: Namespace, version: core, plural: "namespaces"},
		{name: fwk.PersistentVolume, version: core, plural: "persistentvolumes"},
		{name: fwk.PersistentVolumeClaim, version: core, plural: "persistentvolumeclaims"},
		{name: fwk.CSIDriver, version: storage, plural: "csidrivers"},
		{name: fwk.CSINode, version: storage, plural: "csinodes"},
		{name: fwk.CSIStorageCapacity, version: storage, plural: "csistoragecapacities"},
		{name: fwk.StorageClass, version: storage, plural: "storageclasses"},
		{name: fwk.VolumeAttachment, version: storage, plural: "volumeattachments"},
		{name: fwk.DeviceClass, version: devices, plural: "deviceclasses"},
		{name: fwk.ResourceClaim, version: devices, plural: "resourceclaims"},
		{name: fwk.ResourceSlice, version: devices, plural: "resourceslices"},
		{name: fwk.PodGroup, version: groups, plural: "podgroups", optional: true},
		{name: fwk.CompositePodGroup, version: compositeGroups, plural: "compositepodgroups", optional: true},
	}
	table := make([]WatchedResource, len(rows))
	for i, row := range rows {
		table[i] = WatchedResource{Name: row.name, Informer: row.version.WithResource(row.plural), Optional: row.optional}
		switch {
		case row.name == fwk.UnscheduledPod: // announces nothing
		case row.specific == fwk.None:
			table[i].Actions = append(actionsOf(fwk.Add|fwk.Delete), generalUpdate())
		default:
			table[i].Actions = actionsOf(row.specific)
		}
		if row.general {
			table[i].Actions = append(table[i].Actions, generalUpdate())
		}
	}
	return table
}

func generalUpdate() EventAction { return EventAction{Name: fwk.Update.String(), Bit: fwk.Update} }

// actionsOf splits a combination of actions into its single ones, in the order of the bits.
func actionsOf(combination fwk.ActionType) []EventAction {
	var actions []EventAction
	for _, action := range Actions() {
		if combination&action.Bit != 0 {
			actions = append(actions, action)
		}
	}
	return actions
}

// ActionNames returns the shortest list of names for a combination: "All", or single names with the general "Update"
// in place of every update there is.
func ActionNames(combination fwk.ActionType) []string {
	if combination == fwk.All {
		return []string{fwk.All.String()}
	}
	var names []string
	general := combination&fwk.Update == fwk.Update
	for _, action := range actionsOf(combination) {
		if !general || fwk.Update&action.Bit == 0 {
			names = append(names, action.Name)
		}
	}
	if general {
		names = append(names, fwk.Update.String())
	}
	return names
}

// LookupResource returns the row of the table for a registered name; false for custom resources and wildcards.
func LookupResource(name fwk.EventResource) (WatchedResource, bool) {
	for _, row := range Resources() {
		if row.Name == name {
			return row, true
		}
	}
	return WatchedResource{}, false
}

// ParseCustomResource reads the name of a resource that the table does not have, plural.version.group, such as
// foos.v1.example.com. The core group has an empty name, so that ConfigMaps are configmaps.v1. with a dot at the end. It
// reports false for anything else.
func ParseCustomResource(name fwk.EventResource) (schema.GroupVersionResource, bool) {
	plural, rest, _ := strings.Cut(string(name), ".")
	version, group, found := strings.Cut(rest, ".")
	if !found || plural == "" || version == "" || strings.Contains(string(name), "/") {
		return schema.GroupVersionResource{}, false
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, true
}

// CustomResource returns the name that [ParseCustomResource] reads.
func CustomResource(resource schema.GroupVersionResource) fwk.EventResource {
	return fwk.EventResource(resource.Resource + "." + resource.Version + "." + resource.Group)
}

// AllEvents is what a plugin is registered for that does not say which events could help the pods it rejects: every
// action on every resource of the table that is not optional, without a hint.
func AllEvents() []fwk.ClusterEventWithHint {
	var events []fwk.ClusterEventWithHint
	for _, row := range Resources() {
		if !row.Optional {
			events = append(events, fwk.ClusterEventWithHint{Event: fwk.ClusterEvent{Resource: row.Name, ActionType: fwk.All}})
		}
	}
	return events
}

// EventUnschedulableTimeout is the wildcard event for pods that waited too long for any other.
func EventUnschedulableTimeout() fwk.ClusterEvent {
	return fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All, CustomLabel: "UnschedulableTimeout"}
}

// EventForceActivate is the wildcard event for a pod that a plugin wants to be tried again at once.
func EventForceActivate() fwk.ClusterEvent {
	return fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All, CustomLabel: "ForceActivate"}
}

// IsWildcard reports whether an event stands for everything.
func IsWildcard(event fwk.ClusterEvent) bool {
	return event.Resource == fwk.WildCard && event.ActionType == fwk.All
}
