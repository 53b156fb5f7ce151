// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// Count is how many devices there are, and how many of them are allocated.
type Count struct{ Devices, Allocated int64 }

// Counter counts the devices of classes that nodes can reach. Whether a device is tainted, of an old generation, or part of
// a pool that is not complete does not matter. It is safe for concurrent use.
type Counter struct {
	switches    Switches
	expressions *cel.Cache
	state       *structured.AllocatedState
	pools       []*members
}

// NewCounter returns a counter of the devices of slices. The state must not be changed any more.
func NewCounter(switches Switches, expressions *cel.Cache, slices []*resourceapi.ResourceSlice, state *structured.AllocatedState) *Counter {
	return &Counter{switches: switches, expressions: expressions, state: state, pools: []*members{{slices: slices}}}
}

// Count counts devices of a class that can be reached from a node. It fails if a device can be reached and the class can't
// be applied to it.
func (c *Counter) Count(ctx context.Context, node *v1.Node, class *resourceapi.DeviceClass) (Count, error) {
	var sum Count
	for _, pool := range c.pools {
		found := pool.of(ctx, c.expressions, class)
		for i, slice := range pool.slices {
			if err := c.add(&sum, node, slice, found[i]); err != nil {
				return Count{}, err
			}
		}
	}
	return sum, nil
}

// add counts devices of one slice.
func (c *Counter) add(sum *Count, node *v1.Node, slice *resourceapi.ResourceSlice, found []member) error {
	features := c.switches.Allocation()
	spec := &slice.Spec
	each := ptr.Deref(spec.PerDeviceNodeSelection, false)
	if !each && len(found) > 0 {
		matches, err := structured.NodeMatches(features, node, ptr.Deref(spec.NodeName, ""), ptr.Deref(spec.AllNodes, false), spec.NodeSelector)
		if err != nil || !matches {
			return err
		}
	}
	for i := range found {
		if device := &spec.Devices[found[i].index]; each {
			matches, err := structured.NodeMatches(features, node, ptr.Deref(device.NodeName, ""), ptr.Deref(device.AllNodes, false), device.NodeSelector)
			if err != nil {
				return err
			}
			if !matches {
				continue
			}
		}
		if found[i].err != nil {
			return found[i].err
		}
		sum.Devices++
		if structured.IsDeviceAllocated(found[i].id, c.state) {
			sum.Allocated++
		}
	}
	return nil
}

// maxClasses is for how many classes the members are kept before all are forgotten.
const maxClasses = 64

// members knows which devices of slices belong to a class.
type members struct {
	slices []*resourceapi.ResourceSlice

	mu sync.Mutex
	// byClass has the members for each of the slices.
	byClass map[*resourceapi.DeviceClass][][]member
}

// member is a device of a class, or one to which the class can't be applied.
type member struct {
	index int // in the slice
	id    structured.DeviceID
	err   error
}

func (m *members) of(ctx context.Context, expressions *cel.Cache, class *resourceapi.DeviceClass) [][]member {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.byClass[class]; ok {
		return found
	}
	found := make([][]member, len(m.slices))
	for i, slice := range m.slices {
		for k := range slice.Spec.Devices {
			device := &slice.Spec.Devices[k]
			matches, err := belongs(ctx, expressions, slice.Spec.Driver, device, class)
			if err != nil {
				found[i] = append(found[i], member{err: fmt.Errorf("device %s/%s/%s: %w", slice.Spec.Driver, slice.Spec.Pool.Name, device.Name, err), index: k})
			} else if matches {
				found[i] = append(found[i], member{index: k, id: structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)})
			}
		}
	}
	if ctx.Err() != nil { // which may be why the class could not be applied
		return found
	}
	if m.byClass == nil || len(m.byClass) >= maxClasses {
		m.byClass = map[*resourceapi.DeviceClass][][]member{}
	}
	m.byClass[class] = found
	return found
}

// belongs reports whether all selectors of a class match a device.
func belongs(ctx context.Context, expressions *cel.Cache, driver string, device *resourceapi.Device, class *resourceapi.DeviceClass) (bool, error) {
	for i := range class.Spec.Selectors {
		if class.Spec.Selectors[i].CEL == nil {
			continue
		}
		compiled := expressions.GetOrCompile(class.Spec.Selectors[i].CEL.Expression)
		if compiled.Error != nil {
			return false, fmt.Errorf("class %s: selector #%d: CEL compile error: %w", class.Name, i, compiled.Error)
		}
		matches, _, err := compiled.DeviceMatches(ctx, cel.Device{
			Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity,
		})
		if err != nil {
			return false, fmt.Errorf("class %s: selector #%d: CEL runtime error: %w", class.Name, i, cel.EnhanceRuntimeError(err))
		}
		if !matches {
			return false, nil
		}
	}
	return true, nil
}

// counts are those of a view, by class.
type counts struct {
	mu      sync.Mutex
	byClass map[*resourceapi.DeviceClass]Count
}

// Count counts the devices of a class that can be reached from a node. It fails as [Counter.Count] does.
func (m *Manager) Count(ctx context.Context, node *v1.Node, class *resourceapi.DeviceClass) (Count, error) {
	view := m.View(node)
	view.counts.mu.Lock()
	defer view.counts.mu.Unlock()
	if known, ok := view.counts.byClass[class]; ok {
		return known, nil
	}
	counter := Counter{switches: m.switches, expressions: m.expressions, state: &view.State, pools: view.members}
	found, err := counter.Count(ctx, node, class)
	if err != nil {
		return Count{}, err
	}
	if view.counts.byClass == nil || len(view.counts.byClass) >= maxClasses {
		view.counts.byClass = map[*resourceapi.DeviceClass]Count{}
	}
	view.counts.byClass[class] = found
	return found, nil
}
