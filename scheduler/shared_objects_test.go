// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// changing is a plugin that changes the pod that it is asked about, and then rejects it.
type changing struct{ change func(*v1.Pod) }

func (*changing) Name() string { return "Changing" }

func (c *changing) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	c.change(pod)
	return fwk.NewStatus(fwk.Unschedulable, "no")
}

// A pod of which a plugin changes what it is known by goes back to the queue as any other, and the informer has it as it was.
func TestPodsThatPluginsChangeAreTriedAgain(t *testing.T) {
	for what, change := range map[string]func(*v1.Pod){
		"UID":       func(pod *v1.Pod) { pod.UID = "another" },
		"name":      func(pod *v1.Pod) { pod.Name = "another" },
		"namespace": func(pod *v1.Pod) { pod.Namespace = "another" },
		"node":      func(pod *v1.Pod) { pod.Spec.NodeName = "n1" },
		"profile":   func(pod *v1.Pod) { pod.Spec.SchedulerName = "another" },
		"phase":     func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded },
		"deletion":  func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, &changing{change: change})
			f.addNodes("n1")
			pod := objects.Pod("p").Requests("cpu", "1").Build()
			before := pod.DeepCopy()
			f.add(pod)
			f.attempt()
			if what == "name" || what == "namespace" { // under which preemption fails to find it
				f.wantPool("p", queue.PoolBackoff)
			} else {
				f.wantPool("p", queue.PoolUnschedulable)
			}
			if identityOf(pod) != identityOf(before) {
				t.Errorf("the pod is %+v, want it as it was", pod)
			}
			if len(f.seen.mistakes) != 1 || !strings.Contains(f.seen.mistakes[0].Err.Error(), "by one of Changing") {
				t.Errorf("the observer was told %+v, want that the plugin changed the pod", f.seen.mistakes)
			}
		})
	}
}
