// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// PreFilter implements fwk.PreFilterPlugin. It skips a pod that no driver attaches anything for.
func (pl *plugin) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if !pl.mayCount(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// mayCount reports whether any volume of the pod is of a kind that can count against a limit.
func (pl *plugin) mayCount(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil || pl.translator.IsInlineMigratable(volume) {
			return true
		}
	}
	return false
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: adding a pod to a node, or removing one, already
// changes the volumes that Filter looks at.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (pl *plugin) Filter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	c := &counter{plugin: pl, logger: klog.FromContext(ctx)}
	if csiNode, err := pl.csiNodes.Get(nodeInfo.Node().Name); err == nil {
		c.csiNode = csiNode
	}
	requested := sets.New[disk]()
	if err := c.add(pod, false, requested); err != nil {
		return podvolumes.LookupStatus(err)
	}
	if len(requested) == 0 {
		return nil
	}
	if status := pl.checkInstalled(requested, c.csiNode); !status.IsSuccess() {
		return status
	}
	limits := limitsOf(c.csiNode)
	if len(limits) == 0 {
		return nil
	}
	taken := sets.New[disk]()
	for _, other := range framework.View(nodeInfo).Pods() {
		if err := c.add(other.GetPod(), true, taken); err != nil {
			return fwk.AsStatus(err)
		}
	}
	// What is attached but not used on the node is counted as taken and as wanted, if the pod wants it.
	requested = requested.Difference(taken)
	if err := pl.attached(nodeInfo.Node().Name, taken); err != nil {
		return fwk.AsStatus(err)
	}
	wantedOf, takenOf := countByDriver(requested), countByDriver(taken)
	for driver, count := range wantedOf {
		if limit, limited := limits[driver]; limited && takenOf[driver]+count > limit {
			return fwk.NewStatus(fwk.Unschedulable, reasonTooManyVolumes)
		}
	}
	return nil
}

// checkInstalled rejects the node if it lacks a driver that asks pods not to go where it is missing.
func (pl *plugin) checkInstalled(requested sets.Set[disk], csiNode *storagev1.CSINode) *fwk.Status {
	if pl.missingOK {
		return nil
	}
	there := installed(csiNode)
	var missing []string
	for requested := range requested {
		if !there.Has(requested.driver) {
			missing = append(missing, requested.driver)
		}
	}
	slices.Sort(missing)
	for _, name := range missing {
		driver, err := pl.drivers.Get(name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fwk.AsStatus(fmt.Errorf("looking up CSIDriver %s: %w", name, err))
		case keepsAway(driver):
			return fwk.NewStatus(fwk.Unschedulable, name+" CSI driver is not installed on the node")
		}
	}
	return nil
}

// installed returns the drivers that a node has.
func installed(csiNode *storagev1.CSINode) sets.Set[string] {
	names := sets.New[string]()
	if csiNode != nil {
		for i := range csiNode.Spec.Drivers {
			names.Insert(csiNode.Spec.Drivers[i].Name)
		}
	}
	return names
}

// limitsOf returns how many volumes each driver of a node can attach; drivers without a limit are left out.
func limitsOf(csiNode *storagev1.CSINode) map[string]int {
	limits := map[string]int{}
	if csiNode == nil {
		return limits
	}
	for i := range csiNode.Spec.Drivers {
		driver := &csiNode.Spec.Drivers[i]
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			limits[driver.Name] = int(*driver.Allocatable.Count)
		}
	}
	return limits
}

func countByDriver(disks sets.Set[disk]) map[string]int {
	counts := map[string]int{}
	for disk := range disks {
		counts[disk.driver]++
	}
	return counts
}
