// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"errors"
	goruntime "runtime"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// endingSorter ends its goroutine in some comparisons.
type endingSorter struct {
	*fake
	ends func() bool
}

func (s endingSorter) Less(a, b fwk.QueuedEntityInfo) bool {
	if s.ends() {
		goruntime.Goexit()
	}
	return a.GetPriority() > b.GetPriority()
}

// Comparisons that end the goroutine are false, and reported once; whoever compares goes on.
func TestWithLess(t *testing.T) {
	for endsAt := range 6 {
		calls, began, compared, ended := 0, 0, 0, 0
		plugin := endingSorter{&fake{name: "A"}, func() bool { calls++; return calls == endsAt }}
		options := runtime.Options{PluginFailed: func(failure runtime.PluginFailure) {
			if failure.Plugin == "A" && failure.Method == runtime.MethodLess && errors.Is(failure.Err, runtime.ErrGoroutineEnded) {
				ended++
			}
		}}
		f := build(t, options, func(p *configv1.Plugins) { p.QueueSort = enabled("A") }, plugin)
		low, high := newQueued("low", 1), []*framework.QueuedPodInfo{}
		for range 5 {
			high = append(high, newQueued("high", 2))
		}
		f.WithLess()(func(less fwk.LessFunc) {
			began++
			for ; compared < 5; compared++ {
				if want := compared+1 != endsAt; less(high[compared], low) != want {
					t.Errorf("comparison %d, where %d ends the goroutine, is %v", compared+1, endsAt, !want)
				}
			}
		})
		wantEnded := min(endsAt, 1)
		if compared != 5 || began != 1+wantEnded || ended != wantEnded {
			t.Errorf("comparison %d ends the goroutine: %d comparisons, begun %d times, %d reports", endsAt, compared, began, ended)
		}
	}
}

func newQueued(name string, priority int32) *framework.QueuedPodInfo {
	return framework.NewQueuedPodInfo(objects.Pod(name).Priority(priority).Build(), epoch())
}

// BenchmarkLess compares two pods with an out-of-tree queue sort plugin, once and, as the queue does for each pod, several times.
func BenchmarkLess(b *testing.B) {
	f := build(b, runtime.Options{}, func(p *configv1.Plugins) { p.QueueSort = enabled("A") }, &fake{name: "A"})
	high, low := newQueued("high", 2), newQueued("low", 1)
	b.Run("once", func(b *testing.B) {
		less := f.Less()
		b.ReportAllocs()
		for b.Loop() {
			less(high, low)
		}
	})
	b.Run("twenty times", func(b *testing.B) {
		withLess := f.WithLess()
		b.ReportAllocs()
		for b.Loop() {
			withLess(func(less fwk.LessFunc) {
				for range 20 {
					less(high, low)
				}
			})
		}
	})
}
