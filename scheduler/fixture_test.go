// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// fixture is a scheduler in one goroutine: its handlers are called by the test, its informers hold what the test puts
// into them, and binding tasks run when the test says so.
type fixture struct {
	*Scheduler
	t        *testing.T
	ctx      context.Context
	client   *fake.Clientset
	clock    *clocktesting.FakeClock
	recorder *events.FakeRecorder
	seen     *seen
	mu       sync.Mutex
	tasks    []func()
}

// seen is what the observer of a fixture was told.
type seen struct {
	NopObserver
	failures []Failure
	mistakes []runtime.PluginFailure
	bound    map[string]string
	// onFailure is called before a pod whose attempt failed goes back to the queue; may be nil.
	onFailure func(pod *v1.Pod)
}

func (s *seen) AttemptFailed(failure Failure) {
	s.failures = append(s.failures, failure)
	if s.onFailure != nil {
		s.onFailure(failure.Pod)
	}
}

func (s *seen) PluginFailed(failure runtime.PluginFailure) {
	s.mistakes = append(s.mistakes, failure)
}
func (s *seen) PodBound(binding Binding) { s.bound[binding.Pod.Name] = binding.Node }

// newFixture builds a scheduler with the default profile and extra plugins, each enabled at MultiPoint.
func newFixture(t *testing.T, extra ...fwk.Plugin) *fixture {
	t.Helper()
	return newFixtureWith(t, func(*Options) {}, extra...)
}

// newFixtureWith is newFixture with options that the test changes before they are used.
func newFixtureWith(t *testing.T, change func(*Options), extra ...fwk.Plugin) *fixture {
	t.Helper()
	f := &fixture{
		t:        t,
		ctx:      t.Context(),
		client:   fake.NewClientset(),
		clock:    clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		recorder: events.NewFakeRecorder(100),
		seen:     &seen{bound: map[string]string{}},
	}
	var options Options
	options.Registry, options.Configuration = f.with(extra...)
	change(&options)
	f.build(options)
	return f
}

// with returns the default profile with extra plugins, in one goroutine.
func (f *fixture) with(extra ...fwk.Plugin) (runtime.Registry, *profiles.Configuration) {
	f.t.Helper()
	registry := plugins.NewInTreeRegistry()
	configuration := profiles.Default()
	configuration.Parallelism = 1
	for _, plugin := range extra {
		err := registry.Register(plugin.Name(), func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
			return plugin, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
		multiPoint := &configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: plugin.Name()})
	}
	return registry, configuration
}

// bare leaves out the in-tree plugins, except for those that every profile needs.
func bare(options *Options) {
	inTree := sets.New[string]()
	for _, plugin := range profiles.DefaultPlugins() {
		inTree.Insert(plugin.Name)
	}
	inTree.Delete("PrioritySort", "DefaultBinder")
	for i := range options.Configuration.Profiles {
		multiPoint := &options.Configuration.Profiles[i].Plugins.MultiPoint
		multiPoint.Enabled = slices.DeleteFunc(multiPoint.Enabled, func(plugin configv1.Plugin) bool { return inTree.Has(plugin.Name) })
	}
}

func (f *fixture) build(options Options) {
	f.t.Helper()
	options.Client = f.client
	options.Informers = NewInformerFactory(f.client)
	options.Execution.Clock = f.clock
	options.Observers.Scheduler = f.seen
	options.Recorder = func(string) events.EventRecorderLogger { return f.recorder }
	options.Execution.Go = func(task func()) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tasks = append(f.tasks, task)
	}
	var err error
	if f.Scheduler, err = New(f.ctx, options); err != nil {
		f.t.Fatalf("building the scheduler: %v", err)
	}
}

// runTasks runs the binding tasks, and those that they start.
func (f *fixture) runTasks() {
	for {
		f.mu.Lock()
		tasks := f.tasks
		f.tasks = nil
		f.mu.Unlock()
		if len(tasks) == 0 {
			return
		}
		for _, task := range tasks {
			task()
		}
	}
}

// attempt runs one scheduling cycle and the binding that follows.
func (f *fixture) attempt() {
	f.t.Helper()
	if !f.TryScheduleOne(f.ctx) {
		f.t.Fatal("no pod is ready to be scheduled")
	}
	f.runTasks()
}

// know puts pods into the informer and the API without calling handlers.
func (f *fixture) know(pods ...*v1.Pod) {
	f.t.Helper()
	for _, pod := range pods {
		if err := f.options.Informers.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			f.t.Fatal(err)
		}
		if err := f.client.Tracker().Add(pod); err != nil {
			f.t.Fatal(err)
		}
	}
}

// add makes pods known and calls the handler.
func (f *fixture) add(pods ...*v1.Pod) {
	f.t.Helper()
	f.know(pods...)
	for _, pod := range pods {
		f.podAdded(pod)
	}
}

func (f *fixture) forget(pod *v1.Pod) {
	f.t.Helper()
	if err := f.options.Informers.Core().V1().Pods().Informer().GetIndexer().Delete(pod); err != nil {
		f.t.Fatal(err)
	}
}

// pool returns where a pod is in the queue.
func (f *fixture) pool(name string) queue.Pool {
	status, _ := f.Queue().Lookup("default", name)
	return status.Pool
}

func (f *fixture) wantPool(name string, want queue.Pool) {
	f.t.Helper()
	if got := f.pool(name); got != want {
		f.t.Errorf("pod %s is in pool %q, want %q", name, got, want)
	}
}

// cached returns the pods that the cache counts, as name@node, with a star behind those that are assumed.
func (f *fixture) cached() []string {
	var names []string
	for _, node := range f.Cache().Dump().Nodes {
		for _, pod := range node.Pods {
			star := ""
			if pod.Assumed {
				star = "*"
			}
			names = append(names, fmt.Sprintf("%s@%s%s", pod.Name, node.Name, star))
		}
	}
	slices.Sort(names)
	return names
}

// nodeAdded makes a node known and calls the handler.
func (f *fixture) nodeAdded(node *v1.Node) {
	f.t.Helper()
	if err := f.options.Informers.Core().V1().Nodes().Informer().GetIndexer().Add(node); err != nil {
		f.t.Fatal(err)
	}
	f.Scheduler.nodeAdded(node)
}

// addNodes adds nodes with four cores.
func (f *fixture) addNodes(names ...string) {
	for _, name := range names {
		f.nodeAdded(objects.Node(name).Capacity("cpu", "4", "memory", "8Gi").Build())
	}
}

// stored returns a pod as the API has it.
func (f *fixture) stored(name string) *v1.Pod {
	f.t.Helper()
	pod, err := f.client.CoreV1().Pods("default").Get(f.ctx, name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return pod
}

// rejectors returns the plugins for whose events a pod waits.
func (f *fixture) rejectors(name string) []string {
	status, _ := f.Queue().Lookup("default", name)
	return status.UnschedulablePlugins
}

func (f *fixture) profile() *runtime.Framework { return f.Profiles()["default-scheduler"] }

// writes returns the API calls that change something, as "verb resource/subresource".
func (f *fixture) writes() []string {
	var calls []string
	for _, action := range f.client.Actions() {
		switch action.GetVerb() {
		case "get", "list", "watch":
			continue
		}
		calls = append(calls, strings.TrimSuffix(action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/"))
	}
	return calls
}

// failBinding makes the API refuse to bind.
func (f *fixture) failBinding(err error) {
	f.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		return action.GetSubresource() == "binding", nil, err
	})
}

// event takes the next API event, empty if there is none.
func (f *fixture) event() string {
	select {
	case event := <-f.recorder.Events:
		return event
	default:
		return ""
	}
}

// scripted is a plugin whose methods do what a test says; those left nil succeed.
type scripted struct {
	name    string
	filter  func(*v1.Pod, fwk.NodeInfo) *fwk.Status
	pre     func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status)
	reserve func(*v1.Pod) *fwk.Status
	permit  func(*v1.Pod) (*fwk.Status, time.Duration)
	score   func(string) int64
	// unreserved counts the calls of Unreserve, by pod.
	unreserved map[string]int
	events     []fwk.ClusterEventWithHint
}

func (p *scripted) Name() string { return p.name }

func (p *scripted) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return p.events, nil
}

func (p *scripted) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if p.pre == nil {
		return nil, nil
	}
	return p.pre(pod)
}

func (p *scripted) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *scripted) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if p.filter == nil {
		return nil
	}
	return p.filter(pod, node)
}

func (p *scripted) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if p.score == nil {
		return 0, nil
	}
	return p.score(node.Node().Name), nil
}

func (p *scripted) ScoreExtensions() fwk.ScoreExtensions { return nil }

func (p *scripted) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if p.reserve == nil {
		return nil
	}
	return p.reserve(pod)
}

func (p *scripted) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	if p.unreserved == nil {
		p.unreserved = map[string]int{}
	}
	p.unreserved[pod.Name]++
}

func (p *scripted) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if p.permit == nil {
		return nil, 0
	}
	return p.permit(pod)
}

func onEvent(resource fwk.EventResource, action fwk.ActionType) fwk.ClusterEventWithHint {
	return fwk.ClusterEventWithHint{Event: fwk.ClusterEvent{Resource: resource, ActionType: action}}
}

func nodeNames(names ...string) *fwk.PreFilterResult {
	return &fwk.PreFilterResult{NodeNames: sets.New(names...)}
}

// cycleEnd is a plugin of the binding cycle whose methods do what a test says; those left nil succeed, but Bind leaves
// the pod to the next plugin.
type cycleEnd struct {
	name      string
	preFlight func(*v1.Pod) *fwk.Status
	preBind   func(context.Context, *v1.Pod) *fwk.Status
	bind      func(*v1.Pod) *fwk.Status
	postBind  func(fwk.CycleState, *v1.Pod)
}

func (p *cycleEnd) Name() string { return p.name }

func (p *cycleEnd) PreBindPreFlight(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if p.preFlight == nil {
		return nil, nil
	}
	return nil, p.preFlight(pod)
}

func (p *cycleEnd) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if p.preBind == nil {
		return nil
	}
	return p.preBind(ctx, pod)
}

func (p *cycleEnd) Bind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if p.bind == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	return p.bind(pod)
}

func (p *cycleEnd) PostBind(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	if p.postBind != nil {
		p.postBind(state, pod)
	}
}

// bindFirst puts the plugin before DefaultBinder.
func bindFirst(name string) func(*Options) {
	return func(options *Options) {
		bare(options)
		bind := &options.Configuration.Profiles[0].Plugins.Bind
		bind.Enabled = []configv1.Plugin{{Name: name}, {Name: "DefaultBinder"}}
	}
}

// skipped returns Skip for every pod.
func skipped(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Skip) }

// waits is a Permit method that makes every pod wait.
func waits(timeout time.Duration) func(*v1.Pod) (*fwk.Status, time.Duration) {
	return func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Wait), timeout }
}

// filters is a plugin that does nothing but filter.
type filters func(*v1.Pod, fwk.NodeInfo) *fwk.Status

func (filters) Name() string { return "Filters" }

func (p filters) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	return p(pod, node)
}

// makesRoom is a plugin that does nothing but PostFilter.
type makesRoom func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status)

func (makesRoom) Name() string { return "MakesRoom" }

func (p makesRoom) PostFilter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return p(statuses)
}

// nominate is a result of PostFilter; an empty name withdraws the nomination.
func nominate(node string) *fwk.PostFilterResult {
	return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}}
}
