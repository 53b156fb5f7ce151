// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// observedTransition is a transition that was made, and what the hints said to it.
type observedTransition struct {
	Transition
	observer *requeueObserver
	answers  []hintAnswer
}

// compare looks for a node on which a pod was rejected, or that is new, and which accepts it now.
func (c *requeueCheck) compare(made *observedTransition, before, after judgement, asleep bool) {
	c.t.Helper()
	c.reportFailures(before)
	c.reportFailures(after)
	reason, rejected := before.rejection()
	if !rejected {
		return
	}
	c.rejected = true
	for _, node := range slices.Sorted(maps.Keys(after.statuses)) {
		was, existed := before.statuses[node]
		if !after.statuses[node].IsSuccess() || existed && was.IsSuccess() {
			continue
		}
		c.turned = true
		if !asleep {
			return
		}
		if existed {
			reason = was.Message()
		}
		c.reportf("plugin %s misses a wake-up: it rejected pod %s/%s (%s) and, when %v, accepts it on node %s, but the pod is not woken: %s",
			c.name, after.pod.Namespace, after.pod.Name, reason, made, node, made.whyAsleep(after.pod))
		return
	}
}

func (c *requeueCheck) reportFailures(judged judgement) {
	c.t.Helper()
	for _, node := range slices.Sorted(maps.Keys(judged.statuses)) {
		if status := judged.statuses[node]; !status.IsSuccess() && !status.IsRejected() {
			c.reportf("plugin %s fails to judge pod %s/%s: %s", c.name, judged.pod.Namespace, judged.pod.Name, status.Message())
		}
	}
}

// rejection returns why the plugin rejected the pod on the first node where it did.
func (j judgement) rejection() (reason string, rejected bool) {
	for _, node := range slices.Sorted(maps.Keys(j.statuses)) {
		if status := j.statuses[node]; status.IsRejected() {
			return status.Message(), true
		}
	}
	return "", false
}

// whyAsleep says why the plugin does not want a pod back.
func (m *observedTransition) whyAsleep(pod *v1.Pod) string {
	events := m.events(pod.UID)
	if len(events) == 0 {
		return "the scheduler announces no event of such a change"
	}
	var unregistered, narrowed []string
	for _, event := range events {
		covered := false
		for _, registration := range m.observer.plugin.Registrations()[m.observer.name] {
			covered = covered || framework.Matches(registration.Event, event)
		}
		if covered {
			narrowed = append(narrowed, event.Label())
		} else {
			unregistered = append(unregistered, event.Label())
		}
	}
	var reasons []string
	if len(unregistered) > 0 {
		reasons = append(reasons, "EventsToRegister does not return "+strings.Join(unregistered, " or "))
	}
	if skipped := m.skips(pod); len(skipped) > 0 {
		reasons = append(reasons, skipped...)
	} else if len(narrowed) > 0 {
		reasons = append(reasons, "the PreQueueingHintFn for "+strings.Join(narrowed, " and ")+" leaves the pod out")
	}
	return strings.Join(reasons, ", and ")
}

// skips names the hints that let a pod sleep.
func (m *observedTransition) skips(pod *v1.Pod) []string {
	var skips []string
	for _, answer := range m.answers {
		if answer.hint != fwk.QueueSkip {
			continue
		}
		skip := "the hint for " + describeEvent(answer.registration.Event) + " returns QueueSkip"
		switch {
		case answer.pod.UID == pod.UID:
		case m.observer.sameClass(answer.pod, pod):
			skip += " for pod " + answer.pod.Namespace + "/" + answer.pod.Name + ", which is of the same class"
		default:
			continue
		}
		if !slices.Contains(skips, skip) {
			skips = append(skips, skip)
		}
	}
	return skips
}

// describeEvent returns an event as it is registered, such as "Node Add|UpdateNodeLabel".
func describeEvent(event fwk.ClusterEvent) string {
	return string(event.Resource) + " " + strings.Join(framework.ActionNames(event.ActionType), "|")
}
