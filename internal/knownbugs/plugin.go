// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// Plugin is an out-of-tree plugin that does what a sequence says. The methods that are left nil accept every pod.
type Plugin struct {
	PluginName string
	// Events are those that the plugin registers. A hint of a plugin has to be written by the sequence.
	Events     []fwk.ClusterEventWithHint
	OnEnqueue  func(pod *v1.Pod) *fwk.Status
	OnFilter   func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status
	OnPermit   func(pod *v1.Pod) (*fwk.Status, time.Duration)
	OnPreBind  func(ctx context.Context, pod *v1.Pod) *fwk.Status
	Handle     fwk.Handle // since the scheduler was built
	mu         sync.Mutex
	unreserved map[string]int
}

// New is the factory of the plugin.
func (p *Plugin) New(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	p.Handle = handle
	return p, nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return p.PluginName }

// EventsToRegister implements fwk.EnqueueExtensions.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return p.Events, nil
}

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (p *Plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if p.OnEnqueue == nil {
		return nil
	}
	return p.OnEnqueue(pod)
}

// Filter implements fwk.FilterPlugin.
func (p *Plugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if p.OnFilter == nil {
		return nil
	}
	return p.OnFilter(pod, node)
}

// Reserve implements fwk.ReservePlugin.
func (p *Plugin) Reserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// Unreserve implements fwk.ReservePlugin.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unreserved == nil {
		p.unreserved = map[string]int{}
	}
	p.unreserved[pod.Name]++
}

// Unreserved returns how often Unreserve was called for a pod.
func (p *Plugin) Unreserved(pod string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unreserved[pod]
}

// Permit implements fwk.PermitPlugin.
func (p *Plugin) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if p.OnPermit == nil {
		return nil, 0
	}
	return p.OnPermit(pod)
}

// PreBindPreFlight implements fwk.PreBindPlugin.
func (p *Plugin) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if p.OnPreBind == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

// PreBind implements fwk.PreBindPlugin.
func (p *Plugin) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if p.OnPreBind == nil {
		return nil
	}
	return p.OnPreBind(ctx, pod)
}

// recorder tells a world of the events that the scheduler writes.
type recorder struct{ world *World }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ apiruntime.Object, _, reason, _, _ string, _ ...any) {
	pod, ok := regarding.(*v1.Pod)
	if ok && r.world.OnEvent != nil {
		r.world.OnEvent(pod.Name, reason)
	}
}

// WithLogger implements events.EventRecorderLogger.
func (r *recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }
