// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"time"
)

// Report is what came of a simulation. Its JSON form is stable. Two reports of the same input and options are equal,
// except for Summary.WallSeconds.
type Report struct {
	// Profiles are the scheduler names of the configuration, in its order.
	Profiles []string `json:"profiles"`
	Summary  Summary  `json:"summary"`
	// Pods has every pod that the scheduler ever saw, by namespace, name and age. Two of them have the same name if
	// the first was deleted.
	Pods []PodState `json:"pods"`
	// Trace is empty unless [Options.Trace] is set.
	Trace []TraceEntry `json:"trace,omitempty"`

	// Failures are the pods that were not what the scenarios expect, in the order of the checks.
	Failures []ExpectationFailure `json:"-"`
	// Warnings name what in the input means nothing to the simulation.
	Warnings []string `json:"-"`
}

// Summary counts what happened.
type Summary struct {
	// Nodes is how many nodes there are at the end.
	Nodes int `json:"nodes"`
	// Pods is how many pods the scheduler ever saw. Bound, Unschedulable and Gated are how many of them are in those
	// pools at the end, and Preempted how many had to make room for others.
	Pods          int `json:"pods"`
	Bound         int `json:"bound"`
	Unschedulable int `json:"unschedulable"`
	Gated         int `json:"gated"`
	Preempted     int `json:"preempted"`
	// Attempts counts scheduling cycles, and Wasted those, after the first of each pod, that failed again.
	Attempts int `json:"attempts"`
	Wasted   int `json:"wasted"`
	// Wakeups is how often a pod that waited for an event was queued to be tried again.
	Wakeups int `json:"wakeups"`
	// Events counts the cluster events that some plugin waits for.
	Events int64 `json:"events"`
	// VirtualSeconds is the time that passed in the simulation, WallSeconds how long the simulation took.
	VirtualSeconds float64 `json:"virtualSeconds"`
	WallSeconds    float64 `json:"wallSeconds"`
}

// Pool is where a pod is.
type Pool string

// The pools.
const (
	// PoolBound has pods that are on a node.
	PoolBound Pool = "bound"
	// PoolActive has pods that are tried next, or right now, or wait for permission to be bound.
	PoolActive Pool = "active"
	// PoolBackoff has pods that are tried again after a while.
	PoolBackoff Pool = "backoff"
	// PoolUnschedulable has pods that wait for an event. Those that no profile is responsible for are there too.
	PoolUnschedulable Pool = "unschedulable"
	// PoolGated has pods that must not be tried yet.
	PoolGated Pool = "gated"
	// PoolDeleted has pods that are gone or finished.
	PoolDeleted Pool = "deleted"
)

// Pools returns all pools.
func Pools() []Pool {
	return []Pool{PoolBound, PoolActive, PoolBackoff, PoolUnschedulable, PoolGated, PoolDeleted}
}

// PodState is what is known of a pod.
type PodState struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Node is where the pod is or, if it is deleted, was; empty if it never was anywhere.
	Node string `json:"node"`
	Pool Pool   `json:"pool"`
	// Attempts is how many scheduling cycles the pod had.
	Attempts int `json:"attempts"`
	// RejectedBy are the plugins that rejected the pod in its last attempt, or the one that gates it, by name. A bound
	// pod has none.
	RejectedBy []string `json:"rejectedBy"`
	// BoundAt is when the pod got its node, as a duration since the start; empty if it has none or had it before.
	BoundAt string `json:"boundAt"`
	// Message is why the last attempt failed; empty for bound pods.
	Message string `json:"message"`
	// WokenBy is the label of the event that woke the pod last.
	WokenBy string `json:"-"`
}

// Time is a point in virtual time: how long after the start.
type Time time.Duration

// String returns the time to the microsecond, such as 12.5s.
func (t Time) String() string { return time.Duration(t).Round(time.Microsecond).String() }

// MarshalJSON writes the text.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*t = Time(parsed)
	return err
}
