// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"context"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/schedulinggates"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// mutant is a plugin that forgets an event.
type mutant struct {
	plugin string
	forgot fwk.ClusterEvent
}

// String returns how a table or a test names the mutant.
func (m mutant) String() string {
	return fmt.Sprintf("%s without %s %v", m.plugin, m.forgot.Resource, framework.ActionNames(m.forgot.ActionType))
}

// registry returns kube-scheduler's plugins, with the mutant in place of its plugin.
func (m mutant) registry() runtime.Registry {
	registry := kubescheduler.Plugins()
	factory := registry[m.plugin]
	registry[m.plugin] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := factory(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return withRegistrations(plugin, &forgetful{plugin.(fwk.EnqueueExtensions), m.forgot})
	}
	return registry
}

// forgetful registers what a plugin registers, without an event.
type forgetful struct {
	fwk.EnqueueExtensions
	forgot fwk.ClusterEvent
}

// EventsToRegister implements fwk.EnqueueExtensions.
func (f *forgetful) EventsToRegister(ctx context.Context) ([]fwk.ClusterEventWithHint, error) {
	registered, err := f.EnqueueExtensions.EventsToRegister(ctx)
	var rest []fwk.ClusterEventWithHint
	for _, registration := range registered {
		if registration.Event.Resource == f.forgot.Resource {
			registration.Event.ActionType &^= f.forgot.ActionType
		}
		if registration.Event.ActionType != 0 {
			rest = append(rest, registration)
		}
	}
	return rest, err
}

// withRegistrations returns a plugin that registers something else, and otherwise is what it was: an embedded plugin of its
// own type has all methods, and those of the registrations are found first because they are less deep.
func withRegistrations(plugin fwk.Plugin, registrations fwk.EnqueueExtensions) (fwk.Plugin, error) {
	switch plugin := plugin.(type) {
	case *dynamicresources.DynamicResources:
		type deeper struct {
			*dynamicresources.DynamicResources
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *interpodaffinity.InterPodAffinity:
		type deeper struct {
			*interpodaffinity.InterPodAffinity
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *nodeaffinity.NodeAffinity:
		type deeper struct{ *nodeaffinity.NodeAffinity }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *nodedeclaredfeatures.NodeDeclaredFeatures:
		type deeper struct {
			*nodedeclaredfeatures.NodeDeclaredFeatures
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *nodeports.NodePorts:
		type deeper struct{ *nodeports.NodePorts }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *noderesources.Fit:
		type deeper struct{ *noderesources.Fit }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	}
	return withRegistrationsOfMore(plugin, registrations)
}

// withRegistrationsOfMore is withRegistrations for the other half of the plugins.
func withRegistrationsOfMore(plugin fwk.Plugin, registrations fwk.EnqueueExtensions) (fwk.Plugin, error) {
	switch plugin := plugin.(type) {
	case *nodeunschedulable.NodeUnschedulable:
		type deeper struct {
			*nodeunschedulable.NodeUnschedulable
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *nodevolumelimits.CSILimits:
		type deeper struct{ *nodevolumelimits.CSILimits }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *podtopologyspread.PodTopologySpread:
		type deeper struct {
			*podtopologyspread.PodTopologySpread
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *schedulinggates.SchedulingGates:
		type deeper struct {
			*schedulinggates.SchedulingGates
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *tainttoleration.TaintToleration:
		type deeper struct {
			*tainttoleration.TaintToleration
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *volumebinding.VolumeBinding:
		type deeper struct{ *volumebinding.VolumeBinding }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *volumerestrictions.VolumeRestrictions:
		type deeper struct {
			*volumerestrictions.VolumeRestrictions
		}
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	case *volumezone.VolumeZone:
		type deeper struct{ *volumezone.VolumeZone }
		return struct {
			fwk.EnqueueExtensions
			deeper
		}{registrations, deeper{plugin}}, nil
	}
	return nil, fmt.Errorf("there is no mutant of a %T", plugin)
}
