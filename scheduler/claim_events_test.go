// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// hintCounter counts the hints that were called.
type hintCounter struct {
	queue.NopQueueObserver
	calls int
}

func (c *hintCounter) HintEvaluated(queue.HintResult) { c.calls++ }

// waitForDevices returns a scheduler with pods that wait for devices, each with a claim made from a template; the claims of
// some are still to be made.
func waitForDevices(tb testing.TB, made, notMade int, observer queue.Observer) *Scheduler {
	tb.Helper()
	all := []apiruntime.Object{objects.Node("n1").Capacity("cpu", "4", "pods", "10").Build(), objects.DeviceClass("gpu")}
	for i := range made + notMade {
		name := fmt.Sprintf("pod-%d", i)
		pod := objects.Pod(name).With(func(pod *v1.Pod) {
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimTemplateName: ptr.To("template")}}
			if i < made {
				pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: ptr.To("of-" + name)}}
			}
		}).Build()
		all = append(all, pod)
		if i < made {
			all = append(all, objects.ResourceClaim("of-"+name).Request("r", "gpu", 1).With(func(claim *resourceapi.ResourceClaim) {
				claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}
			}).Build())
		}
	}
	client := fake.NewClientset(all...)
	factory := informers.NewSharedInformerFactory(client, 0)
	s, err := New(tb.Context(), Options{Client: client, Informers: factory, Observers: Observers{Queue: observer}})
	if err != nil {
		tb.Fatal(err)
	}
	factory.Start(tb.Context().Done())
	factory.WaitForCacheSync(tb.Context().Done())
	if err := s.WaitForHandlersSync(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	for s.TryScheduleOne(tb.Context()) {
	}
	if pods, text := s.Queue().PendingPods(); len(pods) != made+notMade {
		tb.Fatalf("want %d pods that wait, got %s", made+notMade, text)
	}
	return s
}

// claimEvents are changes of claims, with how many hints they may cost and whether they wake the pods that have claims.
func claimEvents() []claimEvent {
	free, allocated := objects.ResourceClaim("other").Build(), objects.ResourceClaim("other").Build()
	allocated.Status.Allocation = &resourceapi.AllocationResult{}
	claims := fwk.ClusterEvent{Resource: fwk.ResourceClaim}
	of := func(action fwk.ActionType) fwk.ClusterEvent { claims.ActionType = action; return claims }
	return []claimEvent{
		{"another claim is added", of(fwk.Add), nil, free, false},
		{"another claim is allocated", of(fwk.Update), free, allocated, false},
		{"another claim is deleted", of(fwk.Delete), free, nil, false},
		{"another claim gives devices back", of(fwk.Update), allocated, free, true},
	}
}

type claimEvent struct {
	name   string
	event  fwk.ClusterEvent
	before any
	after  any
	wakes  bool
}

// Events of claims that pods don't name cost no hint for these pods, and pods whose claims are still to be made cost one
// hint together.
func TestClaimEventsAskFewPods(t *testing.T) {
	counter := &hintCounter{}
	const made, notMade = 20, 30
	s := waitForDevices(t, made, notMade, counter)
	for _, test := range claimEvents() {
		counter.calls = 0
		s.Queue().Move(test.event, test.before, test.after, nil)
		want, woken := 0, 0
		if test.wakes {
			want, woken = made+1, made
		}
		if counter.calls != want {
			t.Errorf("%s: %d hints are called, want %d", test.name, counter.calls, want)
		}
		if stats := s.Queue().Stats(); stats.Active+stats.Backoff != woken {
			t.Errorf("%s: %+v, want %d pods woken", test.name, stats, woken)
		}
	}
}

func BenchmarkClaimEvents(b *testing.B) {
	for _, waiting := range []struct {
		name          string
		made, notMade int
	}{{"claims made", 3_000, 0}, {"claims not made", 0, 3_000}} {
		b.Run(waiting.name, func(b *testing.B) {
			s := waitForDevices(b, waiting.made, waiting.notMade, nil)
			for _, test := range claimEvents() {
				if test.wakes && waiting.made > 0 {
					continue
				}
				b.Run(test.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						s.Queue().Move(test.event, test.before, test.after, nil)
					}
				})
			}
		})
	}
}
