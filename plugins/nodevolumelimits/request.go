// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// podRequest is what the volumes of the pod being scheduled take. It depends on whether CSI drivers take in-tree volumes
// over, which they do on nodes that have a CSINode.
type podRequest struct {
	withCSINode, withoutCSINode request
}

// Clone implements fwk.StateData; nothing changes.
func (p *podRequest) Clone() fwk.StateData { return p }

// on returns the request on a node with a CSINode, which may be nil.
func (p *podRequest) on(csiNode *storagev1.CSINode) *request {
	if csiNode == nil {
		return &p.withoutCSINode
	}
	return &p.withCSINode
}

// request is what the volumes of the pod take on some nodes.
type request struct {
	// failure is why that can't be told; nil if it can.
	failure *fwk.Status
	// disks are distinct, drivers are those of the disks, by name.
	disks   []disk
	drivers []requestedDriver
}

// requestedDriver is a driver, and how many disks are wanted of it.
type requestedDriver struct {
	name  string
	disks int
	// missing is the verdict on a node that lacks the driver; nil if that does not matter.
	missing *fwk.Status
}

// requestOf finds out what the volumes of a pod take.
func (pl *plugin) requestOf(logger klog.Logger, pod *v1.Pod) *podRequest {
	return &podRequest{
		withCSINode:    pl.newRequest(&counter{plugin: pl, logger: logger, hasCSINode: true}, pod),
		withoutCSINode: pl.newRequest(&counter{plugin: pl, logger: logger}, pod),
	}
}

func (pl *plugin) newRequest(c *counter, pod *v1.Pod) request {
	disks := sets.New[disk]()
	if err := c.add(pod, false, disks); err != nil {
		return request{failure: podvolumes.LookupStatus(err)}
	}
	r := request{disks: slices.SortedFunc(maps.Keys(disks), compareDisks)}
	for _, d := range r.disks {
		if last := len(r.drivers) - 1; last >= 0 && r.drivers[last].name == d.driver {
			r.drivers[last].disks++
			continue
		}
		r.drivers = append(r.drivers, requestedDriver{name: d.driver, disks: 1, missing: pl.verdictWithout(d.driver)})
	}
	return r
}

func compareDisks(a, b disk) int {
	return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.handle, b.handle), cmp.Compare(a.claim, b.claim))
}

// verdictWithout is the verdict on a node that lacks a driver; nil unless the driver asks pods not to go where it is missing.
func (pl *plugin) verdictWithout(driver string) *fwk.Status {
	if pl.missingOK {
		return nil
	}
	object, err := pl.drivers.Get(driver)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fwk.AsStatus(fmt.Errorf("looking up CSIDriver %s: %w", driver, err))
	case keepsAway(object):
		return fwk.NewStatus(fwk.Unschedulable, driver+" CSI driver is not installed on the node")
	}
	return nil
}

// checkInstalled rejects a node that lacks a driver that has to be there.
func (r *request) checkInstalled(csiNode *storagev1.CSINode) *fwk.Status {
	for i := range r.drivers {
		if driver := &r.drivers[i]; driver.missing != nil && !hasDriver(csiNode, driver.name) {
			return driver.missing
		}
	}
	return nil
}

func hasDriver(csiNode *storagev1.CSINode, name string) bool {
	return csiNode != nil && slices.ContainsFunc(csiNode.Spec.Drivers, func(driver storagev1.CSINodeDriver) bool { return driver.Name == name })
}

// wanted is how many disks of a driver are wanted that are not there.
func (r *request) wanted(driver string, isThere func(disk) bool) int {
	wanted := 0
	for _, d := range r.disks {
		if d.driver == driver && !isThere(d) {
			wanted++
		}
	}
	return wanted
}

// driverLimit is how many disks a driver attaches to a node at most, and how many places are taken.
type driverLimit struct {
	driver       string
	limit, taken int32
}

// limitsOf returns the limits of the drivers of a node; drivers without one are left out.
func limitsOf(csiNode *storagev1.CSINode) []driverLimit {
	if csiNode == nil {
		return nil
	}
	var limits []driverLimit
	for i := range csiNode.Spec.Drivers {
		driver := &csiNode.Spec.Drivers[i]
		if driver.Allocatable == nil || driver.Allocatable.Count == nil {
			continue
		}
		limits = slices.DeleteFunc(limits, func(l driverLimit) bool { return l.driver == driver.Name })
		limits = append(limits, driverLimit{driver: driver.Name, limit: *driver.Allocatable.Count})
	}
	return limits
}
