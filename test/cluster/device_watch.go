// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// DeviceWatch follows the claims from the API alone, in the order of their changes, and notes whenever a device is in use
// more often than it may be.
type DeviceWatch struct {
	client  clientset.Interface
	devices map[deviceKey]*resourceapi.Device
	// counters are what there is of each, and capacity what the devices have that several claims may share.
	counters, capacity map[amountKey]int64

	mu         sync.Mutex
	claims     map[string]*resourceapi.ResourceClaim
	violations []string
	// states counts the states of the claims that were looked at, inUse is the largest number of devices seen in use at a time.
	states, inUse int
}

type deviceKey struct{ driver, pool, device string }

// amountKey names an amount of a counter set or of a device.
type amountKey struct {
	deviceKey
	counters, name string
}

// WatchDevices starts to follow the claims. It stops when the test ends.
func WatchDevices(ctx context.Context, tb testing.TB, client clientset.Interface, announced []*resourceapi.ResourceSlice) *DeviceWatch {
	tb.Helper()
	w := &DeviceWatch{
		client: client, devices: map[deviceKey]*resourceapi.Device{}, counters: map[amountKey]int64{}, capacity: map[amountKey]int64{},
	}
	for _, slice := range announced {
		pool := deviceKey{slice.Spec.Driver, slice.Spec.Pool.Name, ""}
		for i := range slice.Spec.Devices {
			device, key := &slice.Spec.Devices[i], pool
			key.device = device.Name
			w.devices[key] = device
			for name, has := range device.Capacity {
				w.capacity[amountKey{deviceKey: key, name: string(name)}] = has.Value.Value()
			}
		}
		for _, set := range slice.Spec.SharedCounters {
			for name, has := range set.Counters {
				w.counters[amountKey{pool, set.Name, name}] = has.Value.Value()
			}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.follow(ctx) })
	tb.Cleanup(func() { cancel(); running.Wait() })
	return w
}

// follow lists the claims and watches them from there on, again and again: an API server that was restarted has forgotten
// the changes before.
func (w *DeviceWatch) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if w.followOnce(ctx) != nil {
			pause(ctx, 100*time.Millisecond)
		}
	}
}

func (w *DeviceWatch) followOnce(ctx context.Context) error {
	api := w.client.ResourceV1().ResourceClaims("")
	listed, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.claims = map[string]*resourceapi.ResourceClaim{}
	for i := range listed.Items {
		w.claims[listed.Items[i].Namespace+"/"+listed.Items[i].Name] = &listed.Items[i]
	}
	w.check()
	w.mu.Unlock()
	changes, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: listed.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		claim, ok := change.Object.(*resourceapi.ResourceClaim)
		if !ok {
			return fmt.Errorf("watching the claims: %v", change.Object)
		}
		w.mu.Lock()
		if key := claim.Namespace + "/" + claim.Name; change.Type == watch.Deleted {
			delete(w.claims, key)
		} else {
			w.claims[key] = claim
		}
		w.check()
		w.mu.Unlock()
	}
	return nil
}

// check looks at one state of all claims. The caller holds the lock.
func (w *DeviceWatch) check() {
	w.states++
	users := map[deviceKey]string{}
	taken, consumed := map[amountKey]int64{}, map[amountKey]int64{}
	for name, claim := range w.claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			key := deviceKey{result.Driver, result.Pool, result.Device}
			device := w.devices[key]
			if device == nil {
				w.violation("claim %s has %v, which does not exist", name, key)
				continue
			}
			other, inUse := users[key]
			if inUse && !ptr.Deref(device.AllowMultipleAllocations, false) {
				w.violation("%v is in use by the claims %s and %s", key, min(name, other), max(name, other))
			}
			users[key] = name
			for amount, quantity := range result.ConsumedCapacity {
				consumed[amountKey{deviceKey: key, name: string(amount)}] += quantity.Value()
			}
			for _, set := range device.ConsumesCounters {
				for counter, amount := range set.Counters {
					taken[amountKey{deviceKey{key.driver, key.pool, ""}, set.CounterSet, counter}] += amount.Value.Value()
				}
			}
		}
	}
	w.inUse = max(w.inUse, len(users))
	w.compare("counter", taken, w.counters)
	w.compare("capacity", consumed, w.capacity)
}

func (w *DeviceWatch) compare(what string, taken, there map[amountKey]int64) {
	for key, amount := range taken {
		if amount > there[key] {
			w.violation("%s %v: %d of %d are in use", what, key, amount, there[key])
		}
	}
}

// violation notes what must not be, once.
func (w *DeviceWatch) violation(format string, arguments ...any) {
	if text := fmt.Sprintf(format, arguments...); !slices.Contains(w.violations, text) {
		w.violations = append(w.violations, text)
	}
}

// Report fails the test if a device was ever in use more often than it may be. It returns how many states of the claims
// were looked at, and how many devices were in use at a time.
func (w *DeviceWatch) Report(tb testing.TB) (states, inUse int) {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, violation := range w.violations {
		tb.Error(violation)
	}
	return w.states, w.inUse
}

// Leaks returns what is wrong with claims when all pods have ended: devices and reservations that are left, and claims
// that should have gone with their pods.
func (w *DeviceWatch) Leaks() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var leaks []string
	for name, claim := range w.claims {
		switch {
		case claim.Status.Allocation != nil:
			leaks = append(leaks, fmt.Sprintf("claim %s still has devices, reserved for %v", name, claim.Status.ReservedFor))
		case len(claim.Status.ReservedFor) > 0:
			leaks = append(leaks, fmt.Sprintf("claim %s is still reserved for %v", name, claim.Status.ReservedFor))
		case len(claim.OwnerReferences) > 0:
			leaks = append(leaks, fmt.Sprintf("claim %s is still there", name))
		}
	}
	slices.Sort(leaks)
	return leaks
}
