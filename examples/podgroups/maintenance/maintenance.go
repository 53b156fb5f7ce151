// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance is a plugin that keeps pods out of zones for which there is a Maintenance. It has no Go type for that: it
// reads the custom resource with a dynamic informer of client-go.
package maintenance

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	// Name is the name of the plugin in profiles.
	Name = "Maintenance"
	// Reason is why nodes are rejected.
	Reason = "node(s) in a zone under maintenance"
	// byZone is the index of Maintenances by their zone.
	byZone = "zone"
)

// resource is that of the custom kind, which events name plural.version.group.
var resource = schema.GroupVersionResource{Group: "scheduling.example.com", Version: "v1alpha1", Resource: "maintenances"}

var (
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// Plugin rejects nodes in zones under maintenance.
type Plugin struct {
	maintenances cache.Indexer
	stop         context.CancelFunc
}

// New builds the plugin for one profile. Its informer runs until Close is called.
func New(ctx context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(resource).Informer()
	if err := informer.AddIndexers(cache.Indexers{byZone: func(o any) ([]string, error) { return []string{zoneOf(o)}, nil }}); err != nil {
		stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		stop()
		return nil, errors.New("the scheduler ended before the Maintenances were read")
	}
	return &Plugin{maintenances: informer.GetIndexer(), stop: stop}, nil
}

// Close implements io.Closer: it stops the informer.
func (p *Plugin) Close() error {
	p.stop()
	return nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// Filter implements fwk.FilterPlugin.
func (p *Plugin) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	zone := node.Node().Labels[v1.LabelTopologyZone]
	if zone == "" {
		return nil
	}
	found, err := p.maintenances.IndexKeys(byZone, zone)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(found) > 0 {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, Reason)
	}
	return nil
}

// EventsToRegister implements fwk.EnqueueExtensions.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: "maintenances.v1alpha1.scheduling.example.com", ActionType: fwk.Update | fwk.Delete},
			QueueingHintFn: framework.HintFor(afterMaintenance),
		},
		{
			Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		},
	}, nil
}

// afterMaintenance wakes pods when a maintenance ends, or moves to another zone.
func afterMaintenance(_ klog.Logger, _ *v1.Pod, before, after *unstructured.Unstructured) (fwk.QueueingHint, error) {
	if before != nil && after != nil && zoneOf(before) == zoneOf(after) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// zoneOf returns the zone of a Maintenance.
func zoneOf(o any) string {
	maintenance, ok := o.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	zone, _, _ := unstructured.NestedString(maintenance.Object, "spec", "zone")
	return zone
}
