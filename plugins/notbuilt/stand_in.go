// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

var (
	_ fwk.PreFilterPlugin   = &standIn{}
	_ fwk.FilterPlugin      = &standIn{}
	_ fwk.EnqueueExtensions = &standIn{}
)

// standIn rejects pods with a need. It is what all stand-ins share.
type standIn struct {
	name string
	// find returns what the pod needs of the missing plugin, or nil. It must be safe for concurrent use.
	find func(pod *v1.Pod) (*need, error)
}

// Name implements fwk.Plugin.
func (s *standIn) Name() string { return s.name }

// PreFilter implements fwk.PreFilterPlugin.
func (s *standIn) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	found, err := s.find(pod)
	switch {
	case err != nil:
		return nil, fwk.AsStatus(err)
	case found == nil:
		return nil, fwk.NewStatus(fwk.Skip)
	default:
		return nil, found.rejection(s.name)
	}
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (s *standIn) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. It sees pods with a need only in a profile that disables PreFilter for the plugin.
func (s *standIn) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	found, err := s.find(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if found == nil {
		return nil
	}
	return found.rejection(s.name)
}

// EventsToRegister implements fwk.EnqueueExtensions: none, because no event takes a need away.
func (s *standIn) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, nil
}
