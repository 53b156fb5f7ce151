// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// popped is what a Pop in the background returned.
type popped struct {
	name string
	err  error
}

func (f *fixture) popInBackground() <-chan popped {
	result := make(chan popped, 1)
	go func() {
		info, err := f.Pop()
		if err != nil {
			result <- popped{err: err}
			return
		}
		result <- popped{name: info.Pod.Name}
	}()
	return result
}

func TestPopWaitsAndWakes(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		wake    func(f *fixture)
		want    string
	}{
		{"new pod", Options{}, func(f *fixture) { f.Add(objects.Pod("pod").Build()) }, "pod"},
		{"backoff completed", Options{DisablePopFromBackoff: true}, func(f *fixture) {
			f.step(time.Minute)
			f.FlushBackoff()
		}, "error"},
		{"event", Options{}, func(f *fixture) {
			f.step(time.Minute)
			f.Move(nodeAdded, nil, node, nil)
		}, "parked"},
		{"event, though the pod backs off", Options{}, func(f *fixture) { f.Move(nodeAdded, nil, node, nil) }, "parked"},
		{"activation", Options{}, func(f *fixture) { f.Activate(klog.Logger{}, map[string]*v1.Pod{"": objects.Pod("error").Build()}) }, "error"},
		{"unschedulable timeout", Options{}, func(f *fixture) {
			f.step(time.Hour)
			f.FlushUnschedulable()
		}, "parked"},
		{"update", Options{}, func(f *fixture) {
			f.Update(objects.Pod("parked").Build(), objects.Pod("parked").Label("a", "b").Build())
		}, "parked"},
		{"close", Options{}, func(f *fixture) { f.Close() }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waiting := plugin("P", nodeAdded, nil)
				waiting.registrations = append(waiting.registrations, fwk.ClusterEventWithHint{Event: targetLabel})
				test.options.Profiles = withPlugins(waiting).Profiles
				f := newFixture(t, test.options)
				f.Add(objects.Pod("error").Build())
				f.giveBack(f.pop("error"))
				f.park(objects.Pod("parked").Build(), "P")

				result := f.popInBackground()
				synctest.Wait()
				if len(result) > 0 {
					t.Fatalf("popped %v before anything happened", <-result)
				}
				test.wake(f)
				synctest.Wait()
				if len(result) == 0 {
					t.Fatal("still waiting")
				}
				got := <-result
				if test.want == "" && !errors.Is(got.err, ErrClosed) || test.want != got.name {
					t.Errorf("popped %v, want %q", got, test.want)
				}
			})
		})
	}
}

func TestPopSeesTheBestOfAllPodsThatOneEventWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
		for value := range int32(20) {
			f.parkReady(objects.Pod(string('a'+rune(value))).Priority(value).Build(), "P")
		}
		result := f.popInBackground()
		synctest.Wait()
		f.Move(nodeAdded, nil, node, nil)
		synctest.Wait()
		wantEqual(t, "popped", (<-result).name, "t")
	})
}

func TestPopDoesNotWaitForHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
			<-release
			return fwk.Queue, nil
		}
		f := newFixture(t, withPlugins(plugin("P", nodeAdded, slow)))
		f.park(objects.Pod("parked").Build(), "P")
		f.Add(objects.Pod("active").Build())
		go f.Move(nodeAdded, nil, node, nil)
		synctest.Wait()
		info := f.pop("active")
		f.Done(info.Pod.UID)
		close(release)
		synctest.Wait()
		f.wantPool("parked", PoolBackoff)
	})
}

func TestClose(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.Add(objects.Pod("in flight").Build())
	f.pop("in flight")
	f.Move(nodeAdded, nil, node, nil)
	f.Add(objects.Pod("left").Build())
	f.Close()
	f.Close()
	wantEqual(t, "in flight", f.Stats().InFlight, 0)
	wantEqual(t, "events observed in flight", f.seen.flyingSeen, 0)
	if info, err := f.Pop(); err != nil || info.Pod.Name != "left" {
		t.Errorf("popped %v, %v, want the pod that is left", info, err)
	}
	if _, err := f.Pop(); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	f.Done("default/in flight")
	f.Done("default/left")
	wantEqual(t, "in flight", f.Stats().InFlight, 0)
}
