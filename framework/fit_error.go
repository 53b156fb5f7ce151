// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// ErrNoNodesAvailable is the failure of every pod in a cluster without nodes.
var ErrNoNodesAvailable = errors.New("no nodes available to schedule pods")

// Diagnosis is what an attempt found out about why a pod fits nowhere.
type Diagnosis struct {
	// NodeToStatus has the verdict on each node; nil counts as empty.
	NodeToStatus *NodeToStatus
	// UnschedulablePlugins are the plugins that rejected the pod anywhere, those in PendingPlugins included.
	UnschedulablePlugins sets.Set[string]
	// PendingPlugins are those that rejected it with code Pending.
	PendingPlugins sets.Set[string]
	// PreFilterMsg is set when PreFilter rejected the pod for all nodes at once.
	PreFilterMsg string
	// PostFilterMsg is what the PostFilter plugins had to say.
	PostFilterMsg string
}

// AddPluginStatus records the plugin of a rejecting status; a status without a plugin, or of another code, is ignored.
func (d *Diagnosis) AddPluginStatus(status *fwk.Status) {
	if !status.IsRejected() || status.Plugin() == "" {
		return
	}
	if status.Code() == fwk.Pending {
		if d.PendingPlugins == nil {
			d.PendingPlugins = sets.New[string]()
		}
		d.PendingPlugins.Insert(status.Plugin())
	}
	if d.UnschedulablePlugins == nil {
		d.UnschedulablePlugins = sets.New[string]()
	}
	d.UnschedulablePlugins.Insert(status.Plugin())
}

// FitError says that a pod fits no node, and why.
type FitError struct {
	Pod         *v1.Pod
	NumAllNodes int
	Diagnosis   Diagnosis
}

// Error implements error in the form that users know from kube-scheduler: "0/3 nodes are available: 1 Too many pods, 2
// Insufficient cpu." Absent nodes count with the common status.
func (f *FitError) Error() string {
	var message strings.Builder
	fmt.Fprintf(&message, "0/%d nodes are available:", f.NumAllNodes)
	if d := &f.Diagnosis; d.PreFilterMsg != "" {
		fmt.Fprintf(&message, " %s.", d.PreFilterMsg)
	} else if counts := f.reasonCounts(); len(counts) > 0 {
		fmt.Fprintf(&message, " %s.", strings.Join(counts, ", "))
	}
	if f.Diagnosis.PostFilterMsg != "" {
		message.WriteString(" " + f.Diagnosis.PostFilterMsg)
	}
	return message.String()
}

// reasonCounts returns "2 Insufficient cpu" and the like, sorted as strings.
func (f *FitError) reasonCounts() []string {
	statuses := f.Diagnosis.NodeToStatus
	if statuses == nil {
		return nil
	}
	counts := map[string]int{}
	statuses.ForEachStatus(func(status *fwk.Status, nodes int) {
		if status == nil {
			return
		}
		for _, reason := range ReasonsOf(status) {
			counts[reason] += nodes
		}
	})
	if absent := statuses.AbsentNodesStatus(); absent != nil && f.NumAllNodes > statuses.Len() {
		for _, reason := range ReasonsOf(absent) {
			counts[reason] += f.NumAllNodes - statuses.Len()
		}
	}
	lines := make([]string, 0, len(counts))
	for reason, count := range counts {
		lines = append(lines, fmt.Sprintf("%d %s", count, reason))
	}
	slices.Sort(lines)
	return lines
}

// ReasonsOf returns the reasons of a status. For a rejection without any it returns one that names the plugin, if the status
// does.
func ReasonsOf(status *fwk.Status) []string {
	if reasons := status.Reasons(); len(reasons) > 0 || !status.IsRejected() || status.Plugin() == "" {
		return reasons
	}
	return []string{"rejected by " + status.Plugin() + " without a reason"}
}
