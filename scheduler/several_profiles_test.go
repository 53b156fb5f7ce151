// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// withProfiles gives the configuration of a fixture more profiles, each like the first.
func withProfiles(names ...string) func(*Options) {
	return func(options *Options) {
		bare(options)
		for _, name := range names {
			profile := options.Configuration.Profiles[0]
			profile.SchedulerName = name
			profile.Plugins = *profile.Plugins.DeepCopy()
			options.Configuration.Profiles = append(options.Configuration.Profiles, profile)
		}
	}
}

func TestPodsGoToTheirProfiles(t *testing.T) {
	only := func(node string) fwk.Plugin {
		return &scripted{name: "Only-" + node, filter: func(_ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
			if info.Node().Name != node {
				return fwk.NewStatus(fwk.Unschedulable, "not here")
			}
			return nil
		}}
	}
	f := newFixtureWith(t, func(options *Options) {
		withProfiles("second")(options)
		for i, remove := range []string{"Only-n2", "Only-n1"} {
			multiPoint := &options.Configuration.Profiles[i].Plugins.MultiPoint
			multiPoint.Enabled = slices.DeleteFunc(multiPoint.Enabled, func(p configv1.Plugin) bool { return p.Name == remove })
		}
	}, only("n1"), only("n2"))
	f.addNodes("n1", "n2", "n3")
	f.add(objects.Pod("a").Requests("cpu", "1").Build(), objects.Pod("b").Requests("cpu", "1").SchedulerName("second").Build(), objects.Pod("c").Requests("cpu", "1").SchedulerName("third").Build())
	f.attempt()
	f.attempt()
	if f.TryScheduleOne(f.ctx) {
		t.Error("a pod of another scheduler was tried")
	}
	if diff := cmp.Diff(map[string]string{"a": "n1", "b": "n2"}, f.seen.bound); diff != "" {
		t.Errorf("bound (-want +got):\n%s", diff)
	}
}

func TestRejectedPodsWaitForTheEventsOfTheirProfile(t *testing.T) {
	f := newFixtureWith(t, func(options *Options) {
		withProfiles("second")(options)
		second := &options.Configuration.Profiles[1].Plugins.MultiPoint
		second.Enabled = slices.DeleteFunc(second.Enabled, func(p configv1.Plugin) bool { return p.Name == "Adds" })
		first := &options.Configuration.Profiles[0].Plugins.MultiPoint
		first.Enabled = slices.DeleteFunc(first.Enabled, func(p configv1.Plugin) bool { return p.Name == "Deletes" })
	},
		&scripted{name: "Adds", filter: full, events: []fwk.ClusterEventWithHint{onEvent(fwk.Node, fwk.Add)}},
		&scripted{name: "Deletes", filter: full, events: []fwk.ClusterEventWithHint{onEvent(fwk.Node, fwk.Delete)}})
	f.addNodes("n1")
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	f.park(objects.Pod("b").Requests("cpu", "1").SchedulerName("second").Build())
	f.addNodes("n2")
	f.wantPool("a", queue.PoolBackoff)
	f.wantPool("b", queue.PoolUnschedulable)
	f.nodeDeleted(objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build())
	f.wantPool("b", queue.PoolBackoff)
}

func full(*v1.Pod, fwk.NodeInfo) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "full") }

func TestWaitingPodsAreSeenByAllProfiles(t *testing.T) {
	f := newFixtureWith(t, withProfiles("second"), &scripted{name: "Gate", permit: waits(time.Hour)})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	waiting := f.Profiles()["second"].GetWaitingPod("default/a")
	if waiting == nil {
		t.Fatal("the other profile does not see the pod")
	}
	waiting.Allow("Gate")
	f.runTasks()
	if got := f.seen.bound["a"]; got != "n1" {
		t.Errorf("bound to %q, want n1", got)
	}
}

func TestProfilesThatDoNotGoTogether(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{
			name:   "none",
			change: func(options *Options) { options.Configuration.Profiles = nil },
			want:   "initializing profiles: at least one profile is required",
		},
		{
			name:   "two of a name",
			change: withProfiles("default-scheduler"),
			want:   `duplicate profile with scheduler name "default-scheduler"`,
		},
		{
			name: "with different orders of the queue",
			change: func(options *Options) {
				withProfiles("second")(options)
				second := &options.Configuration.Profiles[1].Plugins
				second.QueueSort = configv1.PluginSet{
					Enabled:  []configv1.Plugin{{Name: "Random"}},
					Disabled: []configv1.Plugin{{Name: "*"}},
				}
				err := options.Registry.Register("Random", func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
					return randomOrder{}, nil
				})
				if err != nil {
					panic(err)
				}
			},
			want: "queue sort",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fixture{t: t}
			client := fake.NewClientset()
			options := Options{Client: client, Informers: NewInformerFactory(client)}
			options.Registry, options.Configuration = f.with()
			test.change(&options)
			if _, err := New(t.Context(), options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// randomOrder is another queue sort plugin.
type randomOrder struct{}

func (randomOrder) Name() string { return "Random" }

func (randomOrder) Less(fwk.QueuedEntityInfo, fwk.QueuedEntityInfo) bool { return false }

// Two schedulers in one process, on one cluster, must neither share state nor touch each other's pods.
func TestTwoSchedulersIgnoreEachOthersPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
		bindInTracker(client)
		var mu sync.Mutex
		bound := map[string][]string{}
		for _, name := range []string{"default-scheduler", "second"} {
			f := &fixture{t: t}
			options := Options{Client: client, Informers: NewInformerFactory(client)}
			options.Observers.Scheduler = boundObserver{bound: func(pod *v1.Pod) {
				mu.Lock()
				defer mu.Unlock()
				bound[name] = append(bound[name], pod.Name)
			}}
			options.Registry, options.Configuration = f.with()
			options.Configuration.Profiles[0].SchedulerName = name
			s, err := New(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			start(t, s, options)
		}
		for _, pod := range []*v1.Pod{objects.Pod("a").Requests("cpu", "1").Build(), objects.Pod("b").Requests("cpu", "1").SchedulerName("second").Build(), objects.Pod("c").Requests("cpu", "1").SchedulerName("third").Build()} {
			if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		waitForNode(t, client, "a")
		waitForNode(t, client, "b")
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(map[string][]string{"default-scheduler": {"a"}, "second": {"b"}}, bound); diff != "" {
			t.Errorf("bound (-want +got):\n%s", diff)
		}
	})
}

// boundObserver is told about bindings only.
type boundObserver struct {
	NopObserver
	bound func(*v1.Pod)
}

func (o boundObserver) PodBound(binding Binding) { o.bound(binding.Pod) }

// TestBuildProfiles has plugins that are asked outside of the scheduler: they see other nodes, the same nominated pods, and
// activate nothing.
func TestBuildProfiles(t *testing.T) {
	f := newFixture(t)
	f.addNodes("n1")
	waiting := objects.Pod("waiting").Requests("cpu", "8").Build()
	f.add(waiting)
	f.attempt()
	f.wantPool("waiting", queue.PoolUnschedulable)
	snapshot := &cache.Snapshot{}
	built, err := f.BuildProfiles(f.ctx, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	profile := built[v1.DefaultSchedulerName]
	if profile.SnapshotSharedLister() != fwk.SharedLister(snapshot) || profile.Plugin("NodeResourcesFit") == f.profile().Plugin("NodeResourcesFit") {
		t.Error("the plugins share their snapshot, or themselves, with those of the scheduler")
	}
	info, _ := framework.NewPodInfo(waiting)
	f.Queue().AddNominatedPod(klog.Logger{}, info, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: "n1"})
	if nominated := profile.NominatedPodsForNode("n1"); len(nominated) != 1 {
		t.Errorf("the plugins see the nominated pods %v, want the one there is", nominated)
	}
	profile.Activate(klog.Logger{}, map[string]*v1.Pod{"default/waiting": waiting})
	f.wantPool("waiting", queue.PoolUnschedulable)
	if err := built.Close(); err != nil {
		t.Error(err)
	}
}
