// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// script writes down what an observer sees.
type script struct{ lines []string }

func (s *script) PodMoved(move PodMove) {
	line := fmt.Sprintf("%s: %s -> %s by %s %s", move.Pod.Pod.Name, move.From, move.To, move.Cause, move.Strategy)
	if move.Plugin != "" {
		line += " of " + move.Plugin
	}
	if move.NewRejector != "" {
		line += ", now rejected by " + move.NewRejector
	}
	s.lines = append(s.lines, line)
}

func (s *script) HintEvaluated(result HintResult) {
	line := fmt.Sprintf("%s/%s on %s: %s", result.Profile, result.Plugin, result.Event, result.Hint)
	if result.Err != nil {
		line += ", " + result.Err.Error()
	}
	for pod := range result.Pods {
		line += " " + pod.Name
	}
	s.lines = append(s.lines, line)
}

func (s *script) PreEnqueueRan(profile, rejector string, _ time.Duration) {
	line := profile + ": PreEnqueue accepts"
	if rejector != "" {
		line = fmt.Sprintf("%s: PreEnqueue of %s rejects", profile, rejector)
	}
	s.lines = append(s.lines, line)
}

func (s *script) EventNarrowed(plugin string, narrowed bool) {
	s.lines = append(s.lines, fmt.Sprintf("%s narrows: %v", plugin, narrowed))
}

func (s *script) InFlightEvents(event string, delta int) {
	s.lines = append(s.lines, fmt.Sprintf("%+d %s", delta, event))
}

func TestObserverSeesEveryChange(t *testing.T) {
	rejects := true
	skipping := plugin("Skips", nodeAdded, answering(fwk.QueueSkip, nil))
	failing := plugin("Fails", nodeAdded, answering(fwk.QueueSkip, errors.New("broken")))
	f := newFixture(t, withClasses(rejectingWhile("Gate", &rejects, volumeAdded), skipping, failing))
	seen := &script{}
	f.observe(seen)
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a gated pod is added", func() { f.Add(objects.Pod("pod").Label("shape", "round").Build()) },
			[]string{"default-scheduler: PreEnqueue of Gate rejects", "pod:  -> gated by UnscheduledPodAdd Immediately, now rejected by Gate"}},
		{"its plugin still rejects it", func() { f.Move(volumeAdded, nil, node, nil) },
			[]string{"default-scheduler/Gate on PersistentVolumeAdd: Queue pod", "default-scheduler: PreEnqueue of Gate rejects"}},
		{"its plugin lets it pass", func() { rejects = false; f.Move(volumeAdded, nil, node, nil) },
			[]string{"default-scheduler/Gate on PersistentVolumeAdd: Queue pod", "default-scheduler: PreEnqueue accepts", "pod: gated -> active by PersistentVolumeAdd AfterBackoff of Gate"}},
		{"it is popped, and something happens", func() { f.pop("pod"); f.Move(nodeAdded, nil, node, nil) },
			[]string{"+1 PodPopped", "pod: active -> inFlight by PodPopped Skip", "+1 NodeAdd"}},
		{"it is done", func() { f.Done("default/pod") }, []string{"-1 PodPopped", "-1 NodeAdd"}},
		{"two pods of a class wait", func() {
			f.park(objects.Pod("a").Label("shape", "round").Build(), "Skips")
			f.park(objects.Pod("b").Label("shape", "round").Build(), "Skips", "*Fails")
			seen.lines = nil
			f.Move(nodeAdded, nil, node, nil)
		}, []string{
			"default-scheduler/Fails on NodeAdd: Queue, broken b",
			"default-scheduler/Skips on NodeAdd: QueueSkip a b",
			"default-scheduler: PreEnqueue accepts",
			"b: unschedulable -> active by NodeAdd Immediately of Fails",
		}},
		{"a pod is popped early", func() {
			f.Delete(objects.Pod("a").Build())
			f.giveBack(f.pop("b"), "Fails")
			seen.lines = nil
			f.Move(nodeAdded, nil, node, nil)
			f.pop("b")
		}, []string{
			"default-scheduler/Fails on NodeAdd: Queue, broken b",
			"default-scheduler: PreEnqueue accepts",
			"b: unschedulable -> backoff by NodeAdd AfterBackoff of Fails",
			"b: backoff -> active by PopFromBackoffQ Skip",
			"+1 PodPopped",
			"b: active -> inFlight by PodPopped Skip",
		}},
	} {
		seen.lines = nil
		step.do()
		wantEqual(t, step.name, seen.lines, step.want)
	}
}

func TestGaugesComeDownAgain(t *testing.T) {
	rejects := true
	f := newFixture(t, withPlugins(rejectingWhile("Gate", &rejects, nodeAdded), plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("pod").Build())
	f.Move(nodeAdded, nil, node, nil) // gated again, but counted once
	wantEqual(t, "pods by rejector", f.seen.rejectors, map[string]int{"Gate": 1})
	wantEqual(t, "pods that came in", f.seen.incoming, map[string]int{"gated UnscheduledPodAdd": 1})
	rejects = false
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "pods by rejector, ungated", f.seen.rejectors, map[string]int{"Gate": 1})
	info := f.pop("pod")
	wantEqual(t, "pods by rejector, popped", f.seen.rejectors, map[string]int{"Gate": 0})
	f.giveBack(info, "P", "*Q")
	wantEqual(t, "pods by rejector, given back", f.seen.rejectors, map[string]int{"Gate": 0, "P": 1, "Q": 1})
	rejects = true
	f.step(time.Minute)
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "pods by rejector, gated", f.seen.rejectors, map[string]int{"Gate": 1, "P": 1, "Q": 1})
	f.Delete(objects.Pod("pod").Build())
	wantEqual(t, "pods by rejector, deleted", f.seen.rejectors, map[string]int{"Gate": 0, "P": 0, "Q": 0})
}

func TestHintDurationIsByTheClockOfTheQueue(t *testing.T) {
	var f *fixture
	f = newFixture(t, withPlugins(plugin("P", nodeAdded, func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
		f.step(time.Second)
		return fwk.Queue, nil
	})))
	f.park(objects.Pod("pod").Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "duration", f.seen.hints[0].Duration, time.Second)
}

func TestObserverIsToldWhatIsNarrowed(t *testing.T) {
	var answer fwk.PreQueueingHintResult
	var hintErr error
	narrowing := plugin("P", nodeAdded, answering(fwk.QueueSkip, nil))
	narrowing.registrations[0].PreQueueingHintFn = func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return answer, hintErr
	}
	f := newFixture(t, withPlugins(narrowing))
	f.park(objects.Pod("pod").Build(), "P")
	seen := &script{}
	f.observer = seen
	f.Move(nodeAdded, nil, node, nil)
	answer.AllPods = true
	f.Move(nodeAdded, nil, node, nil)
	answer, hintErr = fwk.PreQueueingHintResult{}, errors.New("broken")
	f.Move(nodeAdded, nil, node, nil)
	want := []string{
		"P narrows: true",
		"P narrows: false", "default-scheduler/P on NodeAdd: QueueSkip pod",
		"P narrows: false", "default-scheduler/P on NodeAdd: QueueSkip pod",
	}
	wantEqual(t, "seen", seen.lines, want)
}

func TestJoinObservers(t *testing.T) {
	if joined := JoinObservers(nil, nil); joined != nil {
		t.Errorf("joining nothing gives %v, want nil", joined)
	}
	one, other := &script{}, &script{}
	if joined := JoinObservers(nil, one); joined != Observer(one) {
		t.Errorf("joining one gives %v, want that one", joined)
	}
	joined := JoinObservers(one, NopQueueObserver{}, other)
	joined.PodMoved(PodMove{Pod: framework.NewQueuedPodInfo(objects.Pod("pod").Build(), start), To: PoolActive, Cause: CauseAdded})
	joined.HintEvaluated(HintResult{Profile: "default-scheduler", Plugin: "P", Event: "NodeAdd", Pods: slices.Values([]*v1.Pod{objects.Pod("pod").Build()})})
	joined.PreEnqueueRan("default-scheduler", "Gate", time.Second)
	joined.EventNarrowed("P", true)
	joined.InFlightEvents("NodeAdd", -1)
	wantEqual(t, "what both saw", one.lines, other.lines)
	if len(one.lines) != 5 {
		t.Errorf("the first saw %q, want five things", one.lines)
	}
}
