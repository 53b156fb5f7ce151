// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

const preemptionPlugin = "DefaultPreemption"

// preemptionCase is a full cluster and a pod that may have to preempt. No two pods were started at the same time, so
// that of two nodes one is always the better one to preempt on.
type preemptionCase struct {
	cluster
	pod       *v1.Pod
	budgets   []*policyv1.PodDisruptionBudget
	nominated map[string][]*v1.Pod // by node
	fault     preemptionFault
}

// preemptionFault is what the API server answers to one kind of request for one pod; nothing if the verb is empty.
type preemptionFault struct {
	verb, pod string
	err       error
}

func (g *generator) preemptionCase() preemptionCase {
	c := preemptionCase{nominated: map[string][]*v1.Pod{}}
	for i := range 1 + g.IntN(6) {
		c.nodes = append(c.nodes, g.preemptionNode(i))
	}
	starts := g.Perm(60)
	for i := range 4 + g.IntN(24) {
		pod := g.preemptionPod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = pick(g, c.nodes...).Name
		pod.Status.StartTime = &metav1.Time{Time: time.Date(1999, time.May, 1, 12, starts[i], 0, 0, time.UTC)}
		if g.oneIn(12) {
			pod.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
			if g.oneIn(2) {
				pod.Status.Conditions = []v1.PodCondition{{
					Type: v1.DisruptionTarget, Status: pick(g, v1.ConditionTrue, v1.ConditionFalse),
					Reason: pick(g, v1.PodReasonPreemptionByScheduler, "EvictionByEvictionAPI"),
				}}
			}
		}
		c.pods = append(c.pods, pod)
	}
	// Where a pod belongs to several budgets, the order matters in which a lister has them; for kube-scheduler there is none.
	for _, namespace := range []string{"default", "shop"} {
		if g.oneIn(3) {
			continue
		}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "budget"}}
		budget.Spec.Selector = g.labelSelector()
		budget.Status.DisruptionsAllowed = g.Int32N(3)
		if g.oneIn(3) {
			budget.Status.DisruptedPods = map[string]metav1.Time{pick(g, c.pods...).Name: {}}
		}
		c.budgets = append(c.budgets, budget)
	}
	for i := range g.IntN(3) {
		pod, node := g.preemptionPod(fmt.Sprintf("nominated-%d", i)), pick(g, c.nodes...).Name
		if !g.oneIn(4) {
			pod.Status.NominatedNodeName = node
		}
		c.nominated[node] = append(c.nominated[node], pod)
	}
	if g.oneIn(3) {
		name, pods := pick(g, c.pods...).Name, schema.GroupResource{Resource: "pods"}
		c.fault = preemptionFault{
			verb: pick(g, "patch", "delete"), pod: name,
			err: pick(g, error(apierrors.NewForbidden(pods, name, nil)), error(apierrors.NewNotFound(pods, name))),
		}
	}
	c.objects = g.owners()
	c.pod = g.preemptionPod("preemptor")
	c.pod.Spec.Priority = ptr.To(pick[int32](g, 0, 10, 10, 1000))
	c.pod.Spec.PreemptionPolicy = pick(g, nil, nil, nil, ptr.To(v1.PreemptLowerPriority), ptr.To(v1.PreemptNever))
	if g.oneIn(4) {
		c.pod.Status.NominatedNodeName = pick(g, "gone", pick(g, c.nodes...).Name)
	}
	return c
}

// preemptionNode returns a node that is full with a few pods, and seldom rejects them for other reasons.
func (g *generator) preemptionNode(i int) *v1.Node {
	node := g.node(i)
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU:  resource.MustParse(pick(g, "2", "3", "4", "6")),
		v1.ResourcePods: resource.MustParse(pick(g, "3", "5", "110")),
	}
	if !g.oneIn(4) {
		node.Spec.Taints, node.Spec.Unschedulable = nil, false
	}
	return node
}

// preemptionPod returns a pod without a node, gates or volumes, that asks mostly for CPUs.
func (g *generator) preemptionPod(name string) *v1.Pod {
	pod := g.pod(name)
	pod.Spec.NodeName, pod.Spec.SchedulingGates, pod.Spec.Volumes, pod.Spec.InitContainers = "", nil, nil, nil
	pod.Spec.Resources, pod.Spec.Overhead = nil, nil
	pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(pick(g, "0", "500m", "1", "2"))},
	}}}
	if g.oneIn(4) {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{g.port()}
	}
	if !g.oneIn(3) {
		pod.Spec.Affinity, pod.Spec.NodeSelector, pod.Spec.TopologySpreadConstraints = nil, nil, nil
	}
	pod.Spec.Priority = pick(g, nil, ptr.To[int32](-5), ptr.To[int32](0), ptr.To[int32](5), ptr.To[int32](10))
	return pod
}

// preemptionOutcome is what a preemption came to, the times of conditions aside.
type preemptionOutcome struct {
	Status, Nomination string
	// Requests are those that change something, sorted.
	Requests  []string
	Events    []string
	Activated []string
	// Held tells whether the pod was held back before and after the eviction.
	Held [2]bool
}

// preemptor is what the two frameworks have in common to preempt with.
type preemptor interface {
	fwk.Handle
	RunPreFilterPlugins(context.Context, fwk.CycleState, *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string])
	RunPostFilterPlugins(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status)
}

// preemptionSide is one project's framework and plugins over a cluster.
type preemptionSide struct {
	preemptor
	state  fwk.CycleState
	gate   fwk.PreEnqueuePlugin
	client *fake.Clientset
	log    *preemptionLog
}

// preempt runs a whole preemption, from Filter to the end of the evictions.
func (s *preemptionSide) preempt(t *testing.T, c preemptionCase) preemptionOutcome {
	t.Helper()
	ctx := klog.NewContext(t.Context(), klog.Logger{})
	statuses := framework.NewDefaultNodeToStatus()
	narrowed, status, _ := s.RunPreFilterPlugins(ctx, s.state, c.pod)
	if status.IsError() {
		t.Fatal(status.AsError())
	}
	if !status.IsSuccess() {
		statuses.SetAbsentNodesStatus(status)
		c.nodes = nil
	}
	for _, node := range c.nodes {
		if narrowed.AllNodes() || narrowed.NodeNames.Has(node.Name) {
			info, err := s.SnapshotSharedLister().NodeInfos().Get(node.Name)
			if err != nil {
				t.Fatal(err)
			}
			statuses.Set(node.Name, s.RunFilterPluginsWithNominatedPods(ctx, s.state, c.pod, info))
		}
	}
	var outcome preemptionOutcome
	result, status := s.RunPostFilterPlugins(ctx, s.state, c.pod, statuses)
	outcome.Status = fmt.Sprintf("%v %s", status.Code(), status.Message())
	if result != nil && result.NominatingInfo != nil {
		outcome.Nomination = fmt.Sprintf("%d %q", result.NominatingMode, result.NominatedNodeName)
	}
	outcome.Held[0] = !s.gate.PreEnqueue(ctx, c.pod).IsSuccess()
	close(s.log.held)
	synctest.Wait()
	outcome.Held[1] = !s.gate.PreEnqueue(ctx, c.pod).IsSuccess()
	outcome.Requests = requests(s.client)
	outcome.Events, outcome.Activated = s.log.events, s.log.activated
	slices.Sort(outcome.Events)
	return outcome
}

// newPreemptionSide prepares what both sides need.
func newPreemptionSide(t *testing.T, c preemptionCase) (*preemptionSide, informers.SharedInformerFactory) {
	t.Helper()
	s := &preemptionSide{client: fake.NewClientset(), log: &preemptionLog{nominated: c.nominated, held: make(chan struct{})}}
	factory, err := filled(s.client, c.objects)
	if err != nil {
		t.Fatal(err)
	}
	pods := append(slices.Clone(c.pods), c.pod)
	for _, pod := range pods {
		if err := factory.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	for _, nominated := range c.nominated {
		pods = append(pods, nominated...)
	}
	for _, pod := range pods {
		if err := s.client.Tracker().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	for _, budget := range c.budgets {
		if err := factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(budget); err != nil {
			t.Fatal(err)
		}
	}
	// Requests wait until the pod was asked about at the gate.
	s.client.PrependReactor("*", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		<-s.log.held
		if named, ok := action.(interface{ GetName() string }); ok && action.GetVerb() == c.fault.verb && named.GetName() == c.fault.pod {
			return true, nil, c.fault.err
		}
		return false, nil, nil
	})
	return s, factory
}

func preemptionPlugins() []string {
	return []string{
		"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
		preemptionPlugin,
	}
}

func oursPreempting(t *testing.T, c preemptionCase) *preemptionSide {
	t.Helper()
	s, factory := newPreemptionSide(t, c)
	own := profiles.DefaultProfile("default-scheduler")
	own.PluginConfig = nil
	own.Plugins = configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: profile{}.withRest()}}
	for _, name := range preemptionPlugins() {
		own.Plugins.MultiPoint.Enabled = append(own.Plugins.MultiPoint.Enabled, configv1.Plugin{Name: name})
		if args := profiles.DefaultArgs(name); args != nil {
			own.PluginConfig = append(own.PluginConfig, profiles.PluginConfig{Name: name, Args: args})
		}
	}
	f, err := runtime.NewFramework(t.Context(), ourFactories(), own, runtime.Options{
		ClientSet: s.client, InformerFactory: factory, Snapshot: cache.NewSnapshot(c.pods, c.nodes), Parallelism: 1,
		DRAManager: noDevices{}, EventRecorder: s.log, Nominator: s.log, Activator: s.log, PodGroupManager: cache.NoPodGroups{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.preemptor, s.state, s.gate = f, framework.NewCycleState(), f.Plugin(preemptionPlugin).(fwk.PreEnqueuePlugin)
	return s
}

func theirsPreempting(t *testing.T, c preemptionCase) *preemptionSide {
	t.Helper()
	s, factory := newPreemptionSide(t, c)
	snapshot, err := theirSnapshot(c.cluster)
	if err != nil {
		t.Fatal(err)
	}
	instances := map[string]fwk.Plugin{}
	registry := upstreamruntime.Registry{}
	for name, factory := range theirFactories() {
		registry[name] = capture(instances, name, factory)
	}
	own := &upstreamconfig.KubeSchedulerProfile{SchedulerName: "default-scheduler", Plugins: &upstreamconfig.Plugins{}}
	for _, name := range append([]string{"PrioritySort", "DefaultBinder"}, preemptionPlugins()...) {
		own.Plugins.MultiPoint.Enabled = append(own.Plugins.MultiPoint.Enabled, upstreamconfig.Plugin{Name: name})
		if args := profiles.DefaultArgs(name); args != nil {
			own.PluginConfig = append(own.PluginConfig, upstreamconfig.PluginConfig{Name: name, Args: args})
		}
	}
	f, err := upstreamruntime.NewFramework(t.Context(), registry, own,
		upstreamruntime.WithClientSet(s.client),
		upstreamruntime.WithInformerFactory(factory),
		upstreamruntime.WithSnapshotSharedLister(snapshot),
		upstreamruntime.WithMutableSnapshotLister(snapshot),
		upstreamruntime.WithParallelism(1),
		upstreamruntime.WithSharedDRAManager(noDevices{}),
		upstreamruntime.WithEventRecorder(s.log),
		upstreamruntime.WithPodNominator(s.log),
		upstreamruntime.WithPodActivator(s.log),
		upstreamruntime.WithWaitingPods(upstreamruntime.NewWaitingPodsMap()),
		upstreamruntime.WithPodsInPreBind(upstreamruntime.NewPodsInPreBindMap()),
		upstreamruntime.WithPodGroupManager(cache.NoPodGroups{}),
	)
	if err != nil {
		t.Fatal(err)
	}
	s.preemptor, s.state, s.gate = f, upstream.NewCycleState(), instances[preemptionPlugin].(fwk.PreEnqueuePlugin)
	return s
}

// preemptionLog is what a preemption does besides requests.
type preemptionLog struct {
	fwk.PodNominator
	nominated map[string][]*v1.Pod
	held      chan struct{} // is closed when requests may begin

	mu                sync.Mutex
	events, activated []string
}

func (l *preemptionLog) NominatedPodsForNode(node string) []fwk.PodInfo {
	var infos []fwk.PodInfo
	for _, pod := range l.nominated[node] {
		info, _ := framework.NewPodInfo(pod)
		infos = append(infos, info)
	}
	return infos
}

func (l *preemptionLog) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, pod := range pods {
		l.activated = append(l.activated, klog.KObj(pod).String())
	}
}

func (l *preemptionLog) Eventf(regarding, related apiruntime.Object, kind, reason, action, note string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, fmt.Sprintf("%s by %s: %s %s %s ", regarding.(metav1.Object).GetName(), related.(metav1.Object).GetName(), kind, reason, action)+
		fmt.Sprintf(note, args...))
}

func (l *preemptionLog) WithLogger(klog.Logger) events.EventRecorderLogger { return l }

// requests returns the changes that a client asked for, in no particular order of pods.
func requests(client *fake.Clientset) []string {
	var all []string
	for _, action := range client.Actions() {
		switch action := action.(type) {
		case clienttesting.PatchAction:
			all = append(all, fmt.Sprintf("%s patch %s %s", action.GetName(), action.GetSubresource(), action.GetPatch()))
		case clienttesting.DeleteAction:
			options := action.(clienttesting.DeleteActionImpl).DeleteOptions
			all = append(all, fmt.Sprintf("%s delete %+v", action.GetName(), options))
		default:
			all = append(all, fmt.Sprintf("%s %s", action.GetVerb(), action.GetSubresource()))
		}
	}
	slices.Sort(all)
	return all
}

// TestPreemption compares whole preemptions: who is evicted where, what pods and users are told, and what is written.
// Times don't move, so that even the times of conditions are the same.
func TestPreemption(t *testing.T) {
	settings := readSettings(t)
	counts := counter{}
	// One of the handlers sleeps between two errors, by a clock that is not that of the test.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	defer func() { utilruntime.ErrorHandlers = handlers }()
	klog.SetLogger(klog.Logger{})
	defer klog.ClearLogger()
	for i := range settings.rounds {
		seed := settings.seed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			c := newGenerator(seed).preemptionCase()
			their, our := theirsPreempting(t, c).preempt(t, c), oursPreempting(t, c).preempt(t, c)
			if apierrors.IsNotFound(c.fault.err) {
				their.Activated, our.Activated = nil, nil // differs on purpose, if that is the last victim
			}
			if diff := cmp.Diff(their, our); diff != "" {
				p := map[string]any{"budgets": c.budgets, "nominated": c.nominated}
				t.Errorf("SEED=%d N=1: preemptions differ (-kube-scheduler +rouse):\n%s\n%s\n%v", seed, diff, caseText(c.cluster, profile{}, c.pod), p)
			}
			counts.add(map[string]int{"preemption": 1, "request of a preemption": len(our.Requests), "event of a preemption": len(our.Events),
				"activation by a preemption": len(our.Activated)})
		})
		if t.Failed() {
			break
		}
	}
	counts.report(t)
	if counts["event of a preemption"] < settings.rounds/10 {
		t.Errorf("only %d evictions in %d rounds: the test shows little", counts["event of a preemption"], settings.rounds)
	}
}
