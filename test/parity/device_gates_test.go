// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"testing"
	"testing/synctest"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/features"

	"github.com/rouse-scheduler/rouse/internal/devices"
)

// deviceGate is a gate of devices, or several that depend on each other, set to what is not the default.
type deviceGate struct {
	gates    map[featuregate.Feature]bool
	switches devices.Switches
	// shows says that it makes a difference to the objects of [generator.deviceHistory].
	shows bool
}

func deviceGates() map[string]deviceGate {
	off := func(gates ...featuregate.Feature) map[featuregate.Feature]bool {
		set := map[featuregate.Feature]bool{}
		for _, gate := range gates {
			set[gate] = false
		}
		return set
	}
	on := func(gate featuregate.Feature) map[featuregate.Feature]bool {
		return map[featuregate.Feature]bool{gate: true}
	}
	return map[string]deviceGate{
		"no taints":              {off(features.DRADeviceTaints, features.DRADeviceTaintRules), devices.Switches{NoTaints: true, NoTaintRules: true}, true},
		"no taint rules":         {off(features.DRADeviceTaintRules), devices.Switches{NoTaintRules: true}, true},
		"no partitions":          {off(features.DRAPartitionableDevices), devices.Switches{NoPartitions: true}, true},
		"no consumable capacity": {off(features.DRAConsumableCapacity), devices.Switches{NoConsumableCapacity: true}, false},
		"no binding conditions":  {off(features.DRADeviceBindingConditions), devices.Switches{NoBindingConditions: true}, true},
		"no filter timeout":      {off(features.DRASchedulerFilterTimeout), devices.Switches{NoFilterTimeout: true}, false},
		"fractional capacity":    {on(features.DRAFractionalCapacityRange), devices.Switches{FractionalCapacity: true}, false},
		"derived attributes":     {on(features.DRADerivedAttributes), devices.Switches{DerivedAttributes: true}, false},
		"compatibility groups":   {on(features.DRADeviceCompatibilityGroups), devices.Switches{CompatibilityGroups: true}, false},
		"list attributes":        {on(features.DRAListTypeAttributes), devices.Switches{ListAttributes: true}, false},
	}
}

// With every gate of devices the other way round, both sides do the same. Those that concern what the histories have do
// something else than by default.
func TestDeviceGates(t *testing.T) {
	const histories = 20
	for name, gate := range deviceGates() {
		t.Run(name, func(t *testing.T) {
			featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, gate.gates)
			with := func(switches devices.Switches) builder {
				return func(ctx context.Context, c cluster, p profile) (*side, error) {
					return inOurRuntimeWith(ctx, c, p, ourFactories(), switches)
				}
			}
			differs := 0
			for seed := range uint64(histories) {
				synctest.Test(t, func(t *testing.T) {
					g := newGenerator(seed)
					g.noShares = gate.switches.NoConsumableCapacity
					h := g.deviceHistory()
					args := h.args[dynamicResources].(*configv1.DynamicResourcesArgs)
					if gate.switches.NoBindingConditions {
						args.BindingTimeout = nil // which may not be set
					}
					if gate.switches.NoFilterTimeout {
						args.FilterTimeout = nil
					}
					their, our := playDevices(t, h, theirs).v, playDevices(t, h, with(gate.switches)).v
					if diff := difference(their, our); diff != "" {
						t.Fatalf("history %d (-kube-scheduler +rouse):\n%s\n%s", seed, diff, h.text())
					}
					if difference(our, playDevices(t, h, with(devices.Switches{})).v) != "" {
						differs++
					}
				})
			}
			if gate.shows && differs == 0 {
				t.Errorf("in %d histories it makes no difference", histories)
			}
		})
	}
}
