// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	upstreamframework "k8s.io/kubernetes/pkg/scheduler/framework"
	upstreamplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	upstreammetrics "k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// kubeSchedulerAsker asks kube-scheduler's framework as the cluster autoscaler does: PreFilter once for a pod, then Filter
// for one node after the other, beginning behind the one that was found last, until one takes the pod; no scores. The
// snapshot is made of layers: a fork is a layer that has what differs.
type kubeSchedulerAsker struct {
	*predicates
	layer *layer
}

// predicates is a framework, and the snapshot that it reads.
type predicates struct {
	fwk.SharedLister // an empty one, for what is neither nodes nor pods
	framework        upstreamframework.Framework
	// all has every node asked about, not only those up to the first that takes the pod.
	all bool
	// current is the layer that is asked about.
	current *layer
	last    int
	cancel  context.CancelFunc
}

func newKubeSchedulerAsker(ctx context.Context, objects []apiruntime.Object) (asker, error) {
	return newKubeSchedulerAskerOf(ctx, objects, false)
}

// newThoroughKubeSchedulerAsker returns one that asks about every node, as package whatif does.
func newThoroughKubeSchedulerAsker(ctx context.Context, objects []apiruntime.Object) (asker, error) {
	return newKubeSchedulerAskerOf(ctx, objects, true)
}

func newKubeSchedulerAskerOf(ctx context.Context, objects []apiruntime.Object, all bool) (asker, error) {
	bottom, others, err := newLayer(objects)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &kubeSchedulerAsker{&predicates{SharedLister: upstreamcache.NewEmptySnapshot(), all: all, current: bottom, cancel: cancel}, bottom}
	if err := a.build(ctx, others); err != nil {
		cancel()
		return nil, fmt.Errorf("building kube-scheduler's framework: %w", err)
	}
	return a, nil
}

// build makes the framework, with informers of everything but nodes and pods.
func (p *predicates) build(ctx context.Context, objects []apiruntime.Object) error {
	upstreammetrics.Register()
	configuration, err := settings{}.forKubeScheduler()
	if err != nil {
		return err
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	devices, err := kubescheduler.NewDRAManager(ctx, factory)
	if err != nil {
		return err
	}
	p.framework, err = upstreamruntime.NewFramework(ctx, upstreamplugins.NewInTreeRegistry(), &configuration.Profiles[0],
		upstreamruntime.WithClientSet(client),
		upstreamruntime.WithInformerFactory(factory),
		upstreamruntime.WithSnapshotSharedLister(p),
		upstreamruntime.WithSharedDRAManager(devices),
		upstreamruntime.WithSharedCSIManager(kubescheduler.NewCSIManager(factory)),
		upstreamruntime.WithPodNominator(nothingNominated{}),
		upstreamruntime.WithPodGroupManager(cache.NoPodGroups{}),
	)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

// nothingNominated is a nominator of a scheduler without nominated pods.
type nothingNominated struct{ fwk.PodNominator }

// NominatedPodsForNode implements fwk.PodNominator.
func (nothingNominated) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// NodeInfos and StorageInfos implement fwk.SharedLister.
func (p *predicates) NodeInfos() fwk.NodeInfoLister { return p.current }

// StorageInfos implements fwk.SharedLister.
func (p *predicates) StorageInfos() fwk.StorageInfoLister { return p.current }

func (a *kubeSchedulerAsker) fork() asker {
	return &kubeSchedulerAsker{a.predicates, &layer{below: a.layer}}
}

func (a *kubeSchedulerAsker) add(objects ...apiruntime.Object) error {
	for _, object := range objects {
		switch object := object.(type) {
		case *v1.Node:
			a.layer.addNode(object)
		case *v1.Pod:
			if err := a.layer.addPod(object, object.Spec.NodeName); err != nil {
				return err
			}
		default:
			return fmt.Errorf("adding a %T is not supported", object)
		}
	}
	return nil
}

func (a *kubeSchedulerAsker) remove(pod *v1.Pod) error { return a.layer.removePod(pod) }

func (a *kubeSchedulerAsker) fits(ctx context.Context, pod *v1.Pod) (bool, error) {
	node, err := a.find(ctx, pod, "")
	return node != "", err
}

// find returns the first node that takes a pod, empty if none does. One node may be left out.
func (a *kubeSchedulerAsker) find(ctx context.Context, pod *v1.Pod, leftOut string) (string, error) {
	a.current = a.layer
	state := upstreamframework.NewCycleState()
	result, status, _ := a.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return "", status.AsError()
	}
	nodes, err := a.layer.List()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := atomic.Int64{}
	found.Store(-1)
	a.framework.Parallelizer().Until(ctx, len(nodes), func(i int) {
		i = (a.last + i) % len(nodes)
		name := nodes[i].Node().Name
		if name == leftOut || !result.AllNodes() && !result.NodeNames.Has(name) {
			return
		}
		if a.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, nodes[i]).IsSuccess() && found.CompareAndSwap(-1, int64(i)) && !a.all {
			cancel()
		}
	}, "")
	index := int(found.Load())
	if index < 0 {
		return "", nil
	}
	a.last = (index + 1) % len(nodes)
	return nodes[index].Node().Name, nil
}

func (a *kubeSchedulerAsker) place(ctx context.Context, pods []*v1.Pod) (int, error) {
	return a.placeElsewhere(ctx, pods, "")
}

func (a *kubeSchedulerAsker) placeElsewhere(ctx context.Context, pods []*v1.Pod, leftOut string) (placed int, err error) {
	for _, pod := range pods {
		node, err := a.find(ctx, pod, leftOut)
		if err != nil {
			return placed, err
		}
		if node == "" {
			continue
		}
		if err := a.layer.addPod(pod, node); err != nil {
			return placed, err
		}
		placed++
	}
	return placed, nil
}

func (a *kubeSchedulerAsker) drain(ctx context.Context, name string) (int, error) {
	node, err := a.layer.Get(name)
	if err != nil {
		return 0, err
	}
	var pods []*v1.Pod
	for _, info := range node.GetPods() {
		pod := info.GetPod().DeepCopy()
		if err := a.layer.removePod(pod); err != nil {
			return 0, err
		}
		pod.Spec.NodeName = ""
		pods = append(pods, pod)
	}
	return a.placeElsewhere(ctx, pods, name)
}

func (a *kubeSchedulerAsker) close() { a.cancel() }
