// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
)

// scripted is a plugin out of the tree that a test says what to do.
type scripted struct {
	name string
	// accepts reports whether a node suits a pod; nil accepts all.
	accepts func(handle fwk.Handle, pod *v1.Pod, node *v1.Node) bool
	reason  string
	events  []fwk.ClusterEventWithHint
	// permit is what Permit returns; nil allows.
	permit func(pod *v1.Pod) *fwk.Status

	handle fwk.Handle
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if s.accepts == nil || s.accepts(s.handle, pod, info.Node()) {
		return nil
	}
	return fwk.NewStatus(fwk.Unschedulable, s.reason)
}

func (s *scripted) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if s.permit == nil {
		return nil, 0
	}
	return s.permit(pod), time.Second
}

func (s *scripted) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return s.events, nil
}

// withPlugins returns options for a simulation with the default profile and some plugins in addition.
func withPlugins(t *testing.T, added ...*scripted) simulate.Options {
	t.Helper()
	registry := plugins.NewInTreeRegistry()
	configuration := profiles.Default()
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	for _, plugin := range added {
		factory := func(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			copied := *plugin
			copied.handle = handle
			return &copied, nil
		}
		if err := registry.Register(plugin.name, factory); err != nil {
			t.Fatal(err)
		}
		*enabled = append(*enabled, configv1.Plugin{Name: plugin.name})
	}
	return simulate.Options{Configuration: configuration, Registry: registry}
}

// wantsLabel accepts nodes with a label.
func wantsLabel(key string) func(fwk.Handle, *v1.Pod, *v1.Node) bool {
	return func(_ fwk.Handle, _ *v1.Pod, node *v1.Node) bool { return node.Labels[key] != "" }
}

// on registers an event; without a hint it always wakes.
func on(resource fwk.EventResource, action fwk.ActionType, hint fwk.QueueingHintFn) fwk.ClusterEventWithHint {
	return fwk.ClusterEventWithHint{Event: fwk.ClusterEvent{Resource: resource, ActionType: action}, QueueingHintFn: hint}
}

func skips(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.QueueSkip, nil }

// ifLabelled wakes if the node of the event has a label.
func ifLabelled(key string) fwk.QueueingHintFn {
	return framework.HintFor(func(_ klog.Logger, _ *v1.Pod, _, node *v1.Node) (fwk.QueueingHint, error) {
		if node != nil && node.Labels[key] != "" {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	})
}
