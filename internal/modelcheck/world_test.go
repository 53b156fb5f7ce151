// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	rouseruntime "github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// world is a cluster and a scheduler, in one goroutine and the coroutines that it resumes.
type world struct {
	instance *instance
	// ctx has the logger.
	ctx       context.Context
	clock     *clocktesting.FakeClock
	scheduler *scheduler.Scheduler
	queue     queueState

	// The API server.
	pods    map[string]*v1.Pod
	nodes   map[string]*v1.Node
	version int
	created map[string]int // how many pods had the name
	// epoch is how often the world was used. It is part of UIDs, so that the scheduler never sees one twice, and not of digests.
	epoch     int
	described map[any]string

	podKind, nodeKind *kind

	// left is how often each change of the instance can still happen; fails and loses are how many API calls can still fail, or
	// lose their response.
	left         []int
	fails, loses int

	tasks []*task
	// running is the task that is running now; nil while none is.
	running          *task
	pauseAfterLookup bool
	attempts         map[types.UID]*attempt
	// problems are violations that were seen while something ran.
	problems []string
}

// task is something that runs concurrently with everything else: a scheduling cycle, a binding cycle or an eviction.
type task struct {
	name string
	pod  types.UID // that it is for
	body func()    // until it began
	// at is where it paused; locals is what it remembers, as far as it matters.
	at, locals string
	// steps counts the places where the task can pause that it has passed.
	steps   int
	attempt *attempt // nil for evictions
	next    func() (string, bool)
	stop    func()
	yield   func(string) bool
	outcome outcome
}

// outcome is what becomes of the API call that a task is about to make.
type outcome string

const (
	works outcome = ""
	fails outcome = "fails"
	lost  outcome = "response lost"
)

// attempt is the way of one pod from being popped to being given back, or bound.
type attempt struct {
	// eventsCount is set as long as a plugin can reject the pod, so that events need to be kept.
	eventsCount bool
	// tasks is how many tasks it has, which overlap when one starts another; permit is set while the pod waits for permission.
	// Answered is set once a Permit plugin has allowed or refused it.
	tasks            int
	permit, answered bool
}

func newWorld(in *instance) *world {
	w := &world{
		instance: in, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		pods: map[string]*v1.Pod{}, nodes: map[string]*v1.Node{}, attempts: map[types.UID]*attempt{}, described: map[any]string{},
	}
	logger := klog.New(logSink{w: w})
	w.ctx = klog.NewContext(context.Background(), logger)
	w.podKind, w.nodeKind = newKind(w, "pods", in.lag == handlersLag), newKind(w, "nodes", in.lag == handlersLag)
	api := &client{w: w}
	factory := informers.NewSharedInformerFactory(api, 0)
	shared := func(k *kind) func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer {
		return func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return k }
	}
	factory.InformerFor(&v1.Pod{}, shared(w.podKind))
	factory.InformerFor(&v1.Node{}, shared(w.nodeKind))
	options := scheduler.Options{
		Client: api, Informers: factory, Configuration: in.configuration(), Registry: in.registry(&checkerPlugin{w: w}),
		Execution: rouseruntime.Execution{Clock: w.clock, Exhaustive: true, Go: w.start, Wait: doNotWait},
		Observers: scheduler.Observers{Scheduler: observer{w: w}, Queue: queueObserver{w: w}},
		Timeouts:  scheduler.Timeouts{Unschedulable: neverFlushed, Scheduling: -1},
		Logger:    logger,
	}
	var err error
	if w.scheduler, err = scheduler.New(w.ctx, options); err != nil {
		panic(fmt.Sprintf("building the scheduler of instance %s: %v", in.name, err))
	}
	w.queue = newQueueState(w.scheduler.Queue(), in.eventLog)
	w.begin()
	return w
}

// begin creates what there is at first, and has the scheduler know it.
func (w *world) begin() {
	in := w.instance
	w.epoch++
	w.created, w.left, w.fails, w.loses, w.problems = map[string]int{}, nil, in.fails, in.loses, nil
	clear(w.described)
	for _, change := range in.changes {
		w.left = append(w.left, max(1, change.times))
	}
	for _, node := range in.nodes {
		w.setNode(node.Name, node)
	}
	for _, pod := range in.pods {
		w.createPod(pod)
	}
	w.deliverAll()
	if in.settled {
		for by := 0; by >= 0; {
			by, _ = w.settleStep(true)
		}
	}
}

func (w *world) deliverAll() {
	for len(w.podKind.pending)+len(w.nodeKind.pending) > 0 {
		for _, k := range []*kind{w.nodeKind, w.podKind} {
			if len(k.pending) > 0 {
				k.deliver()
			}
		}
	}
}

// reuse brings the world back to where it began, which takes a fraction of what a new one does. It reports false if the
// scheduler did not get rid of everything, so that the world can't be used again.
func (w *world) reuse() bool {
	if w.epoch == maxEpochs {
		return false
	}
	w.fails, w.loses = 0, 0
	for round := 0; len(w.tasks)+len(w.attempts)+len(w.pods)+len(w.nodes)+len(w.podKind.pending)+len(w.nodeKind.pending) > 0; round++ {
		if round == 20 {
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(w.pods)) {
			w.setPod(name, nil)
		}
		for uid, a := range w.attempts {
			if waiting := w.waitingPod(uid); a.permit && waiting != nil {
				waiting.Reject("Checker", "the end")
			}
		}
		for _, t := range w.tasks {
			w.resume(t)
		}
		w.deliverAll()
		if round > 1 {
			for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
				w.setNode(name, nil)
			}
		}
	}
	_, flights, length := w.queue.eventLog()
	_, nodeOf := w.queue.nominations()
	if len(w.queue.queued())+len(flights)+length+len(nodeOf)+len(w.scheduler.Cache().Dump().Nodes) > 0 {
		return false
	}
	w.clock.SetTime(w.clock.Now().Truncate(time.Second).Add(5 * time.Second))
	w.begin()
	return true
}

// maxEpochs is how often a world is used.
const maxEpochs = 2000

// neverFlushed is an unschedulable timeout that no run reaches.
const neverFlushed = 10000 * time.Hour

func doNotWait(context.Context, time.Duration, <-chan struct{}) error { return nil }

// The API server.

func (w *world) nextVersion() string {
	w.version++
	return strconv.Itoa(w.version)
}

// setPod stores a version of a pod, nil if it is gone, and announces it.
func (w *world) setPod(name string, pod *v1.Pod) {
	old := w.pods[name]
	if pod == nil {
		delete(w.pods, name)
	} else {
		pod.ResourceVersion = w.nextVersion()
		w.pods[name] = pod
	}
	w.podKind.changed(name, object(old), object(pod))
}

func (w *world) setNode(name string, node *v1.Node) {
	old := w.nodes[name]
	if node == nil {
		delete(w.nodes, name)
	} else {
		node = node.DeepCopy()
		node.ResourceVersion = w.nextVersion()
		w.nodes[name] = node
	}
	w.nodeKind.changed(name, object(old), object(node))
}

// object returns an interface that is nil if the pointer is.
func object[T any, P interface {
	*T
	apiruntime.Object
}](p P) apiruntime.Object {
	if p == nil {
		return nil
	}
	return p
}

func (w *world) createPod(template *v1.Pod) {
	pod := template.DeepCopy()
	w.created[pod.Name]++
	pod.UID = types.UID(fmt.Sprintf("%s#%d%s", pod.Name, w.created[pod.Name], w.epochMark()))
	w.setPod(pod.Name, pod)
}

// deletePod deletes a pod: one with a node, or with a finalizer, only begins to terminate.
func (w *world) deletePod(name string) {
	pod := w.pods[name]
	if pod.Spec.NodeName == "" && len(pod.Finalizers) == 0 {
		w.setPod(name, nil)
		return
	}
	if pod.DeletionTimestamp == nil {
		terminating := pod.DeepCopy()
		terminating.DeletionTimestamp = &terminating.CreationTimestamp
		w.setPod(name, terminating)
	}
}

// epochMark is what ends the UIDs of an epoch.
func (w *world) epochMark() string { return "@" + strconv.Itoa(w.epoch) }

// Tasks.

// start is Execution.Go: the task is there, and runs when its step comes.
func (w *world) start(body func()) {
	t := &task{body: body, at: "begin"}
	switch function := runtime.FuncForPC(reflect.ValueOf(body).Pointer()).Name(); {
	case strings.Contains(function, ").startTask."):
		t.name, t.pod, t.locals = "evict for ", w.running.pod, w.running.locals
	case strings.Contains(function, ").startBinding."):
		t.name, t.pod = "finish binding ", w.decided()
		w.attempts[t.pod].permit = false
		w.join(t, w.attempts[t.pod])
	default:
		t.name, t.pod = "bind ", w.running.pod
		w.join(t, w.running.attempt)
	}
	t.name += string(t.pod)
	w.tasks = append(w.tasks, t)
}

// decided returns the pod that no longer waits for permission although its attempt does.
func (w *world) decided() types.UID {
	for uid, a := range w.attempts {
		if a.permit && w.waitingPod(uid) == nil {
			return uid
		}
	}
	panic("a decision about no pod")
}

// cycle adds the task of a scheduling cycle.
func (w *world) cycle() *task {
	t := &task{name: "cycle", at: "begin", body: func() { w.scheduler.TryScheduleOne(w.ctx) }}
	w.tasks = append(w.tasks, t)
	return t
}

// popped notes that the running cycle has its pod.
func (w *world) popped(pod *v1.Pod) {
	t := w.running
	if t == nil || t.name != "cycle" {
		w.problem("S2: pod %s was popped outside of a scheduling cycle", pod.UID)
		return
	}
	t.name, t.pod = "cycle "+string(pod.UID), pod.UID
	if w.attempts[pod.UID] != nil {
		w.problem("S2: pod %s was popped while an attempt of it goes on", pod.UID)
	}
	w.attempts[pod.UID] = &attempt{eventsCount: true}
	w.join(t, w.attempts[pod.UID])
}

// resume runs a task up to its next pause, or to its end.
func (w *world) resume(t *task) {
	if t.next == nil {
		t.next, t.stop = iter.Pull(func(yield func(string) bool) {
			t.yield = yield
			t.body()
		})
	}
	w.running = t
	at, paused := t.next()
	w.running, t.outcome = nil, works
	if t.at = at; paused {
		return
	}
	t.stop = nil
	w.tasks = slices.DeleteFunc(slices.Clone(w.tasks), func(other *task) bool { return other == t })
	if a := t.attempt; a != nil {
		if a.tasks--; a.tasks == 0 && !a.permit {
			w.end(t)
		}
	}
}

// join makes a task one of an attempt.
func (w *world) join(t *task, a *attempt) {
	t.attempt = a
	a.tasks++
}

// end notes that the attempt of a task is over.
func (w *world) end(t *task) {
	if w.attempts[t.pod] == t.attempt {
		delete(w.attempts, t.pod)
	}
}

// pause lets other steps happen before the running task goes on, and returns how the API call goes that it is about to make.
func (w *world) pause(at string) outcome {
	t := w.running
	if t == nil {
		return works
	}
	t.steps++
	switch {
	case t.attempt == nil: // an eviction
	case at == "prebind" || at == "bind" || at == "unreserve" && !t.inCycle():
		t.attempt.eventsCount = false
	case at == "patch" && strings.Contains(t.locals, "failed:"):
		w.end(t)
	}
	if !slices.Contains(w.instance.pauses, at) {
		return works
	}
	t.yield(at)
	w.running = t
	return t.outcome
}

// remember adds to what distinguishes the running task from others at the same place.
func (w *world) remember(format string, args ...any) {
	if w.running != nil {
		w.running.locals += fmt.Sprintf(format, args...)
	}
}

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}
