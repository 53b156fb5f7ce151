// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// nominatedPodGone is kubernetes/kubernetes#135392. A waiting pod has to keep away from a pod that has no node yet, but one
// nominated for it. That pod is deleted.
func nominatedPodGone(w *World, start func()) error {
	return besideNominated(w, start, func() { w.Delete("nominated") })
}

// nominatedPodRelabelled is the same, but the labels of that pod change.
func nominatedPodRelabelled(w *World, start func()) error {
	return besideNominated(w, start, func() {
		w.Update("nominated", func(pod *v1.Pod) { pod.Labels["app"] = "b" })
	})
}

func besideNominated(w *World, start, change func()) error {
	w.Create(one("n1"))
	w.Create(objects.Pod("nominated").Priority(100).SchedulingGate("wait").NominatedNode("n1").Label("app", "a").Build())
	start()
	w.Create(objects.Pod("waiting").PodAntiAffinity(v1.LabelHostname, "app=a").Build())
	w.Waits("waiting")
	change()
	return w.Bound("waiting")
}

// gatedNomination is kubernetes/kubernetes#139057. A pod that is gated has a nominated node, which is kept free for it.
func gatedNomination(w *World, start func()) error {
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	start()
	w.Create(objects.Pod("nominated").Priority(100).SchedulingGate("wait").NominatedNode("n1").Requests("cpu", "1").Build())
	w.Create(objects.Pod("less-important").Requests("cpu", "1").Build())
	w.After(10 * time.Second)
	if w.Pod("less-important").Spec.NodeName != "" {
		return errors.New("the node of a nominated pod was given to a less important one")
	}
	w.Update("nominated", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
	return w.Bound("nominated")
}

// nominationForNoNode is kubernetes/kubernetes#139904. The nomination of a pod is withdrawn, as its node is of no use. It must
// not become one for the node without a name.
func nominationForNoNode(w *World, start func()) error {
	observer := w.With(&Plugin{PluginName: "Observer"})
	w.Create(objects.Node("n1").Capacity("cpu", "1").Build())
	start()
	w.Create(objects.Pod("large").NominatedNode("n1").Requests("cpu", "2").Build())
	w.Waits("large")
	if node := w.Pod("large").Status.NominatedNodeName; node != "" {
		return fmt.Errorf("node %s is still nominated for a pod that is too large for it", node)
	}
	if left := len(observer.Handle.NominatedPodsForNode("")); left > 0 {
		return fmt.Errorf("%d pods are nominated for the node with an empty name", left)
	}
	return nil
}
