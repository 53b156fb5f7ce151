// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// fixture is a queue on a virtual clock, with the default profile unless a test says otherwise.
type fixture struct {
	*Queue
	t     *testing.T
	clock *testingclock.FakePassiveClock
	seen  *tally
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, options Options) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: testingclock.NewFakePassiveClock(start), seen: newTally()}
	options.Clock, options.Observer = f.clock, f.seen
	if options.Profiles == nil {
		options.Profiles = map[string]Profile{"default-scheduler": {}}
	}
	queue, err := New(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	f.Queue = queue
	return f
}

// withPlugins is the options of a queue whose profile has some plugins.
func withPlugins(plugins ...*testPlugin) Options {
	profile := Profile{Events: framework.EventMap{}, Registrations: map[string][]fwk.ClusterEventWithHint{}}
	for _, plugin := range plugins {
		for _, registration := range plugin.registrations {
			profile.Events.Register(plugin.name, registration.Event)
		}
		profile.Registrations[plugin.name] = plugin.registrations
		if plugin.preEnqueue != nil {
			profile.PreEnqueue = append(profile.PreEnqueue, plugin)
		}
	}
	return Options{Profiles: map[string]Profile{"default-scheduler": profile}}
}

// testPlugin is a plugin with registered events and perhaps a PreEnqueue.
type testPlugin struct {
	name            string
	registrations   []fwk.ClusterEventWithHint
	preEnqueue      func(*v1.Pod) *fwk.Status
	preEnqueueCalls int
}

func (p *testPlugin) Name() string { return p.name }

func (p *testPlugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	p.preEnqueueCalls++
	return p.preEnqueue(pod)
}

// plugin returns a plugin that registers one event with a hint, which may be nil.
func plugin(name string, event fwk.ClusterEvent, hint fwk.QueueingHintFn) *testPlugin {
	return &testPlugin{name: name, registrations: []fwk.ClusterEventWithHint{{Event: event, QueueingHintFn: hint}}}
}

func answering(answer fwk.QueueingHint, err error) fwk.QueueingHintFn {
	return func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return answer, err }
}

var (
	nodeAdded   = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	nodeLabel   = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}
	targetLabel = fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel}
	volumeAdded = fwk.ClusterEvent{Resource: fwk.PersistentVolume, ActionType: fwk.Add}
	node        = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
)

func (f *fixture) step(duration time.Duration) { f.clock.SetTime(f.clock.Now().Add(duration)) }

// pop pops one pod of a name.
func (f *fixture) pop(name string) *framework.QueuedPodInfo {
	f.t.Helper()
	info := f.TryPop()
	if info == nil || info.Pod.Name != name {
		f.t.Fatalf("popped %v, want %s", info, name)
	}
	return info
}

func (f *fixture) popsNothing() {
	f.t.Helper()
	if info := f.TryPop(); info != nil {
		f.t.Fatalf("popped %s, want nothing", info.Pod.Name)
	}
}

// popOrder pops everything.
func (f *fixture) popOrder() []string {
	var names []string
	for info := f.TryPop(); info != nil; info = f.TryPop() {
		names = append(names, info.Pod.Name)
	}
	return names
}

// pending returns the names of the queued pods, by pool and arrival there.
func (f *fixture) pending() []string {
	pods, _ := f.PendingPods()
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = pod.Name
	}
	return names
}

// giveBack gives back a popped pod, rejected by plugins; those whose names begin with an asterisk are pending.
func (f *fixture) giveBack(info *framework.QueuedPodInfo, rejectors ...string) {
	f.t.Helper()
	info.UnschedulablePlugins, info.PendingPlugins = sets.New[string](), sets.New[string]()
	for _, rejector := range rejectors {
		if name, pending := strings.CutPrefix(rejector, "*"); pending {
			info.PendingPlugins.Insert(name)
		} else {
			info.UnschedulablePlugins.Insert(name)
		}
	}
	if err := f.AddUnschedulable(info); err != nil {
		f.t.Fatal(err)
	}
}

// park adds a pod that waits for an event, rejected by plugins.
func (f *fixture) park(pod *v1.Pod, rejectors ...string) {
	f.t.Helper()
	f.Add(pod)
	f.giveBack(f.pop(pod.Name), rejectors...)
}

// parkReady adds a pod that waits for an event and has its backoff behind it.
func (f *fixture) parkReady(pod *v1.Pod, rejectors ...string) {
	f.t.Helper()
	f.park(pod, rejectors...)
	f.step(defaultMaxBackoff + 2*time.Second)
}

func (f *fixture) pool(name string) Pool {
	status, _ := f.Lookup("default", name)
	return status.Pool
}

func (f *fixture) wantPool(name string, want Pool) {
	f.t.Helper()
	checkIntegrity(f.t, f.Queue)
	if got := f.pool(name); got != want {
		f.t.Errorf("pod %s is in pool %q, want %q", name, got, want)
	}
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, difference)
	}
}

// PreEnqueue.

func rejection() *fwk.Status { return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "shut") }

// rejectingWhile returns a plugin that gates pods while a condition holds, and waits for an event.
func rejectingWhile(name string, rejects *bool, event fwk.ClusterEvent) *testPlugin {
	gating := plugin(name, event, nil)
	gating.preEnqueue = func(*v1.Pod) *fwk.Status {
		if *rejects {
			return rejection()
		}
		return nil
	}
	return gating
}

func infoAt(timestamp time.Time) *framework.QueuedPodInfo {
	return framework.NewQueuedPodInfo(objects.Pod("pod").Build(), timestamp)
}

// nextFlush returns the first instant at which one of the two flushes has something to do; false if neither will unless
// something else happens first.
func (q *Queue) nextFlush() (time.Time, bool) {
	backoff, _ := q.NextBackoffFlush()
	unschedulable, _ := q.NextUnschedulableFlush()
	next := earliest(backoff, unschedulable)
	return next, !next.IsZero()
}
