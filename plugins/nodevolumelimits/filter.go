// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// PreFilter implements fwk.PreFilterPlugin. It skips a pod that no driver attaches anything for.
func (pl *plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if !pl.mayCount(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, pl.requestOf(klog.FromContext(ctx), pod))
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

// Filter implements fwk.FilterPlugin. It goes by the pods in the node info, and works without PreFilter too, at the price of
// looking the volumes up every time.
func (pl *plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	if len(pod.Spec.Volumes) == 0 {
		return nil
	}
	logger := klog.FromContext(ctx)
	ofPod, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		ofPod = pl.requestOf(logger, pod)
	}
	csiNode := pl.csiNodeOf(nodeInfo.Node().Name)
	r := ofPod.on(csiNode)
	switch {
	case r.failure != nil:
		return r.failure.Clone() // kube-scheduler writes the name of the plugin into it
	case len(r.disks) == 0:
		return nil
	}
	if status := r.checkInstalled(csiNode); status != nil {
		return status.Clone()
	}
	limits := limitsOf(csiNode)
	if len(limits) == 0 {
		return nil
	}
	c := &counter{plugin: pl, logger: logger, hasCSINode: true}
	used := sets.New[disk]()
	for _, other := range framework.View(nodeInfo).Pods() {
		if err := c.add(other.GetPod(), true, used); err != nil {
			return fwk.AsStatus(err)
		}
	}
	// What is attached but not used on the node is counted as taken and as wanted, if the pod wants it.
	taken := used.Clone()
	if err := c.attached(nodeInfo.Node().Name, taken); err != nil {
		return fwk.AsStatus(err)
	}
	countTaken(limits, taken)
	for i := range limits {
		wanted := r.wanted(limits[i].driver, used.Has)
		if wanted > 0 && int(limits[i].taken)+wanted > int(limits[i].limit) {
			return fwk.NewStatus(fwk.Unschedulable, reasonTooManyVolumes)
		}
	}
	return nil
}

// csiNodeOf returns the CSINode of a node; nil if there is none.
func (pl *plugin) csiNodeOf(node string) *storagev1.CSINode {
	csiNode, err := pl.csiNodes.Get(node)
	if err != nil {
		return nil
	}
	return csiNode
}

// countTaken counts the disks of each driver that has a limit.
func countTaken(limits []driverLimit, taken sets.Set[disk]) {
	for d := range taken {
		for i := range limits {
			if limits[i].driver == d.driver {
				limits[i].taken++
			}
		}
	}
}
