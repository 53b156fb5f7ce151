// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rackbudget has a scheduler plugin that limits how many pods of a team run in a rack.
package rackbudget

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the name of the plugin in profiles.
const Name = "RackBudget"

var (
	_ fwk.PreFilterPlugin     = &Plugin{}
	_ fwk.PreFilterExtensions = &Plugin{}
	_ fwk.FilterPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions   = &Plugin{}
	_ fwk.SignPlugin          = &Plugin{}
)

// Plugin rejects nodes in racks that run as many pods of a team as they may. It does not change after New.
type Plugin struct {
	args Args
}

// New builds the plugin for one profile.
func New(_ context.Context, written apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	args, err := decode(written)
	if err != nil {
		return nil, err
	}
	return &Plugin{args: args}, nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

func (p *Plugin) team(pod *v1.Pod) string { return pod.Labels[p.args.TeamLabel] }

func (p *Plugin) rack(node *v1.Node) string { return node.Labels[p.args.RackLabel] }

// SignPod implements fwk.SignPlugin: the team is all that the plugin reads of a pod, in Filter and in its hints.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: "example.com/" + Name, Value: p.team(pod)}}, nil
}
