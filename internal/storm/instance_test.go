// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/informer"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// neverFlush is how long pods wait for an event until they are tried without one.
const neverFlush = 1e6 * time.Hour

// instance is one scheduler, from its beginning to its end.
type instance struct {
	*world
	*scheduler.Scheduler
	number    int
	ctx       context.Context
	cancel    context.CancelFunc
	informers [kinds]*informer.Informer
	// seen is the number of the next change that the informer of a kind has not seen.
	seen    [kinds]int
	threads []*thread // that have not come to their end
	cycle   *thread   // the scheduling cycle, one of them; nil if there is none
	ended   bool
	plugin  *plugin
	// built are plugins that only answer questions, about what lister shows; nil until the first.
	built  runtime.Profiles
	lister *asked
	bookkeeping
}

// newInstance starts a scheduler with the objects as they were some changes ago.
func (w *world) newInstance(old [kinds]int) *instance {
	w.instanceCount++
	in := &instance{world: w, number: w.instanceCount, bookkeeping: newBookkeeping()}
	in.ctx, in.cancel = context.WithCancel(klog.NewContext(w.ctx, klog.Logger{}))
	factory := in.newInformers()
	in.plugin = &plugin{in: in, owed: map[types.UID]*v1.Pod{}}
	registry := plugins.NewInTreeRegistry()
	if err := registry.Register(pluginName, in.newPlugin); err != nil {
		panic(err)
	}
	configuration := profiles.Default()
	configuration.Parallelism = 1
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	*enabled = append(*enabled, configv1.Plugin{Name: pluginName})
	var err error
	in.Scheduler, err = scheduler.New(in.ctx, scheduler.Options{
		Configuration: configuration,
		Registry:      registry,
		Client:        client{in: in},
		Informers:     factory,
		Execution: runtime.Execution{
			Clock: w.clock,
			Seed:  w.seed,
			Go:    func(task func()) { in.start("task", task) },
			Wait:  in.wait,
		},
		Observers: scheduler.Observers{Scheduler: &observer{in: in}},
		Timeouts:  scheduler.Timeouts{Unschedulable: neverFlush},
	})
	if err != nil {
		panic(fmt.Sprintf("building a scheduler: %v", err))
	}
	for _, k := range []kind{nodes, pods, budgets} {
		changes := min(old[k], len(w.api.log[k]))
		in.seen[k] = w.api.end(k) - changes
		was := w.api.before(k, changes)
		for _, key := range slices.Sorted(maps.Keys(was)) {
			in.informers[k].Deliver(key, was[key])
		}
	}
	return in
}

// newInformers returns a factory of informers that hear of nothing but what steps deliver.
func (in *instance) newInformers() informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	in.informers = [kinds]*informer.Informer{pods: informer.New(unfinished), nodes: informer.New(nil), budgets: informer.New(nil)}
	empty := func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return informer.New(nil) }
	namespaces := informer.New(nil)
	namespaces.Deliver("default", &v1.Namespace{ObjectMeta: named("", "default")})
	factory.InformerFor(&v1.Namespace{}, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return namespaces })
	for k, o := range map[kind]apiruntime.Object{pods: &v1.Pod{}, nodes: &v1.Node{}, budgets: &policyv1.PodDisruptionBudget{}} {
		factory.InformerFor(o, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return in.informers[k] })
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if o, err := scheme.Scheme.New(gvk); err == nil {
			if _, isObject := o.(object); isObject {
				factory.InformerFor(o, empty)
			}
		}
	}
	return factory
}

func unfinished(o apiruntime.Object) bool {
	pod := o.(*v1.Pod)
	return pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}

// start adds a thread. It does not run yet.
func (in *instance) start(name string, do func()) *thread {
	if in.ended {
		return nil
	}
	t := &thread{name: name, do: do}
	in.threads = append(in.threads, t)
	return t
}

// goOn resumes a thread.
func (in *instance) goOn(t *thread) {
	in.resume(t)
	if t.done {
		in.threads = slices.DeleteFunc(in.threads, func(other *thread) bool { return other == t })
		if in.cycle == t {
			in.cycle = nil
		}
	}
}

// schedule begins a scheduling cycle, and returns false if one is going on or there is no pod to be tried.
func (in *instance) schedule() bool {
	if in.cycle != nil {
		return false
	}
	found := false
	in.cycle = in.start("scheduling cycle", func() { found = in.TryScheduleOne(in.ctx) })
	in.goOn(in.cycle)
	return found || in.cycle != nil
}

// wait is how in-tree plugins wait inside of an extension point.
func (in *instance) wait(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	end := in.clock.Now().Add(d)
	for in.clock.Now().Before(end) {
		select {
		case <-early:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if !in.pause("waiting in a plugin") {
			return context.Canceled
		}
	}
	return nil
}

// pending returns how many changes of a kind the informer has not seen.
func (in *instance) pending(k kind) int { return in.api.end(k) - in.seen[k] }

// deliver hands the next change of a kind to the informer.
func (in *instance) deliver(k kind) bool {
	if in.pending(k) == 0 {
		return false
	}
	c := in.api.log[k][in.seen[k]-in.api.first[k]]
	in.seen[k]++
	var o apiruntime.Object
	if c.current != nil {
		o = c.current
	}
	in.informers[k].Deliver(c.key, o)
	return true
}

// relist drops the changes that the informer has not seen, and has it find out from a list what is different.
func (in *instance) relist(k kind) bool {
	if in.pending(k) == 0 {
		return false
	}
	in.seen[k] = in.api.end(k)
	known := in.informers[k].Known()
	for _, key := range known.ListKeys() {
		if o := in.api.objects[k][key]; o == nil || in.informers[k].Shown(o) == nil {
			in.informers[k].Lose(key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in.api.objects[k])) {
		old, _, _ := known.GetByKey(key)
		if o := in.api.objects[k][key]; old != any(o) {
			in.informers[k].Deliver(key, o)
		}
	}
	return true
}

// deliverAll hands over everything that happened.
func (in *instance) deliverAll() (any bool) {
	for _, k := range []kind{nodes, budgets, pods} {
		for in.deliver(k) {
			any = true
		}
	}
	return any
}

// end ends the scheduler, at once.
func (in *instance) end() {
	in.ended = true
	in.cancel()
	in.Queue().Close()
	for _, t := range slices.Clone(in.threads) {
		in.kill(t)
	}
	in.threads, in.cycle = nil, nil
	if err := errors.Join(in.Close(), in.built.Close()); err != nil {
		in.violate("close", "closing plugins: %v", err)
	}
}

// flush moves on the pods whose backoff is over.
func (in *instance) flush() bool {
	at, found := in.Queue().NextBackoffFlush()
	if !found || at.After(in.clock.Now()) {
		return false
	}
	in.Queue().FlushBackoff()
	return true
}

// profile returns the framework of the only profile.
func (in *instance) profile() *runtime.Framework { return in.Profiles()[v1.DefaultSchedulerName] }

// waiting returns the pods that wait for permission.
func (in *instance) waiting() (list []fwk.WaitingPod) {
	in.profile().IterateOverWaitingPods(func(pod fwk.WaitingPod) { list = append(list, pod) })
	return list
}
