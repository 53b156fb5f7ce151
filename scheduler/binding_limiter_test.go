// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &bindingLimiter{limit: 3}
		var running, most, done atomic.Int32
		for range 10 {
			s.start(func() {
				now := running.Add(1)
				most.Store(max(most.Load(), now))
				time.Sleep(time.Second)
				running.Add(-1)
				done.Add(1)
			})
		}
		began := time.Now()
		time.Sleep(3500 * time.Millisecond)
		if got := done.Load(); got != 9 {
			t.Errorf("%d tasks are done after %v, want 9", got, time.Since(began))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if done.Load() != 10 || most.Load() != 3 || s.running != 0 || len(s.waiting) > 0 {
			t.Errorf("%d done, %d at a time, %d run, %d wait; want 10, 3, none, none", done.Load(), most.Load(), s.running, len(s.waiting))
		}
	})
}

func TestSlotsKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &bindingLimiter{limit: 1}
		var order journal
		for i := range 4 {
			s.start(func() { order.write(fmt.Sprint(i)) })
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"0", "1", "2", "3"}, order.entries); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestSlotsAreLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &bindingLimiter{limit: 1}
		var happened journal
		proceed := make(chan struct{})
		s.start(func() {
			s.yield(func() { <-proceed })
			happened.write("first")
			time.Sleep(time.Second)
		})
		s.start(func() {
			happened.write("second")
			time.Sleep(2 * time.Second)
		})
		s.start(func() { happened.write("third") })
		time.Sleep(time.Second)
		close(proceed) // two tasks run now, so one gives up its place
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]string{"second", "first", "third"}, happened.entries); diff != "" {
			t.Errorf("what happened (-want +got):\n%s", diff)
		}
		if s.running != 0 {
			t.Errorf("%d slots are in use, want none", s.running)
		}
	})
}

// slow is a plugin that binds slowly, or is slow before; it counts how many pods are in it.
type slow struct {
	name         string
	inBind       bool
	mu           sync.Mutex
	inside, most int
}

func (p *slow) Name() string { return p.name }

func (p *slow) stay() {
	p.mu.Lock()
	p.inside++
	p.most = max(p.most, p.inside)
	p.mu.Unlock()
	time.Sleep(time.Minute)
	p.mu.Lock()
	p.inside--
	p.mu.Unlock()
}

func (p *slow) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if p.inBind {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

func (p *slow) PreBind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	p.stay()
	return nil
}

func (p *slow) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	if p.inBind {
		p.stay()
	}
	return nil
}

// Pods are bound by a limited number at a time, which must not hold up the choice of nodes, nor be used up by pods that
// wait for their volumes.
func TestBindingsAreLimited(t *testing.T) {
	const limit, pods = 3, 10
	for name, most := range map[string]int{"Bind": limit, "PreBind": pods} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plugin := &slow{name: "Slow", inBind: name == "Bind"}
				f := &fixture{t: t}
				var options Options
				options.Registry, options.Configuration = f.with(plugin)
				bare(&options)
				options.Configuration.Profiles[0].Plugins.Bind.Enabled = []configv1.Plugin{{Name: "Slow"}, {Name: "DefaultBinder"}}
				node := objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build()
				client := fake.NewClientset(node)
				for i := range pods {
					if err := client.Tracker().Add(objects.Pod(fmt.Sprint("pod-", i)).Requests("cpu", "1m").Build()); err != nil {
						t.Fatal(err)
					}
				}
				options.Client, options.Informers = client, NewInformerFactory(client)
				s, err := New(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				s.bindingLimiter.limit = limit
				stop := start(t, s, options)
				time.Sleep(30 * time.Second)
				if got := s.Cache().Counts().AssumedPods; got != pods {
					t.Errorf("%d pods have a node after half a minute, want all %d", got, pods)
				}
				time.Sleep(10 * time.Minute)
				stop()
				if plugin.most != most || plugin.inside != 0 {
					t.Errorf("%d pods were in the plugin at a time, %d still are; want %d, none", plugin.most, plugin.inside, most)
				}
			})
		})
	}
}
