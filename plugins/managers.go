// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/runtime"
)

// NewManagers builds the managers that DynamicResources and NodeVolumeLimits need, for a framework outside of package
// scheduler, which has its own. They read the objects of the factory, which the caller starts afterwards, and log to the
// logger of the context. They stop listening when the context ends.
//
// The informers fill the managers in the background: wait, which must be called after the factory was started and before the
// first pod is scheduled, returns once the managers know all that existed then, or with an error when its context ends
// before. That the caches of the factory have synced is not enough: devices that are in use would be taken for free.
//
// The manager of pod groups is left to the caller. If the caller uses Framework.Search, changed is the TouchNode of its
// cache.Cache: it is called, from any goroutine, when something changed about the devices of a node. Otherwise it may be nil.
func NewManagers(ctx context.Context, factory informers.SharedInformerFactory, changed func(nodeName string)) (managers runtime.Managers, wait func(context.Context) error, err error) {
	logger := klog.FromContext(ctx)
	manager, err := devices.New(ctx, devices.Options{Informers: factory, Touched: changed, Logger: logger})
	if err != nil {
		return runtime.Managers{}, nil, err
	}
	context.AfterFunc(ctx, func() {
		if err := manager.Close(); err != nil {
			logger.Error(err, "Couldn't stop listening to changes of devices")
		}
	})
	return runtime.Managers{DRA: manager, CSI: csiNodes{csi.New(factory)}}, manager.WaitForSync, nil
}

// csiNodes hides from plugins the list of changes, which is only kept where a scheduler adds its handlers to the informers.
type csiNodes struct{ fwk.CSIManager }
