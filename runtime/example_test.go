// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// zoneFilter accepts the nodes of one zone.
type zoneFilter struct {
	Zone string `json:"zone"`
}

func (z *zoneFilter) Name() string { return "ZoneFilter" }

func (z *zoneFilter) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Labels[v1.LabelTopologyZone] != z.Zone {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) not in zone "+z.Zone)
	}
	return nil
}

// EventsToRegister says what could make a pod fit that the plugin turned down.
func (z *zoneFilter) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}},
	}, nil
}

func newZoneFilter(_ context.Context, args apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	plugin := &zoneFilter{Zone: "a"} // the default
	return plugin, runtime.DecodeInto(args, plugin)
}

// A framework is built from a registry and a profile. Its event map says which plugins wait for which events.
func ExampleNewFramework() {
	registry := registryOf() // Sorter and Binder, which every profile needs the like of
	if err := registry.Register("ZoneFilter", newZoneFilter); err != nil {
		fmt.Println(err)
		return
	}
	profile := &profiles.Profile{
		SchedulerName: "my-scheduler",
		Plugins: configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: []configv1.Plugin{
			{Name: "Sorter"}, {Name: "ZoneFilter"}, {Name: "Binder"},
		}}},
	}
	f, err := runtime.NewFramework(context.Background(), registry, profile, runtime.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, event := range f.EventMap().Events() {
		actions := strings.Join(framework.ActionNames(event.ActionType), "|")
		fmt.Println(event.Resource, actions, "->", slices.Sorted(maps.Keys(f.EventMap()[event])))
	}
	fmt.Println(f.RunFilterPlugins(context.Background(), newState(), objects.Pod("p").Build(), newNode("n")))
	// Output:
	// Node Add|UpdateNodeLabel -> [ZoneFilter]
	// node(s) not in zone a
}

// A factory reads the arguments of its plugin into a struct that has the defaults already.
func ExampleDecodeInto() {
	args := &apiruntime.Unknown{Raw: []byte(`{"zone": "b"}`)}
	plugin, err := newZoneFilter(context.Background(), args, nil)
	fmt.Println(plugin.(*zoneFilter).Zone, err)
	// Output:
	// b <nil>
}
