// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientfake "k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// A handle of a framework without options must not break a plugin that uses it.
func TestHandleWithoutOptions(t *testing.T) {
	var handle fwk.Handle = build(t, runtime.Options{}, nil)
	pod, logger := objects.Pod("p").Build(), klog.Logger{}
	handle.EventRecorder().WithLogger(logger).Eventf(pod, nil, v1.EventTypeNormal, "Reason", "Action", "note %d", 1)
	handle.AddNominatedPod(logger, podInfo(t, "p", 0), nil)
	handle.UpdateNominatedPod(logger, pod, podInfo(t, "p", 0))
	handle.DeleteNominatedPodIfExists(pod)
	handle.Activate(logger, map[string]*v1.Pod{"default/p": pod})
	if nominated := handle.NominatedPodsForNode("n"); len(nominated) != 0 {
		t.Errorf("nominated pods: %v", nominated)
	}
	for name, absent := range map[string]bool{
		"client":           handle.ClientSet() == nil,
		"kubeconfig":       handle.KubeConfig() == nil,
		"informers":        handle.SharedInformerFactory() == nil,
		"snapshot":         handle.SnapshotSharedLister() == nil,
		"mutable snapshot": handle.MutableSnapshotSharedLister() == nil,
		"DRA manager":      handle.SharedDRAManager() == nil,
		"CSI manager":      handle.SharedCSIManager() == nil,
		"group manager":    handle.PodGroupManager() == nil,
		"API dispatcher":   handle.APIDispatcher() == nil,
		"API cacher":       handle.APICacher() == nil,
		"extenders":        handle.Extenders() == nil,
	} {
		if !absent {
			t.Errorf("there is a %s", name)
		}
	}
	if handle.ProfileName() != "test-scheduler" {
		t.Errorf("the profile is called %q", handle.ProfileName())
	}
}

// queueLike writes down what the handle passes on to the scheduling queue.
type queueLike struct{ journal }

func (q *queueLike) AddNominatedPod(_ klog.Logger, pod fwk.PodInfo, info *fwk.NominatingInfo) {
	q.add("add " + pod.GetPod().Name + " " + info.NominatedNodeName)
}
func (q *queueLike) DeleteNominatedPodIfExists(pod *v1.Pod) { q.add("delete " + pod.Name) }
func (q *queueLike) UpdateNominatedPod(_ klog.Logger, oldPod *v1.Pod, newPod fwk.PodInfo) {
	q.add("update " + oldPod.Name + " " + newPod.GetPod().Name)
}
func (q *queueLike) NominatedPodsForNode(node string) []fwk.PodInfo {
	q.add("on " + node)
	return nil
}
func (q *queueLike) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	for name := range pods {
		q.add("activate " + name)
	}
}

func TestHandlePassesOnToTheQueue(t *testing.T) {
	pod, logger := objects.Pod("p").Build(), klog.Logger{}
	use := func(f fwk.Handle) {
		f.AddNominatedPod(logger, podInfo(t, "p", 0), &fwk.NominatingInfo{NominatedNodeName: "n"})
		f.UpdateNominatedPod(logger, pod, podInfo(t, "p2", 0))
		f.DeleteNominatedPodIfExists(pod)
		f.NominatedPodsForNode("n")
		f.Activate(logger, map[string]*v1.Pod{"default/p": pod})
	}
	want := []string{"add p n", "update p p2", "delete p", "on n", "activate default/p"}

	given := &queueLike{}
	use(build(t, runtime.Options{Nominator: given, Activator: given}, nil))
	if diff := cmp.Diff(want, given.list()); diff != "" {
		t.Errorf("given in the options (-want +got):\n%s", diff)
	}

	later := &queueLike{}
	f := build(t, runtime.Options{Nominator: later}, nil)
	f.SetActivator(later)
	use(f)
	if diff := cmp.Diff(want, later.list()); diff != "" {
		t.Errorf("set later (-want +got):\n%s", diff)
	}
}

// Factories get the framework's own handle, with the options in it.
func TestFactoriesGetTheHandle(t *testing.T) {
	client := clientfake.NewClientset()
	recorder := &events.FakeRecorder{}
	options := runtime.Options{
		Clients: runtime.Clients{
			ClientSet:       client,
			KubeConfig:      &restclient.Config{Host: "somewhere"},
			InformerFactory: informers.NewSharedInformerFactory(client, 0),
		},
		Recorder:  func(string) events.EventRecorderLogger { return recorder },
		Snapshot:  &snapshot{nodes: newNodes("n1")},
		Extenders: []fwk.Extender{extender{}},
	}
	var handle fwk.Handle
	registry := registryOf()
	registry["A"] = func(_ context.Context, _ apiruntime.Object, h fwk.Handle) (fwk.Plugin, error) {
		handle = h
		return filterOnly{"A"}, nil
	}
	f, err := runtime.NewFramework(t.Context(), registry, profileWith(func(p *configv1.Plugins) { p.Filter = enabled("A") }), options)
	if err != nil {
		t.Fatal(err)
	}
	if handle != fwk.Handle(f) {
		t.Error("the factory got another handle")
	}
	if handle.ClientSet() != client || handle.KubeConfig().Host != "somewhere" || handle.SharedInformerFactory() != options.Clients.InformerFactory ||
		handle.EventRecorder() != recorder || handle.SnapshotSharedLister() != options.Snapshot || len(handle.Extenders()) != 1 {
		t.Error("the handle does not give what the options have")
	}
}

// Plugins reach what the official handle lacks through the documented extension.
func TestExtendedHandle(t *testing.T) {
	var queued []func()
	timing := testclock.NewFakeClock(epoch())
	noTime := errors.New("no time passes")
	options := runtime.Options{
		Execution: runtime.Execution{
			Go:    func(task func()) { queued = append(queued, task) },
			Wait:  func(context.Context, time.Duration, <-chan struct{}) error { return noTime },
			Clock: timing,
			Seed:  7,

			Exhaustive: true,
		},
	}
	handle, ok := fwk.Handle(build(t, options, nil)).(framework.ExtendedHandle)
	if !ok {
		t.Fatal("the handle lacks a method")
	}
	if handle.Seed() != 7 || !handle.Exhaustive() || !handle.Clock().Now().Equal(timing.Now()) {
		t.Error("the handle does not give what the options have")
	}
	if err := handle.Wait(t.Context(), time.Hour, nil); err != noTime {
		t.Errorf("waiting gave %v, want the error of the options", err)
	}
	ran := false
	handle.Go(func() { ran = true })
	if len(queued) != 1 || ran {
		t.Fatalf("%d tasks queued, ran: %t; want one that did not run", len(queued), ran)
	}
	if queued[0](); !ran {
		t.Error("another task was queued")
	}

	byDefault := fwk.Handle(build(t, runtime.Options{}, nil)).(framework.ExtendedHandle)
	finished := make(chan struct{})
	byDefault.Go(func() { close(finished) })
	<-finished
	if byDefault.Clock() == nil || byDefault.Seed() != 0 || byDefault.Exhaustive() {
		t.Error("without options there is no real clock, or a seed")
	}
}

// Without the option, plugins wait by the clock, until something happens earlier or the context ends.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handle := fwk.Handle(build(t, runtime.Options{}, nil)).(framework.ExtendedHandle)
		check := func(ctx context.Context, early <-chan struct{}, want time.Duration, wantErr error) {
			t.Helper()
			start := time.Now()
			if err, took := handle.Wait(ctx, time.Minute, early), time.Since(start); err != wantErr || took != want {
				t.Errorf("got %v after %v, want %v after %v", err, took, wantErr, want)
			}
		}
		check(t.Context(), nil, time.Minute, nil)
		early := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(early) })
		check(t.Context(), early, time.Second, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		check(ctx, make(chan struct{}), 2*time.Second, context.DeadlineExceeded)
	})
}

func TestLess(t *testing.T) {
	f := build(t, runtime.Options{}, nil)
	high, low := framework.NewQueuedPodInfo(objects.Pod("high").Priority(2).Build(), epoch()), framework.NewQueuedPodInfo(objects.Pod("low").Priority(1).Build(), epoch())
	if less := f.Less(); !less(high, low) || less(low, high) {
		t.Error("the order is not that of the queue sort plugin")
	}
}

func TestPreEnqueuePlugins(t *testing.T) {
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreEnqueue = enabled("A", "B") },
		&fake{name: "A"}, returning("B", runtime.MethodPreEnqueue, fwk.UnschedulableAndUnresolvable, "gated"))
	got := map[string]result{}
	for _, plugin := range f.PreEnqueuePlugins() {
		got[plugin.Name()] = resultOf(plugin.PreEnqueue(t.Context(), objects.Pod("p").Build()))
	}
	want := map[string]result{"A": {}, "B": {Code: fwk.UnschedulableAndUnresolvable, Message: "gated"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// Only a verbose logger is worth the cost of naming it after every plugin.
func TestLoggersAreNamedWhenVerbose(t *testing.T) {
	for verbosity, want := range map[int]string{3: `"hello"`, 4: `"hello" logger="Filter.A"`} {
		log, logger := loggedAt(verbosity)
		plugin := &fake{name: "A", does: map[runtime.Method]func(context.Context){
			runtime.MethodFilter: func(ctx context.Context) { klog.FromContext(ctx).Info("hello") },
		}}
		f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
		f.RunFilterPlugins(klog.NewContext(t.Context(), logger), newState(), objects.Pod("p").Build(), newNode("n"))
		if entries := log.list(); len(entries) != 1 || !strings.HasSuffix(entries[0], want+"\n") {
			t.Errorf("verbosity %d: logged %q, want %q", verbosity, entries, want)
		}
	}
}

// mutableLister is a snapshot that changes can be tried on.
type mutableLister struct {
	fwk.SharedLister
	view fwk.MutableSnapshotSharedLister
}

func (m mutableLister) Mutable() fwk.MutableSnapshotSharedLister { return m.view }

type changeable struct {
	fwk.MutableSnapshotSharedLister
}

func TestHandleGivesTheMutableSnapshot(t *testing.T) {
	view := &changeable{}
	handle := build(t, runtime.Options{Snapshot: mutableLister{view: view}}, nil)
	if got := handle.MutableSnapshotSharedLister(); got != view {
		t.Errorf("got %v, want the view of the snapshot", got)
	}
}
