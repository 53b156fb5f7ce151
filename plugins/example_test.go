// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// quietHours is a plugin of one's own.
type quietHours struct{}

func (quietHours) Name() string { return "QuietHours" }

func (quietHours) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, "it is quiet hour on this node")
}

// A plugin of one's own is added to the registry, and named in a profile.
func ExampleNewInTreeRegistry() {
	ctx := context.Background()
	registry := plugins.NewInTreeRegistry()
	err := registry.Register("QuietHours", func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return quietHours{}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	profile := profiles.DefaultProfile("quiet-scheduler")
	profile.Plugins.Filter.Enabled = []configv1.Plugin{{Name: "QuietHours"}}

	built, err := runtime.NewFramework(ctx, registry, profile, runtime.Options{
		Clients: runtime.Clients{InformerFactory: informers.NewSharedInformerFactory(nil, 0)}, // with a client in a scheduler
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer built.Close()

	node := framework.NewNodeInfo()
	node.SetNode(objects.Node("n1").Build())
	state, pod := framework.NewCycleState(), &v1.Pod{}
	built.RunPreFilterPlugins(ctx, state, pod)
	status := built.RunFilterPlugins(ctx, state, pod, node)
	fmt.Printf("%s: %s\n", status.Plugin(), status.Message())
	// Output: QuietHours: it is quiet hour on this node
}

// fit is what spareCPU passes on of NodeResourcesFit.
type fit interface {
	fwk.SignPlugin
	fwk.EnqueueExtensions
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

// spareCPU is NodeResourcesFit, except that nodes that are full to the last CPU are not used.
type spareCPU struct{ fit }

func (s spareCPU) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.GetAllocatable().GetMilliCPU()-node.GetRequested().GetMilliCPU() < 1000 {
		return fwk.NewStatus(fwk.Unschedulable, "less than one CPU is free")
	}
	return s.fit.Filter(ctx, state, pod, node)
}

// An in-tree plugin is changed by embedding the interfaces that the new one passes on.
func ExampleNewInTreeRegistry_wrap() {
	ctx := context.Background()
	registry := plugins.NewInTreeRegistry()
	original := registry[noderesourcesfit.Name]
	registry[noderesourcesfit.Name] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := original(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return spareCPU{plugin.(fit)}, nil
	}
	built, err := runtime.NewFramework(ctx, registry, profiles.DefaultProfile("spare-scheduler"), runtime.Options{
		Clients: runtime.Clients{InformerFactory: informers.NewSharedInformerFactory(nil, 0)}, // with a client in a scheduler
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer built.Close()

	node := framework.NewNodeInfo()
	node.SetNode(objects.Node("n1").Capacity("cpu", "500m").Build())
	state, pod := framework.NewCycleState(), &v1.Pod{}
	built.RunPreFilterPlugins(ctx, state, pod)
	status := built.RunFilterPlugins(ctx, state, pod, node)
	fmt.Printf("%s: %s\n", status.Plugin(), status.Message())
	// Output: NodeResourcesFit: less than one CPU is free
}
