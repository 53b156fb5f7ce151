// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

// Suggestion is what would let a waiting pod be scheduled: changes that are made together. Package advice finds suggestions, and
// keeps only those with which a fork of the cluster has a node for the pod.
type Suggestion struct {
	// Node is a node that takes the pod then.
	Node    string   `json:"node"`
	Changes []Change `json:"changes"`
}

// Change is one change to an object.
type Change struct {
	Action ChangeAction `json:"action"`
	// Text says it for people, such as "free 1.5 cpu on n3".
	Text string `json:"text"`
	// Kind, Namespace and Name are the object that changes.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Key is the label, taint, gate, feature or driver that comes or goes, and Value its value.
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Amounts are how much of each resource is freed, or how much the pod may ask for, as quantities.
	Amounts map[string]string `json:"amounts,omitempty"`
	// Pods are pods whose end frees the amounts, as namespace/name: an example, which is verified too; empty if none was found.
	Pods []string `json:"pods,omitempty"`
}

// ChangeAction is what a change does.
type ChangeAction string

// The actions of changes.
const (
	ChangeRemoveGate     ChangeAction = "removeSchedulingGate"
	ChangeTolerate       ChangeAction = "tolerate"
	ChangeUncordon       ChangeAction = "uncordon"
	ChangeSetLabel       ChangeAction = "setLabel"
	ChangeRemoveLabel    ChangeAction = "removeLabel"
	ChangeRemoveTaint    ChangeAction = "removeTaint"
	ChangeFree           ChangeAction = "free"
	ChangeLowerRequest   ChangeAction = "lowerRequest"
	ChangeEndPod         ChangeAction = "endPod"
	ChangeStartPod       ChangeAction = "startPod"
	ChangeBindClaim      ChangeAction = "bindClaim"
	ChangeAddVolume      ChangeAction = "addVolume"
	ChangeInstallDriver  ChangeAction = "installDriver"
	ChangeAddDevices     ChangeAction = "addDevices"
	ChangeDeclareFeature ChangeAction = "declareFeature"
	ChangeAddNode        ChangeAction = "addNode"
)
