// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is how often is looked whether devices are ready.
const pollInterval = 5 * time.Second

// devicesReady reports whether all devices of a claim are ready that have to be made ready before the pod is bound. It fails
// if one never will be, and, if overdue tells to look at the time, if one should be by now.
func (pl *plugin) devicesReady(claim *resourceapi.ResourceClaim, overdue bool) (bool, error) {
	if claim.Status.Allocation == nil {
		return true, nil
	}
	ready := true
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		if len(result.BindingConditions) == 0 {
			continue
		}
		device := statusOf(claim, result)
		if device == nil {
			ready = false
			continue
		}
		for _, failure := range result.BindingFailureConditions {
			if condition := meta.FindStatusCondition(device.Conditions, failure); condition != nil && condition.Status == "True" {
				return false, fmt.Errorf("device binding failed: claim=%s, reason=%s, message=%q", claim.Name, condition.Reason, condition.Message)
			}
		}
		for _, wanted := range result.BindingConditions {
			ready = ready && meta.IsStatusConditionTrue(device.Conditions, wanted)
		}
	}
	if !ready && overdue && pl.timedOut(claim) {
		return false, fmt.Errorf("device binding timeout: claim=%s", claim.Name)
	}
	return ready, nil
}

// statusOf returns what the driver says of an allocated device; nil if it says nothing.
func statusOf(claim *resourceapi.ResourceClaim, result *resourceapi.DeviceRequestAllocationResult) *resourceapi.AllocatedDeviceStatus {
	index := slices.IndexFunc(claim.Status.Devices, func(device resourceapi.AllocatedDeviceStatus) bool {
		return device.Driver == result.Driver && device.Pool == result.Pool && device.Device == result.Device
	})
	if index < 0 {
		return nil
	}
	return &claim.Status.Devices[index]
}

// conditional returns the drivers of allocated devices that have to be made ready, each once, sorted.
func conditional(claims []*podClaim) (drivers []string) {
	for _, c := range claims {
		if !c.allocated() {
			continue
		}
		for i := range c.claim.Status.Allocation.Devices.Results {
			if result := &c.claim.Status.Allocation.Devices.Results[i]; len(result.BindingConditions) > 0 {
				drivers = append(drivers, result.Driver)
			}
		}
	}
	slices.Sort(drivers)
	return slices.Compact(drivers)
}

// waitForDevices returns when all devices are ready, or when one never will be.
func (pl *plugin) waitForDevices(ctx context.Context, s *podState, pod *v1.Pod, node string) error {
	drivers := conditional(s.claims)
	if pl.switches.NoBindingConditions || len(drivers) == 0 {
		return nil
	}
	pl.recorder.Eventf(pod, nil, v1.EventTypeNormal, "BindingConditionsPending", "Scheduling",
		"waiting for binding conditions for device on node %s", node)
	started := pl.clock.Now()
	err := pl.poll(ctx, pollInterval, pl.bindingTimeout, func() (bool, error) { return pl.allReady(s) })
	overdue := wait.Interrupted(err)
	if overdue {
		err = fmt.Errorf("device binding timeout: %w", err)
	}
	pl.metrics.DevicesBound(pl.profile, drivers, outcome(err, overdue), pl.clock.Since(started))
	return err
}

// poll checks a condition at once and then again after every interval, until it holds or fails, or the timeout is over.
func (pl *plugin) poll(ctx context.Context, interval, timeout time.Duration, condition func() (bool, error)) error {
	started := pl.clock.Now()
	for {
		if done, err := condition(); done || err != nil {
			return err
		}
		left := timeout - pl.clock.Since(started)
		if left <= 0 {
			return context.DeadlineExceeded
		}
		if err := pl.wait(ctx, min(interval, left), nil); err != nil {
			return err
		}
	}
}

// outcome is how the wait for devices ended, for metrics.
func outcome(err error, overdue bool) string {
	switch {
	case err == nil:
		return "success"
	case overdue:
		return "timeout"
	}
	return "failure"
}

// allReady looks at the claims of the pod as they are now.
func (pl *plugin) allReady(s *podState) (bool, error) {
	all := true
	for _, c := range s.claims {
		if !c.allocated() {
			continue
		}
		claim, err := pl.claims.Get(c.claim.Namespace, c.claim.Name)
		if err != nil {
			return false, err
		}
		ready, err := pl.devicesReady(claim, true)
		if err != nil {
			return false, err
		}
		all = all && ready
	}
	return all, nil
}
