// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

var (
	_ fwk.PreFilterPlugin       = &requeueObserver{}
	_ fwk.EnqueueExtensions     = &requeueObserver{}
	_ framework.HintClassPlugin = &requeueObserver{}
)

// requeueObserver stands in for a plugin in a cluster: it waits for the events of the plugin, with the plugin's hints and
// classes, but rejects every pod in every attempt, after it had the plugin judge the pod. So the queue treats all pods
// as it would treat those that the plugin rejected, and no pod blocks another.
type requeueObserver struct {
	context context.Context
	name    string
	// plugin is a framework of the plugin alone.
	plugin *runtime.Framework
	// judgements are those of the latest attempt of each pod.
	judgements map[types.UID]judgement
	// answers are what the hints said.
	answers []hintAnswer
}

// judgement is what the plugin says about a pod: a status for each node, by name. Nil accepts.
type judgement struct {
	pod      *v1.Pod
	statuses map[string]*fwk.Status
}

// hintAnswer is one answer of a hint.
type hintAnswer struct {
	registration   fwk.ClusterEventWithHint
	pod            *v1.Pod
	oldObj, newObj any
	hint           fwk.QueueingHint
	err            error
}

func newRequeueObserver(ctx context.Context, tested *subject, handle fwk.Handle) (*requeueObserver, error) {
	plugin, err := tested.framework(ctx, runtime.Options{
		Clients: runtime.Clients{
			ClientSet:       handle.ClientSet(),
			KubeConfig:      handle.KubeConfig(),
			InformerFactory: handle.SharedInformerFactory(),
		},
		Snapshot:    handle.SnapshotSharedLister(),
		Nominator:   handle,
		Activator:   handle,
		Parallelism: 1,
		Managers:    runtime.Managers{PodGroup: handle.PodGroupManager()},
		Logger:      klog.FromContext(ctx),
	})
	if err != nil {
		return nil, err
	}
	return &requeueObserver{context: ctx, name: tested.name, plugin: plugin, judgements: map[types.UID]judgement{}}, nil
}

// Name implements fwk.Plugin.
func (o *requeueObserver) Name() string { return o.name }

// Close closes the plugin.
func (o *requeueObserver) Close() error { return o.plugin.Close() }

// EventsToRegister implements fwk.EnqueueExtensions.
func (o *requeueObserver) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	registrations := slices.Clone(o.plugin.Registrations()[o.name])
	for i, registration := range registrations {
		if registration.QueueingHintFn != nil {
			registrations[i].QueueingHintFn = o.recording(registration)
		}
	}
	return registrations, nil
}

func (o *requeueObserver) recording(registration fwk.ClusterEventWithHint) fwk.QueueingHintFn {
	return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
		hint, err := registration.QueueingHintFn(logger, pod, oldObj, newObj)
		o.answers = append(o.answers, hintAnswer{registration, pod, oldObj, newObj, hint, err})
		return hint, err
	}
}

// HintClass implements framework.HintClassPlugin.
func (o *requeueObserver) HintClass(pod *v1.Pod) (class string, ok bool) {
	return o.plugin.HintClass(o.context, o.name, pod)
}

// PreFilter implements fwk.PreFilterPlugin.
func (o *requeueObserver) PreFilter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	o.judgements[pod.UID] = judgement{pod: pod, statuses: o.judge(ctx, pod, nodes)}
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the check of wake-ups rejects every pod")
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (o *requeueObserver) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (o *requeueObserver) judge(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo) map[string]*fwk.Status {
	for _, gate := range o.plugin.PreEnqueuePlugins() {
		if status := gate.PreEnqueue(ctx, pod); !status.IsSuccess() {
			statuses := map[string]*fwk.Status{}
			for _, node := range nodes {
				statuses[node.Node().Name] = status
			}
			return statuses
		}
	}
	return judge(ctx, o.plugin, framework.NewCycleState(), pod, nodes)
}

// takeJudgements returns the judgements so far and forgets them.
func (o *requeueObserver) takeJudgements() map[types.UID]judgement {
	taken := o.judgements
	o.judgements = map[types.UID]judgement{}
	return taken
}

// judgeAgain has the plugin judge pods once more, whether they are awake or not.
func (o *requeueObserver) judgeAgain(cluster *simulate.Cluster, judged map[types.UID]judgement) (map[types.UID]judgement, error) {
	pods := map[string]*v1.Pod{}
	for uid := range maps.Keys(judged) {
		pods[string(uid)] = judged[uid].pod
	}
	cluster.Scheduler().Queue().Activate(klog.FromContext(o.context), pods)
	if err := cluster.Advance(0); err != nil {
		return nil, err
	}
	return o.takeJudgements(), nil
}

// sameClass reports whether hints are asked only once for both of two pods.
func (o *requeueObserver) sameClass(a, b *v1.Pod) bool {
	classA, sharedA := o.HintClass(a)
	classB, sharedB := o.HintClass(b)
	return sharedA && sharedB && classA == classB
}
