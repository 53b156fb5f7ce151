// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/rouse-scheduler/rouse/app/internal/features"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// TestGatesSwitch checks that every gate that has an effect on the scheduler changes something, and no other gate does.
func TestGatesSwitch(t *testing.T) {
	for _, test := range []struct {
		gate string
		want []string
	}{
		{gate: "", want: nil},
		{gate: "SchedulerPopFromBackoffQ", want: []string{"DisablePopFromBackoff"}},
		{gate: "NominatedNodeNameForExpectation", want: []string{"DisableNominatedNodeName"}},
		{gate: "SchedulerAsyncPreemption", want: []string{"plugin DefaultPreemption"}},
		{gate: "StorageCapacityScoring", want: []string{"plugin VolumeBinding"}},
		{gate: "VolumeLimitScaling", want: []string{"plugin NodeVolumeLimits"}},
		{gate: "DRADeviceTaintRules", want: []string{"devices {NoTaintRules}"}},
		{gate: "DRAPartitionableDevices", want: []string{"devices {NoPartitions}"}},
		{gate: "DRADeviceBindingConditions", want: []string{"devices {NoBindingConditions}"}},
		{gate: "DRASchedulerFilterTimeout", want: []string{"devices {NoFilterTimeout}"}},
		{gate: "OpportunisticBatching", want: nil},
	} {
		t.Run(test.gate, func(t *testing.T) {
			gates, err := features.New()
			if err != nil {
				t.Fatal(err)
			}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			gates.AddFlags(flags)
			if test.gate != "" {
				if err := flags.Parse([]string{"--feature-gates=" + test.gate + "=false"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := gates.Set(); err != nil {
				t.Fatal(err)
			}
			options := scheduler.Options{Registry: plugins.NewInTreeRegistry()}
			applyGates(gates, &options)
			if diff := cmp.Diff(test.want, switched(options)); diff != "" {
				t.Errorf("switched (-want +got):\n%s", diff)
			}
			var warned []string
			for _, name := range gates.Ineffective() {
				warned = append(warned, string(name))
			}
			if named := strings.Join(warned, ","); test.gate != "" && (named == test.gate) != (test.want == nil) {
				t.Errorf("the gates without effect are %q", named)
			}
		})
	}
}

// switched names what differs from a scheduler without gates.
func switched(options scheduler.Options) []string {
	var names []string
	if options.Features.DisablePopFromBackoff {
		names = append(names, "DisablePopFromBackoff")
	}
	if options.Features.DisableNominatedNodeName {
		names = append(names, "DisableNominatedNodeName")
	}
	var devices []string
	for field, value := range reflect.ValueOf(options.Features.Devices).Fields() {
		if value.Bool() {
			devices = append(devices, field.Name)
		}
	}
	if len(devices) > 0 {
		names = append(names, fmt.Sprintf("devices %s", "{"+strings.Join(devices, " ")+"}"))
	}
	inTree := plugins.NewInTreeRegistry()
	for name, factory := range options.Registry {
		if reflect.ValueOf(factory).Pointer() != reflect.ValueOf(inTree[name]).Pointer() {
			names = append(names, "plugin "+name)
		}
	}
	return names
}
