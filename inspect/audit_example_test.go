// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
)

// inspected lets pods on nodes whose disks are known. It forgot that they can become known later.
type inspected struct{}

func (inspected) Name() string { return "Inspected" }

func (inspected) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Labels["disk"] == "" {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) had no known disk")
	}
	return nil
}

func (inspected) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}}}, nil
}

// withInspected returns options for a simulation with the plugin in addition to those of the default profile.
func withInspected() (simulate.Options, error) {
	registry, configuration := plugins.NewInTreeRegistry(), profiles.Default()
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	*enabled = append([]configv1.Plugin{{Name: "Inspected"}}, *enabled...)
	err := registry.Register("Inspected", func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return inspected{}, nil })
	return simulate.Options{Configuration: configuration, Registry: registry}, err
}

// Which wake-ups does a scenario show to be missing?
func ExampleRunAudit() {
	options, err := withInspected()
	if err != nil {
		fmt.Println(err)
		return
	}
	input, err := simulate.Load([]string{"../testdata/scenarios/node-label-wakes-pod.yaml"}, simulate.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	audit, err := inspect.RunAudit(context.Background(), input, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range audit.Missed {
		missed := &audit.Missed[i]
		fmt.Printf("%v: pod %s fits node %s since %s\n", missed.At, missed.Pod, missed.Node, missed.Event)
		for _, blame := range missed.MissedBy {
			fmt.Println(blame.Plugin, blame.Event, blame.Reason)
		}
	}
	// Output:
	// 20s: pod default/web fits node n1 since NodeUpdateNodeLabel
	// Inspected NodeUpdateNodeLabel notRegistered
}
