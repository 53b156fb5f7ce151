// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// forSizes runs a benchmark with several numbers of waiting pods.
func forSizes(b *testing.B, run func(b *testing.B, pods int)) {
	for _, pods := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) { run(b, pods) })
	}
}

// newBenchmark returns a queue without backoff in which pods wait, each with the rejector and shape that describe says.
func newBenchmark(b *testing.B, pods int, describe func(i int) (rejector, shape string), plugins ...*testPlugin) *Queue {
	b.Helper()
	options := withClasses(plugins...)
	options.MaxBackoff = -1
	q, err := New(context.Background(), options)
	if err != nil {
		b.Fatal(err)
	}
	for i := range pods {
		rejector, shape := describe(i)
		pod := objects.Pod(fmt.Sprint("pod", i)).Build()
		if shape != "" {
			pod.Labels = map[string]string{"shape": shape}
		}
		q.Add(pod)
		parkAgain(b, q, rejector)
	}
	return q
}

// parkAgain pops every pod and gives it back, rejected by a plugin.
func parkAgain(b *testing.B, q *Queue, rejector string) {
	for info := q.TryPop(); info != nil; info = q.TryPop() {
		info.UnschedulablePlugins.Clear()
		info.UnschedulablePlugins.Insert(rejector)
		if err := q.AddUnschedulable(info); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEventNotRegistered(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		q := newBenchmark(b, pods, func(int) (string, string) { return "P", "" }, plugin("P", nodeAdded, nil))
		b.ReportAllocs()
		for b.Loop() {
			q.Move(nodeLabel, node, node, nil)
		}
	})
}

func BenchmarkEventConcernsTenPods(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		rejector := func(i int) (string, string) {
			if i%(pods/10) == 0 {
				return "Concerned", ""
			}
			return "Others", ""
		}
		q := newBenchmark(b, pods, rejector, plugin("Concerned", nodeAdded, nil), plugin("Others", volumeAdded, nil))
		b.ReportAllocs()
		for b.Loop() {
			q.Move(nodeAdded, nil, node, nil)
			b.StopTimer()
			parkAgain(b, q, "Concerned")
			b.StartTimer()
		}
	})
}

func BenchmarkEventWithFiftyClassesWakesNoPod(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		shape := func(i int) (string, string) { return "P", fmt.Sprint(i % 50) }
		q := newBenchmark(b, pods, shape, plugin("P", nodeAdded, answering(fwk.QueueSkip, nil)))
		b.ReportAllocs()
		for b.Loop() {
			q.Move(nodeAdded, nil, node, nil)
		}
	})
}

func BenchmarkEventWithoutClassesWakesNoPod(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		q := newBenchmark(b, pods, func(int) (string, string) { return "P", "" }, plugin("P", nodeAdded, answering(fwk.QueueSkip, nil)))
		b.ReportAllocs()
		for b.Loop() {
			q.Move(nodeAdded, nil, node, nil)
		}
	})
}

func BenchmarkEventWakesAll(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		q := newBenchmark(b, pods, func(int) (string, string) { return "P", "round" }, plugin("P", nodeAdded, nil))
		b.ReportAllocs()
		for b.Loop() {
			q.Move(nodeAdded, nil, node, nil)
			b.StopTimer()
			parkAgain(b, q, "P")
			b.StartTimer()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pods), "ns/pod")
	})
}

// One turn of the scheduler with a pod that fits nowhere, while others wait.
func BenchmarkAttempt(b *testing.B) {
	forSizes(b, func(b *testing.B, pods int) {
		q := newBenchmark(b, pods, func(int) (string, string) { return "P", "round" }, plugin("P", nodeAdded, nil))
		next := map[string]*v1.Pod{"": objects.Pod("pod0").Build()}
		b.ReportAllocs()
		for b.Loop() {
			q.Activate(klog.Logger{}, next)
			parkAgain(b, q, "P")
		}
	})
}

func BenchmarkNominatedPodsForNode(b *testing.B) {
	n := NewNominator(nil)
	n.AddNominatedPod(klog.Logger{}, framework.NewQueuedPodInfo(objects.Pod("pod").Build(), start), override("other"))
	b.ReportAllocs()
	for b.Loop() {
		n.NominatedPodsForNode("node")
	}
}

// How long pods are waited for, at most, while an event wakes many others.
func BenchmarkPopWhileManyWake(b *testing.B) {
	const pods = 100_000
	q := newBenchmark(b, pods, func(int) (string, string) { return "P", "round" }, plugin("P", nodeAdded, nil))
	var waits []time.Duration
	for b.Loop() {
		var woken atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !woken.Load() {
				started := time.Now()
				info := q.TryPop()
				waits = append(waits, time.Since(started))
				if info != nil {
					q.Done(info.Pod.UID)
					defer q.Add(info.Pod)
				}
			}
		}()
		q.Move(nodeAdded, nil, node, nil)
		woken.Store(true)
		<-done
		b.StopTimer()
		parkAgain(b, q, "P")
		b.StartTimer()
	}
	slices.Sort(waits)
	for _, shown := range []struct {
		unit string
		of   float64
	}{{"median-ns", 0.5}, {"99.9%-ns", 0.999}, {"worst-ns", 1}} {
		b.ReportMetric(float64(waits[int(shown.of*float64(len(waits)-1))].Nanoseconds()), shown.unit)
	}
}
