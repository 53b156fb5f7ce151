// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// TestGaugesAgainstTheQueue does random things with a queue, and compares the gauges with what the queue says about itself.
func TestGaugesAgainstTheQueue(t *testing.T) {
	const seeds, operations = 12, 300
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			r := newRecount(t, seed)
			for range operations {
				done := r.step()
				if diff := cmp.Diff(r.truth(), r.shown()); diff != "" {
					t.Fatalf("after %s, the gauges (+) differ from the queue (-):\n%s", done, diff)
				}
			}
			r.queue.Close()
			if diff := cmp.Diff(r.truth(), r.shown()); diff != "" {
				t.Fatalf("after the end, the gauges (+) differ from the queue (-):\n%s", diff)
			}
		})
	}
}

// recount is a queue, its metrics, and what may happen to it.
type recount struct {
	*fixture
	random *rand.Rand
	clock  *testingclock.FakePassiveClock
	queue  *queue.Queue
	gate   *switchedGate
	flying []*framework.QueuedPodInfo
}

// switchedGate keeps out the pods of some names.
type switchedGate struct{ shut sets.Set[string] }

func (g *switchedGate) Name() string { return "Gate" }

func (g *switchedGate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if g.shut.Has(pod.Name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
	}
	return nil
}

var (
	nodeAdded  = fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	claimAdded = fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add}
)

func newRecount(t *testing.T, seed uint64) *recount {
	t.Helper()
	r := &recount{
		fixture: newFixture(t, metrics.Options{}),
		random:  rand.New(rand.NewPCG(seed, 0)),
		clock:   testingclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		gate:    &switchedGate{shut: sets.New[string]()},
	}
	sometimes := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
		return []fwk.QueueingHint{fwk.QueueSkip, fwk.Queue}[r.random.IntN(2)], nil
	}
	registrations := map[string][]fwk.ClusterEventWithHint{
		"P": {{Event: nodeAdded, QueueingHintFn: sometimes}}, "Q": {{Event: claimAdded}},
		"Gate": {{Event: nodeAdded}, {Event: fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update}}},
	}
	events := framework.EventMap{}
	for plugin, registered := range registrations {
		for _, registration := range registered {
			events.Register(plugin, registration.Event)
		}
	}
	var err error
	r.queue, err = queue.New(t.Context(), queue.Options{
		Clock: r.clock, Observer: r.Recorder, MaxInFlightEvents: 5,
		Profiles: map[string]queue.Profile{profile: {
			Events: events, Registrations: registrations, PreEnqueue: []fwk.PreEnqueuePlugin{r.gate},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// step does something, and says what.
func (r *recount) step() string {
	pod := r.pod()
	switch action := r.random.IntN(12); action {
	case 0, 1:
		r.queue.Add(pod)
		return "adding " + pod.Name
	case 2:
		newer := pod.DeepCopy()
		newer.Labels = map[string]string{"version": fmt.Sprint(r.random.IntN(100))}
		r.queue.Update(pod, newer)
		return "updating " + pod.Name
	case 3:
		r.queue.Delete(pod)
		return "deleting " + pod.Name
	case 4, 5:
		if info := r.queue.TryPop(); info != nil {
			r.flying = append(r.flying, info)
		}
		return "popping"
	case 6, 7:
		return r.giveBack()
	case 8:
		event := []fwk.ClusterEvent{nodeAdded, claimAdded}[r.random.IntN(2)]
		r.queue.Move(event, nil, pod, nil)
		return event.Label()
	case 9:
		if r.gate.shut.Has(pod.Name) {
			r.gate.shut.Delete(pod.Name)
		} else {
			r.gate.shut.Insert(pod.Name)
		}
		return "turning the gate of " + pod.Name
	case 10:
		r.queue.Activate(klog.Logger{}, map[string]*v1.Pod{"": pod})
		return "activating " + pod.Name
	}
	r.clock.SetTime(r.clock.Now().Add(time.Duration(r.random.IntN(200)) * time.Second))
	r.queue.FlushBackoff()
	r.queue.FlushUnschedulable()
	return "flushing"
}

func (r *recount) pod() *v1.Pod {
	return objects.Pod(fmt.Sprint("pod", r.random.IntN(6))).Build()
}

// giveBack ends the flight of a pod, with a failure as a rule.
func (r *recount) giveBack() string {
	if len(r.flying) == 0 {
		return "nothing"
	}
	i := r.random.IntN(len(r.flying))
	info := r.flying[i]
	r.flying = slices.Delete(r.flying, i, i+1)
	if r.random.IntN(4) == 0 {
		r.queue.Done(info.Pod.UID)
		return "being done with " + info.Pod.Name
	}
	pick := func() sets.Set[string] {
		picked := sets.New[string]()
		for _, plugin := range []string{"P", "Q", "Other"} {
			if r.random.IntN(3) == 0 {
				picked.Insert(plugin)
			}
		}
		return picked
	}
	info.UnschedulablePlugins, info.PendingPlugins = pick(), pick()
	info.GatingPlugin, info.GatingPluginEvents = "", nil
	if err := r.queue.AddUnschedulable(info); err != nil {
		return "giving back in vain " + info.Pod.Name
	}
	return "giving back " + info.Pod.Name
}

// truth is what the gauges should show, without those that should show zero.
func (r *recount) truth() map[string]int {
	stats := r.queue.Stats()
	truth := map[string]int{
		"pending active": stats.Active, "pending backoff": stats.Backoff,
		"pending unschedulable": stats.Unschedulable, "pending gated": stats.Gated,
		"entities active pod": stats.Active, "entities backoff pod": stats.Backoff,
		"entities unschedulable pod": stats.Unschedulable, "entities gated pod": stats.Gated,
		"in flight": stats.InFlight, "events": stats.InFlightEvents,
	}
	pods, _ := r.queue.PendingPods()
	for _, pod := range pods {
		status, _ := r.queue.Lookup(pod.Namespace, pod.Name)
		for plugin := range sets.New(status.UnschedulablePlugins...).Insert(status.PendingPlugins...) {
			truth["rejected "+plugin+" "+profile]++
		}
	}
	maps.DeleteFunc(truth, func(_ string, count int) bool { return count == 0 })
	return truth
}

// shown is what the gauges show, likewise.
func (r *recount) shown() map[string]int {
	r.t.Helper()
	all, shown := r.all(), map[string]int{}
	add := func(what, metric string) {
		for _, line := range all[metric] {
			series, value, _ := strings.Cut(line, ": ")
			var count int
			if _, err := fmt.Sscan(value, &count); err != nil {
				r.t.Fatalf("%s: %q is no number", metric, value)
			}
			switch {
			case what != "events":
				shown[what+" "+series] += count
			case series == queue.CausePopped:
				shown["in flight"] += count
			default:
				shown["events"] += count
			}
		}
	}
	add("pending", "pending_pods")
	add("entities", "queued_entities")
	add("rejected", "unschedulable_pods")
	add("events", "inflight_events")
	maps.DeleteFunc(shown, func(_ string, count int) bool { return count == 0 })
	return shown
}
