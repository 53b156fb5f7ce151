// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// queuedView is everything that a queued pod says through the official interface, and its extra fields.
type queuedView struct {
	Type                    fwk.EntityKeyType
	Pod                     string
	Affinity                affinityView
	Priority                int32
	Timestamp               time.Time
	Attempts                int
	BackoffExpiration       time.Time
	UnschedulableCount      int
	ConsecutiveErrorsCount  int
	InitialAttemptTimestamp *time.Time
	Unschedulable, Pending  []string
	Rejectors               []string
	GatingPlugin            string
	GatingPluginEvents      []fwk.ClusterEvent
	Gated, Flushed          bool
	FlushTimestamp          time.Time
}

func viewQueued(q *framework.QueuedPodInfo) queuedView {
	var entity fwk.QueuedEntityInfo = q
	return queuedView{
		entity.Type(), q.Pod.Name, viewAffinity(q.GetPodInfo()), entity.GetPriority(), entity.GetTimestamp(), entity.GetAttempts(),
		entity.GetBackoffExpiration(), entity.GetUnschedulableCount(), entity.GetConsecutiveErrorsCount(), entity.GetInitialAttemptTimestamp(),
		sets.List(entity.GetUnschedulablePlugins()), sets.List(entity.GetPendingPlugins()), sets.List(q.RejectorPlugins()),
		entity.GetGatingPlugin(), entity.GetGatingPluginEvents(), q.Gated(), q.WasFlushedFromUnschedulable, q.FlushTimestamp,
	}
}

func TestNewQueuedPodInfo(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	pod := objects.Pod("p").With(func(pod *v1.Pod) { pod.Spec.Priority = ptr.To[int32](7) }).
		PodAffinity("zone", "app=a").
		With(withAntiAffinity(&v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{brokenTerm()}})).Build()
	q := framework.NewQueuedPodInfo(pod, now)
	want := queuedView{Type: fwk.PodKeyType, Pod: "p", Priority: 7, Timestamp: now,
		Affinity:      affinityView{Affinity: []termView{{Namespaces: []string{"default"}, Selector: "app=a", TopologyKey: "zone"}}},
		Unschedulable: []string{}, Pending: []string{}, Rejectors: []string{}}
	if diff := cmp.Diff(want, viewQueued(q)); diff != "" {
		t.Errorf("new queued pod (-want +got):\n%s", diff)
	}
	if q.GetPod() != pod || q.GetPodInfo().GetPod() != pod {
		t.Error("the pod is not the one that was given")
	}
	if got := framework.NewQueuedPodInfo(objects.Pod("q").Build(), now).GetPriority(); got != 0 {
		t.Errorf("priority of a pod without one = %d, want 0", got)
	}
	// The sets are ready to be filled.
	q.UnschedulablePlugins.Insert("A")
	q.PendingPlugins.Insert("B")
	q.GatingPlugin = "A"
	if diff := cmp.Diff([]string{"A", "B"}, sets.List(q.RejectorPlugins())); diff != "" || !q.Gated() {
		t.Errorf("gated %t, rejectors (-want +got):\n%s", q.Gated(), diff)
	}
}

// TestPodOf checks that a queue sort plugin reaches the pod, and only where there is one.
func TestPodOf(t *testing.T) {
	pod := &v1.Pod{}
	queued := framework.NewQueuedPodInfo(pod, time.Time{})
	if got := framework.PodOf(queued); got != pod {
		t.Errorf("PodOf(queued pod) = %v, want the pod", got)
	}
	if got := framework.PodOf(podGroup{queued}); got != nil {
		t.Errorf("PodOf(another entity) = %v, want nil", got)
	}
}

// podGroup is an entity that is not a pod.
type podGroup struct{ fwk.QueuedEntityInfo }
