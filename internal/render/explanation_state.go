// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// state says in one sentence where the pod is, and what it waits for.
func state(e *inspect.Explanation, style Style) string {
	switch {
	case e.Phase != "":
		return "has finished (" + e.Phase + "), and no longer uses resources of node " + e.Node + "."
	case e.MissedWakeup:
		return style.paint(red, "missed a wake-up: "+feasible(e)+" would take it, but no event woke it.")
	}
	switch e.Pool {
	case simulate.PoolBound:
		if e.Terminating || e.Preempted {
			return style.paint(yellow, "is on node "+e.Node+", and is being deleted") + purpose(e) + "."
		}
		return style.paint(green, "is on node "+e.Node+".")
	case simulate.PoolActive:
		if len(e.PendingPermitPlugins) > 0 {
			return style.paint(green, "has reserved node "+e.Node) + " and waits at Permit for " + strings.Join(e.PendingPermitPlugins, ", ") + "."
		}
		return style.paint(green, "is in the active queue or being scheduled.")
	case simulate.PoolGated:
		return style.paint(yellow, "is not tried before "+gate(e)+".")
	case simulate.PoolDeleted:
		if e.Node != "" {
			return "was deleted; it was on node " + e.Node + "."
		}
		return "was deleted; it never had a node."
	case simulate.PoolBackoff:
		return style.paint(yellow, "is in backoff until "+e.TriedAgainAt+", when it is tried again.")
	}
	return style.paint(yellow, waits(e))
}

// waits says what a pod in the unschedulable pool waits for.
func waits(e *inspect.Explanation) string {
	switch {
	case len(e.Victims) > 0:
		return fmt.Sprintf("is nominated for node %s, and waits for %s to end there.", e.NominatedNode, list(e.Victims))
	case e.NominatedNode != "":
		return fmt.Sprintf("is nominated for node %s, where room is kept for it, and waits for an event.", e.NominatedNode)
	case len(e.Nodes) > 0 && e.Nodes[0].BlockerCount == 0 && len(e.Everywhere) == 0:
		return "has no node, although " + feasible(e) + " would take it now."
	case e.Since == "" && e.Attempts == 0 && len(e.RejectedBy) == 0: // the queue does not know it
		return "is not in the queue."
	case e.AllNodes > 0:
		return "waits for an event: " + noneOf(e.AllNodes) + "."
	}
	return "waits for an event."
}

func noneOf(nodes int) string {
	if nodes == 1 {
		return "the only node does not take it"
	}
	return fmt.Sprintf("none of %d nodes takes it", nodes)
}

func list(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// feasible names a node that would take the pod.
func feasible(e *inspect.Explanation) string {
	if len(e.Nodes) > 0 {
		return "node " + e.Nodes[0].Name
	}
	return "a node"
}

// gate says what a PreEnqueue plugin wants.
func gate(e *inspect.Explanation) string {
	for _, rejection := range e.RejectedBy {
		if !rejection.PreEnqueue {
			continue
		}
		for _, reason := range rejection.Reasons {
			if gates, found := strings.CutPrefix(reason.Reason, "waiting for scheduling gates: ["); found {
				names := strings.Fields(strings.TrimSuffix(gates, "]"))
				if len(names) == 1 {
					return "its scheduling gate " + names[0] + " is removed"
				}
				return "its scheduling gates " + list(names) + " are removed"
			}
		}
		return "PreEnqueue plugin " + rejection.Plugin + " admits it"
	}
	return "a PreEnqueue plugin admits it"
}

// timing says since when, after how many attempts, and when the pod is tried again.
func timing(e *inspect.Explanation) string {
	var parts []string
	if e.Since != "" {
		parts = append(parts, "since "+e.Since)
	}
	switch {
	case e.Phase != "" || e.Attempts == 0 && (e.Pool == simulate.PoolBound || e.Pool == simulate.PoolDeleted): // by another scheduler, or before
	case e.Attempts == 0 && e.RejectedAt != "": // by another scheduler
		parts = append(parts, "rejected since "+e.RejectedAt)
	case e.Attempts == 0 && e.Since == "":
	case e.Attempts == 0:
		parts = append(parts, "never tried")
	case e.Pool == simulate.PoolBound && e.WokenBy != "":
		parts = append(parts, fmt.Sprintf("after %s, the last one because of %s", count(e.Attempts, "attempt"), e.WokenBy))
	default:
		parts = append(parts, "after "+count(e.Attempts, "attempt"))
	}
	text := "It is " + e.At + " now."
	if len(parts) > 0 {
		joined := strings.Join(parts, ", ")
		text = strings.ToUpper(joined[:1]) + joined[1:] + "; it is " + e.At + " now."
	}
	if e.TriedAgainAt != "" && e.Pool != simulate.PoolBackoff {
		text += " Without an event it is tried again at " + e.TriedAgainAt + "."
	}
	return text
}

// purpose says for which pods the pod is preempted.
func purpose(e *inspect.Explanation) string {
	switch {
	case len(e.PreemptedFor) > 0:
		return ", preempted by " + list(e.PreemptedFor)
	case e.Preempted:
		return ", preempted by a pod of higher priority"
	}
	return ""
}

// message returns the message where the lists below do not say as much.
func message(e *inspect.Explanation) string {
	switch {
	case e.Attempts == 0 && e.RejectedAt != "" && e.Message != "":
		return "Its scheduler says: " + e.Message
	case len(e.RejectedBy) > 0 || e.Pool == simulate.PoolBound:
		return ""
	}
	return e.Message
}
