// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	upstreamcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	upstreamframework "k8s.io/kubernetes/pkg/scheduler/framework"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	upstreamprofile "k8s.io/kubernetes/pkg/scheduler/profile"
)

// kubeSchedulerDecider makes decisions with kube-scheduler. Its loop would start a goroutine that binds the pod, and
// cannot be told not to, so the steps before that are taken here one by one, as the loop does.
type kubeSchedulerDecider struct {
	*upstream.Scheduler
	snapshot *upstreamcache.Snapshot
	cancel   context.CancelFunc
	logger   klog.Logger
}

func newKubeSchedulerDecider(ctx context.Context, s settings) (decider, error) {
	client := fake.NewClientset()
	return newKubeSchedulerDeciderOn(ctx, s, client, informers.NewSharedInformerFactory(client, 0))
}

func newKubeSchedulerDeciderOn(
	ctx context.Context, s settings, client clientset.Interface, factory informers.SharedInformerFactory,
) (*kubeSchedulerDecider, error) {
	configuration, err := s.forKubeScheduler()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &kubeSchedulerDecider{snapshot: upstreamcache.NewEmptySnapshot(), cancel: cancel, logger: klog.FromContext(ctx)}
	d.Scheduler, err = upstream.New(ctx, client, factory, nil, noEvents(),
		upstream.WithProfiles(configuration.Profiles...),
		upstream.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		upstream.WithNodeInfoSnapshot(d.snapshot),
		upstream.WithFrameworkOutOfTreeRegistry(upstreamruntime.Registry{outOfTreeName: newOutOfTreePlugin}),
	)
	if err != nil {
		cancel()
		return nil, err
	}
	return d, nil
}

// noEvents makes recorders that drop what they are given.
func noEvents() upstreamprofile.RecorderFactory {
	return func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
}

func (d *kubeSchedulerDecider) addNodes(nodes []*v1.Node) error {
	for _, node := range nodes {
		d.Cache.AddNode(d.logger, node)
	}
	return nil
}

func (d *kubeSchedulerDecider) updateNode(old, updated *v1.Node) error {
	d.Cache.UpdateNode(d.logger, old, updated)
	return nil
}

func (d *kubeSchedulerDecider) addPod(pod *v1.Pod) error { return d.Cache.AddPod(d.logger, pod) }

func (d *kubeSchedulerDecider) enqueue(ctx context.Context, pod *v1.Pod) {
	d.SchedulingQueue.Add(ctx, pod)
}

func (d *kubeSchedulerDecider) decide(ctx context.Context) error {
	entity, err := d.NextEntity(d.logger)
	if err != nil {
		return err
	}
	info, ok := entity.(*upstreamframework.QueuedPodInfo)
	if !ok {
		return fmt.Errorf("the queue gave out a %T", entity)
	}
	profile := d.Profiles[info.Pod.Spec.SchedulerName]
	if assumed, err := d.Cache.IsAssumedPod(info.Pod); err != nil || assumed {
		return fmt.Errorf("pod %s is assumed already: %v", info.Pod.Name, err)
	}
	state := upstreamframework.NewCycleState()
	state.SetRecordPluginMetrics(rand.IntN(10) == 0)
	state.Write(upstreamframework.PodsToActivateKey, upstreamframework.NewPodsToActivate())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := d.Cache.UpdateSnapshot(d.logger, d.snapshot); err != nil {
		return err
	}
	result, err := d.SchedulePod(ctx, profile, state, info)
	if err != nil {
		return fmt.Errorf("pod %s got no node: %w", info.Pod.Name, err)
	}
	assumed := info.DeepCopy().Pod
	assumed.Spec.NodeName = result.SuggestedHost
	if err := d.Cache.AssumePod(d.logger, assumed); err != nil {
		return err
	}
	d.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	if status := profile.RunReservePluginsReserve(ctx, state, assumed, result.SuggestedHost); !status.IsSuccess() {
		return status.AsError()
	}
	if _, status := profile.RunPermitPlugins(ctx, state, assumed, result.SuggestedHost); !status.IsSuccess() {
		return status.AsError()
	}
	d.SchedulingQueue.Done(assumed.UID)
	return nil
}

func (d *kubeSchedulerDecider) nodeOf(pod *v1.Pod) (string, error) {
	cached, err := d.Cache.GetPod(pod)
	if err != nil {
		return "", err
	}
	return cached.Spec.NodeName, nil
}

func (d *kubeSchedulerDecider) close() {
	d.SchedulingQueue.Close()
	d.cancel()
}
