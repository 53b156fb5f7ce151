// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// recreated is kubernetes/kubernetes#138316. While a pod is being tried, it is deleted, and another one is created under its name.
// The attempt fails. Events must not be kept for the first pod any longer, and the second one must be scheduled.
func recreated(w *World, start func()) error {
	trying, changed := NewLatch(), NewLatch()
	w.With(&Plugin{PluginName: "Slow", OnFilter: func(pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
		if pod.UID != "first" {
			return nil
		}
		trying.Open()
		changed.Wait()
		return fwk.NewStatus(fwk.Unschedulable, "no")
	}})
	w.Create(one("n1"))
	start()
	w.Create(objects.Pod("pod").UID("first").Build())
	trying.Wait()
	w.Delete("pod")
	w.Create(objects.Pod("pod").UID("second").Build())
	changed.Open()
	if err := w.Bound("pod"); err != nil {
		return err
	}
	return w.NothingInFlight()
}

// recreatedUnseen is kubernetes/kubernetes#141255. A pod with a node is deleted, and another one created under its name, while the
// watch of pods is broken: the informer reports an update from the one to the other.
func recreatedUnseen(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	w.Create(objects.Pod("pod").UID("first").Node("n1").Requests("cpu", "1").Build())
	start()
	w.Hold("pods")
	w.Delete("pod")
	w.Create(objects.Pod("pod").UID("second").Requests("cpu", "1").Build())
	w.Relist("pods")
	return w.Bound("pod")
}

// everyEnding is koordinator-sh/koordinator#3190: the failure of an attempt was handled by code that did not tell the queue that
// the attempt was over. Here, attempts end in every way that one can.
func everyEnding(w *World, start func()) error {
	type ending struct {
		filter func(pod string)
		permit *fwk.Status
		bind   error
		fails  error // of PreBind
	}
	endings := map[string]ending{
		"bound-by-another": {filter: func(pod string) { w.change(pod, func(p *v1.Pod) { p.Spec.NodeName = "n2" }) }},
		"deleted":          {filter: func(pod string) { _ = w.fake.Tracker().Delete(podsResource(), metav1.NamespaceDefault, pod) }},
		"refused":          {permit: fwk.NewStatus(fwk.Unschedulable, "no")},
		"permit-fails":     {permit: fwk.AsStatus(errors.New("broken"))},
		"prebind-fails":    {fails: errors.New("broken")},
		"bind-fails":       {bind: errors.New("broken")},
		"not-needed":       {filter: func(pod string) { w.change(pod, func(p *v1.Pod) { p.Labels = map[string]string{"updated": "yes"} }) }},
	}
	w.With(&Plugin{
		PluginName: "Endings",
		OnFilter: func(pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
			if do := endings[pod.Name].filter; do != nil {
				do(pod.Name)
				time.Sleep(settled)
				return fwk.NewStatus(fwk.Unschedulable, "no")
			}
			return nil
		},
		OnPermit:  func(pod *v1.Pod) (*fwk.Status, time.Duration) { return endings[pod.Name].permit, 0 },
		OnPreBind: func(_ context.Context, pod *v1.Pod) *fwk.Status { return fwk.AsStatus(endings[pod.Name].fails) },
	})
	w.Create(one("n1"), one("n2"))
	start()
	for name, how := range endings {
		if how.bind != nil {
			w.Fail("bind", name, how.bind)
		}
		if err := w.fake.Tracker().Add(objects.Pod(name).UID(types.UID(name)).Build()); err != nil {
			w.t.Fatal(err)
		}
		w.After(time.Second)
	}
	return w.NothingInFlight()
}

// lateBindFailure is kubernetes/kubernetes#140478. Two pods of a gang are let go together. The binding of one fails when the
// other one has long been bound.
func lateBindFailure(w *World, start func()) error {
	var gang *Plugin
	gang = w.With(&Plugin{PluginName: "Gang", OnPermit: func(pod *v1.Pod) (*fwk.Status, time.Duration) {
		if first := gang.Handle.GetWaitingPod("first"); first != nil {
			first.Allow("Gang")
		} else if pod.Name == "first" && w.Calls("bind", "first") == 0 {
			return fwk.NewStatus(fwk.Wait), 10 * time.Minute
		}
		return nil, 0
	}})
	w.Slow("bind", "first", 10*time.Second)
	w.Fail("bind", "first", errors.New("broken"))
	w.Create(one("n1"))
	start()
	w.Create(objects.Pod("first").UID("first").Build())
	w.Waits("first")
	w.Create(objects.Pod("second").Build())
	if err := w.Bound("second"); err != nil {
		return err
	}
	w.Waits("first")
	if err := w.BoundWithin("first", time.Minute); err != nil {
		return err
	}
	return w.NothingInFlight()
}

// deletedWhileWaiting is kubernetes/kubernetes#138445. A pod begins to terminate while it waits for permission. What plugins
// counted for it, and its place, must be given back at once.
func deletedWhileWaiting(w *World, start func()) error {
	w.With(&Plugin{PluginName: "Gang", OnPermit: func(pod *v1.Pod) (*fwk.Status, time.Duration) {
		if pod.Name == "deleted" {
			return fwk.NewStatus(fwk.Wait), 15 * time.Minute
		}
		return nil, 0
	}})
	return placeOfDeleted(w, start)
}

// deletedWhileBinding is kubernetes/kubernetes#134217: the same in PreBind, which does not end for a long time.
func deletedWhileBinding(w *World, start func()) error {
	w.With(&Plugin{PluginName: "Prepare", OnPreBind: func(_ context.Context, pod *v1.Pod) *fwk.Status {
		if pod.Name == "deleted" {
			time.Sleep(2 * time.Minute)
		}
		return nil
	}})
	return placeOfDeleted(w, start)
}

func placeOfDeleted(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	start()
	w.Create(objects.Pod("deleted").Requests("cpu", "1").Build())
	w.Create(objects.Pod("next").Requests("cpu", "1").Build())
	w.Waits("deleted", "next")
	now := metav1.Now()
	w.Update("deleted", func(pod *v1.Pod) { pod.DeletionTimestamp = &now })
	if err := w.Bound("next"); err != nil {
		return err
	}
	w.After(3 * time.Minute)
	if calls := w.plugins[0].Unreserved("deleted"); calls != 1 {
		return fmt.Errorf("%d calls of Unreserve for the deleted pod", calls)
	}
	return w.NothingInFlight()
}
