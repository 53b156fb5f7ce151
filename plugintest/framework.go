// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Framework is a framework with one plugin, over a cluster that stands still. It has the methods of runtime.Framework
// for everything that is not made shorter here: Plugin returns the plugin itself, and there is a Run method for every
// extension point.
type Framework struct {
	*runtime.Framework
	t       TB
	name    string
	context context.Context
	logger  klog.Logger
}

// NewFramework builds a plugin together with PrioritySort and DefaultBinder, without which there is no profile; if the plugin
// sorts the queue itself, it takes the place of the former. The name is that by which profiles know the plugin, and
// which it gives itself.
//
// The plugin finds the objects of the options in its snapshot, through its client and in its listers, which are up to
// date from the beginning. It runs in the goroutine of the caller. It is closed at the end of the test. A plugin that
// changes the pod or the node that it is asked about fails the test.
func NewFramework(t TB, name string, factory runtime.PluginFactory, options Options) *Framework {
	t.Helper()
	ctx := options.context(t)
	built, err := newFramework(ctx, name, factory, &options, func(failure runtime.PluginFailure) {
		var changed *runtime.ObjectChangedError
		if errors.As(failure.Err, &changed) {
			t.Errorf("%v", changed)
		}
	})
	if err != nil {
		t.Fatalf("building a framework with plugin %q: %v", name, err)
		return nil
	}
	t.Cleanup(func() {
		if err := built.Close(); err != nil {
			t.Errorf("closing plugin %q: %v", name, err)
		}
	})
	return &Framework{Framework: built, t: t, name: name, context: ctx, logger: options.Logger}
}

func newFramework(ctx context.Context, name string, factory runtime.PluginFactory, options *Options, failed func(runtime.PluginFailure)) (*runtime.Framework, error) {
	tested, err := newSubject(name, factory, options)
	if err != nil {
		return nil, err
	}
	cluster, err := simulate.NewCluster(ctx, simulate.Options{
		Configuration: oneProfile(prioritysort.Name, defaultbinder.Name), Registry: neededRegistry(), CustomResources: options.Objects, Scheme: options.Scheme, Logger: options.Logger,
	})
	if err != nil {
		return nil, err
	}
	if err := options.create(cluster); err != nil {
		return nil, err
	}
	// The plugins of the cluster see its objects through this handle, and those are what they share.
	handle := cluster.Scheduler().Profiles()[profiles.DefaultSchedulerName]
	pods, nodes := seenBy(handle, options)
	nominator, err := nominatorOf(pods, options)
	if err != nil {
		return nil, err
	}
	return tested.framework(ctx, runtime.Options{
		Clients: runtime.Clients{
			ClientSet: handle.ClientSet(), KubeConfig: cluster.KubeConfig(), InformerFactory: handle.SharedInformerFactory(),
		},
		Snapshot:     cache.NewSnapshot(pods, nodes),
		Nominator:    nominator,
		Parallelism:  1,
		Managers:     runtime.Managers{PodGroup: cache.NoPodGroups{}},
		Execution:    runtime.Execution{Clock: cluster.Clock(), CheckObjects: true},
		Logger:       options.Logger,
		PluginFailed: failed,
	})
}

// seenBy returns the pods and nodes of the options as informers show them: with defaults, and without finished pods.
func seenBy(handle fwk.Handle, options *Options) (pods []*v1.Pod, nodes []*v1.Node) {
	core := handle.SharedInformerFactory().Core().V1()
	for _, node := range options.Nodes {
		if seen, err := core.Nodes().Lister().Get(node.Name); err == nil {
			nodes = append(nodes, seen)
		}
	}
	for _, pod := range options.Pods {
		if seen, err := core.Pods().Lister().Pods(pod.Namespace).Get(pod.Name); err == nil {
			pods = append(pods, seen)
		}
	}
	return pods, nodes
}

// nominatorOf returns a nominator that knows which of the pods are nominated.
func nominatorOf(pods []*v1.Pod, options *Options) (*queue.Nominator, error) {
	nominator := queue.NewNominator(nil)
	for _, pod := range pods {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, fmt.Errorf("reading pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		nominator.AddNominatedPod(options.Logger, info, nil)
	}
	return nominator, nil
}

// NodeInfo returns a node of the snapshot. The test ends if there is none of the name.
func (f *Framework) NodeInfo(name string) fwk.NodeInfo {
	f.t.Helper()
	info, err := f.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		f.t.Fatalf("node %q is not among the nodes of the options", name)
	}
	return info
}

// nodeInfos returns all nodes of the snapshot.
func (f *Framework) nodeInfos() []fwk.NodeInfo {
	f.t.Helper()
	nodes, err := f.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		f.t.Fatalf("listing the nodes: %v", err)
	}
	return nodes
}
