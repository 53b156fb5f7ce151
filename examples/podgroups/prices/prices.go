// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prices is a plugin that prefers cheap nodes. It reads NodePrices with a typed client, and an informer that is made as
// those that informer-gen writes.
package prices

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"

	"example.com/podgroups/api/v1alpha1"
)

// Name is the name of the plugin in profiles.
const Name = "Prices"

var (
	_ fwk.ScorePlugin     = &Plugin{}
	_ fwk.ScoreExtensions = &Plugin{}
)

// Plugin prefers cheap nodes. It rejects none, so that there are no events to wait for.
type Plugin struct {
	prices cache.Store
	stop   context.CancelFunc
}

// New builds the plugin for one profile. Its informer runs until Close is called.
func New(ctx context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	client, err := v1alpha1.NewNodePriceClient(handle.KubeConfig())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	informer := cache.NewSharedInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (apiruntime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}, &v1alpha1.NodePrice{}, 0)
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		stop()
		return nil, errors.New("the scheduler ended before the NodePrices were read")
	}
	return &Plugin{prices: informer.GetStore(), stop: stop}, nil
}

// Close implements io.Closer: it stops the informer.
func (p *Plugin) Close() error {
	p.stop()
	return nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// Score implements fwk.ScorePlugin: the price of the node, which NormalizeScore turns into a score. A node without a price is
// as dear as the dearest.
func (p *Plugin) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	found, exists, err := p.prices.GetByKey(node.Node().Labels[v1.LabelInstanceTypeStable])
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	if exists {
		return found.(*v1alpha1.NodePrice).CentsPerHour, nil
	}
	var dearest int64
	for _, price := range p.prices.List() {
		dearest = max(dearest, price.(*v1alpha1.NodePrice).CentsPerHour)
	}
	return dearest, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore implements fwk.ScoreExtensions: scores are from 0 to fwk.MaxNodeScore, and the lowest price is the best.
func (p *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxNodeScore, true, scores)
}
