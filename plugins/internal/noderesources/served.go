// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
)

// Served counts, for one pod, the devices that serve extended resources on nodes that don't offer these themselves. Nil
// counts none.
type Served struct {
	// classes are those that serve the weighted resources, by their indexes; nil for others.
	classes []*resourceapi.DeviceClass
	manager *devices.Manager // nil if it is another one
	counter *devices.Counter // nil if the manager is our own
}

// Served returns what counts devices for a pod that asks for the amounts of the resources; nil if no device serves one of
// them. It fails if another manager than that of package devices does.
func (d DeviceClasses) Served(resources []WeightedResource, amounts []int64) (*Served, error) {
	if d.handle == nil || d.handle.SharedDRAManager() == nil {
		return nil, nil
	}
	manager := d.handle.SharedDRAManager()
	var served *Served
	for i := range resources {
		if !resources[i].scalar || amounts[i] == 0 {
			continue
		}
		class := d.class(resources[i].Name)
		if class == nil {
			continue
		}
		if served == nil {
			served = &Served{classes: make([]*resourceapi.DeviceClass, len(resources))}
		}
		served.classes[i] = class
	}
	if served == nil {
		return nil, nil
	}
	if own, ok := manager.(*devices.Manager); ok {
		served.manager = own
		return served, nil
	}
	var err error
	served.counter, err = newCounter(manager)
	return served, err
}

func newCounter(manager fwk.SharedDRAManager) (*devices.Counter, error) {
	state, err := manager.ResourceClaims().GatherAllocatedState()
	if err != nil {
		return nil, err
	}
	slices, err := manager.ResourceSlices().ListWithDeviceTaintRules()
	if err != nil {
		return nil, err
	}
	var switches devices.Switches
	return devices.NewCounter(switches, switches.NewExpressions(), slices, state), nil
}

// On returns how many devices serve a resource on a node, and how many of them are allocated. Where that can't be made out,
// there are none.
func (s *Served) On(ctx context.Context, node *v1.Node, resource int) devices.Count {
	if s == nil || s.classes[resource] == nil {
		return devices.Count{}
	}
	count, err := devices.Count{}, error(nil)
	if s.manager != nil {
		count, err = s.manager.Count(ctx, node, s.classes[resource])
	} else {
		count, err = s.counter.Count(ctx, node, s.classes[resource])
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Counting no devices on a node", "node", klog.KObj(node), "err", err)
	}
	return count
}

// AppendKey appends what the counts depend on, nodes and what belongs to them alone aside. It returns false if that is not
// known.
func (s *Served) AppendKey(key []byte) (_ []byte, ok bool) {
	switch {
	case s == nil:
		return key, true
	case s.manager == nil:
		return key, false
	}
	key = framework.AppendKeyInt(key, int64(s.manager.ClassRevision()))
	return framework.AppendKeyInt(key, int64(s.manager.SharedVersion())), true
}
