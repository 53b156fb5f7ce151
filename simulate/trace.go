// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
)

// What is the kind of a [TraceEntry].
type What string

// The kinds of trace entries.
const (
	// WhatAttempt is the start of a scheduling cycle.
	WhatAttempt What = "attempt"
	// WhatBound is a pod that got a node.
	WhatBound What = "bound"
	// WhatRejected is an attempt that failed, or a pod that a PreEnqueue plugin stopped; Plugin has the plugins that rejected it,
	// separated by commas, and is empty after an error.
	WhatRejected What = "rejected"
	// WhatWoken is a pod that an event made ready to be tried again; Queue says how soon.
	WhatWoken What = "woken"
	// WhatSkipped is a pod that an event did not wake, because the hint of the plugin said so. As long as nothing else
	// happens to a pod, equal entries are not repeated.
	WhatSkipped What = "skipped"
	// WhatFailed is a mistake of a plugin: a hint that fails or panics, which counts as one that wakes the pod, or a panic at
	// any extension point, by which the attempt may be rejected next. Message says what happened.
	WhatFailed What = "failed"
	// WhatPreempted is a pod that has to go to make room; By is the pod that gets the room, if that is known. One that takes
	// its time is deleted later.
	WhatPreempted What = "preempted"
	// WhatDeleted is a pod that was deleted otherwise, or finished.
	WhatDeleted What = "deleted"
)

// TraceEntry is one thing that happened to a pod.
type TraceEntry struct {
	At Time `json:"at"`
	// Pod is namespace/name; empty if a plugin failed in a call that is about no pod.
	Pod  string `json:"pod"`
	What What   `json:"what"`
	// Event is the label of what woke the pod or did not.
	Event  string `json:"event,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	Node   string `json:"node,omitempty"`
	// By is namespace/name of the pod for which another was preempted.
	By string `json:"by,omitempty"`
	// Queue is where the pod went: active or backoff.
	Queue   Pool   `json:"queue,omitempty"`
	Message string `json:"message,omitempty"`
}

// String returns the entry as a line of text without line break.
func (e TraceEntry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-9v %-9s %s", e.At, e.What, e.Pod)
	switch {
	case e.Event != "" && e.Plugin != "":
		fmt.Fprintf(&b, " by %s (%s)", e.Event, e.Plugin)
	case e.Event != "":
		fmt.Fprintf(&b, " by %s", e.Event)
	case e.Plugin != "":
		fmt.Fprintf(&b, " by %s", e.Plugin)
	}
	if e.Node != "" {
		fmt.Fprintf(&b, " on %s", e.Node)
	}
	if e.By != "" {
		fmt.Fprintf(&b, " for %s", e.By)
	}
	if e.Queue != "" {
		fmt.Fprintf(&b, " to %s", e.Queue)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	return b.String()
}
