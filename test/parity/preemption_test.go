// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// preemptionOutcome is what a preemption came to, the times of conditions aside.
type preemptionOutcome struct {
	Status, Nomination string
	// Requests are those that change something, sorted.
	Requests  []string
	Events    []string
	Activated []string
	// Held reports whether the pod was held back before and after the eviction.
	Held [2]bool
}

// preemptionSide is one project's framework and plugins over a cluster.
type preemptionSide struct {
	runner
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
	if status.IsError() {
		outcome.Status = status.Code().String() // how errors are worded is not compared
	}
	if result != nil && result.NominatingInfo != nil {
		outcome.Nomination = fmt.Sprintf("%d %q", result.NominatingMode, result.NominatedNodeName)
	}
	outcome.Held[0] = !s.gate.PreEnqueue(ctx, c.pod).IsSuccess()
	close(s.log.held)
	synctest.Wait()
	outcome.Held[1] = !s.gate.PreEnqueue(ctx, c.pod).IsSuccess()
	outcome.Requests = requests(s.client.Actions())
	outcome.Events, outcome.Activated = s.log.events, s.log.activated
	slices.Sort(outcome.Events)
	return outcome
}

// newPreemptionSide prepares what both sides need.
func newPreemptionSide(t *testing.T, c preemptionCase) (*preemptionSide, world) {
	t.Helper()
	s := &preemptionSide{client: fake.NewClientset(), log: &preemptionLog{nominated: c.nominated, held: make(chan struct{})}}
	factory, err := newWorld(s.client, c.objects)
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
		"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
		"VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", preemptionPlugin, "NodeDeclaredFeatures",
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
		Clients:     runtime.Clients{ClientSet: s.client, InformerFactory: factory},
		Managers:    runtime.Managers{DRA: noDevices{}, CSI: kubescheduler.NewCSIManager(factory), PodGroup: cache.NoPodGroups{}},
		Recorder:    func(string) events.EventRecorderLogger { return s.log },
		Snapshot:    cache.NewSnapshot(c.pods, c.nodes),
		Nominator:   s.log,
		Activator:   s.log,
		Parallelism: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.runner, s.state, s.gate = f, framework.NewCycleState(), f.Plugin(preemptionPlugin).(fwk.PreEnqueuePlugin)
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
		upstreamruntime.WithSharedCSIManager(kubescheduler.NewCSIManager(factory)),
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
	s.runner, s.state, s.gate = f, upstream.NewCycleState(), instances[preemptionPlugin].(fwk.PreEnqueuePlugin)
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

// comparePreemptions compares whole preemptions: who is evicted where, what pods and users are told, and what is written.
// Times don't move, so that even the times of conditions are the same.
func (m *machine) comparePreemptions(r round) {
	synctest.Test(r.T, func(t *testing.T) {
		c := newGenerator(r.seed).preemptionCase()
		our, diff := comparePreemption(t, c)
		if diff != "" {
			c = shrink(c, smallerPreemptions, func(c preemptionCase) bool { _, diff := comparePreemption(t, c); return diff != "" })
			_, diff = comparePreemption(t, c)
			t.Fatalf("SEED=%d N=1: preemptions differ (-kube-scheduler +rouse):\n%s\n%s", r.seed, diff, c.text())
		}
		m.add(counts{{"preemption", ""}: 1, {"preemption: request", ""}: len(our.Requests), {"preemption: victim", ""}: len(our.Events)})
	})
}

func comparePreemption(t *testing.T, c preemptionCase) (our preemptionOutcome, diff string) {
	their, our := theirsPreempting(t, c).preempt(t, c), oursPreempting(t, c).preempt(t, c)
	if our.Held[0] {
		// On purpose: what would have woken the pod while it was held back is made up for at the end.
		their.Activated = []string{c.pod.Namespace + "/" + c.pod.Name}
	}
	if apierrors.IsNotFound(c.fault.err) {
		their.Activated, our.Activated = nil, nil // differs on purpose, if that is the last victim
	}
	return our, cmp.Diff(their, our)
}

// smallerPreemptions yields cases without some of their pods, nodes and budgets, and with simpler ones.
func smallerPreemptions(c preemptionCase) iter.Seq[preemptionCase] {
	return func(yield func(preemptionCase) bool) {
		_ = each(without(c.pods), yield, func(l []*v1.Pod) preemptionCase { s := c; s.pods = l; return s }) &&
			each(without(c.nodes), yield, func(l []*v1.Node) preemptionCase { s := c; s.nodes = l; return s }) &&
			each(without(c.objects), yield, func(l []apiruntime.Object) preemptionCase { s := c; s.objects = l; return s }) &&
			each(without(c.budgets), yield, func(l []*policyv1.PodDisruptionBudget) preemptionCase { s := c; s.budgets = l; return s }) &&
			each(without(slices.Sorted(maps.Keys(c.nominated))), yield, c.withNominatedOn) &&
			each(simplerOf(c.pods), yield, func(l []*v1.Pod) preemptionCase { s := c; s.pods = l; return s }) &&
			each(simplerOf([]*v1.Pod{c.pod}), yield, func(l []*v1.Pod) preemptionCase { s := c; s.pod = l[0]; return s }) &&
			each(simplerOf(c.nodes), yield, func(l []*v1.Node) preemptionCase { s := c; s.nodes = l; return s })
	}
}

func (c preemptionCase) withNominatedOn(nodes []string) preemptionCase {
	all := c.nominated
	c.nominated = map[string][]*v1.Pod{}
	for _, node := range nodes {
		c.nominated[node] = all[node]
	}
	return c
}

func (c preemptionCase) text() string {
	text, err := yaml.Marshal(map[string]any{
		"nodes": c.nodes, "placed": c.pods, "pod": c.pod, "objects": c.objects, "budgets": c.budgets, "nominated": c.nominated,
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
