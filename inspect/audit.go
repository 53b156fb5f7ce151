// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Audit shows how good the decisions of queueing hints were in a simulation. Every decision to wake a waiting pod for an
// event, or to skip it, is compared with what PreFilter and Filter of the pod's profile say right after the event and, if
// no node is feasible, with whether a dry run of preemption, which evicts no pod, finds one.
//
// Pods that were rejected after Filter, such as at Permit, are left out: only an attempt would show whether they got any
// further. Preemption is that of a PostFilter plugin with a method
//
//	PreemptionHooks() preemption.Hooks
//
// which DefaultPreemption has; other PostFilter plugins are not taken into account.
type Audit struct {
	// Profiles are the scheduler names of the configuration, in its order.
	Profiles []string     `json:"profiles"`
	Summary  AuditSummary `json:"summary"`
	// Decisions has a row for each event and plugin, by event and plugin.
	Decisions []Decisions `json:"decisions"`
	// Missed are the missed wake-ups, in the order of time.
	Missed []MissedWakeup `json:"missed"`
	// Failures are the errors and panics of plugins, in hints, attempts and calls of the auditor. The counts of a plugin
	// that failed are not reliable.
	Failures []PluginFailure `json:"failures"`
	// Warnings say what could not be evaluated.
	Warnings []string `json:"warnings,omitempty"`
	// Incomplete reports whether the evaluation ended early; the last warning says why.
	Incomplete bool `json:"incomplete,omitempty"`
}

// AuditSummary counts the decisions over all events and plugins.
type AuditSummary struct {
	// Nodes is how many nodes there are at the end, Pods how many pods the scheduler ever saw.
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`

	RightWakeups  int `json:"rightWakeups"`
	WastedWakeups int `json:"wastedWakeups"`
	RightSkips    int `json:"rightSkips"`
	// MissedWakeups is the length of [Audit.Missed]. The rows of the decisions can add up to more, where several plugins
	// missed the same wake-up.
	MissedWakeups int `json:"missedWakeups"`
	// Failed is how often plugins failed: the sum over [Audit.Failures].
	Failed int `json:"failed"`

	// VirtualSeconds is the time that passed in the simulation, WallSeconds how long the audit took.
	VirtualSeconds float64 `json:"virtualSeconds"`
	WallSeconds    float64 `json:"wallSeconds"`
}

// Decisions counts the decisions of a plugin's hint about an event.
type Decisions struct {
	Event  string `json:"event"`
	Plugin string `json:"plugin"`
	// RightWakeups is how often the plugin had a pod woken that then fitted or could preempt as it could not before, or that
	// the plugin itself stopped rejecting on some node.
	RightWakeups int `json:"rightWakeups"`
	// WastedWakeups is how often it had a pod woken and still rejected it on the same nodes.
	WastedWakeups int `json:"wastedWakeups"`
	// RightSkips is how often its hint returned QueueSkip for a pod that would neither have fitted nor preempted, or that
	// another plugin had woken.
	RightSkips int `json:"rightSkips"`
	// MissedWakeups is how often it did not have a pod woken that would have fitted or preempted.
	MissedWakeups int `json:"missedWakeups"`
	// Failed is how often its hint returned an error or panicked, which woke the pod, rightly or not.
	Failed int `json:"failed"`
}

// PluginFailure is an error or a panic of a plugin.
type PluginFailure struct {
	// At and Pod, as namespace/name, are of the first time. The pod is empty if the call was about none.
	At  simulate.Time `json:"at"`
	Pod string        `json:"pod"`
	// Event is the label of the event for which a hint was called; empty for anything but a hint.
	Event string `json:"event,omitempty"`
	// Plugin is empty if it is not known.
	Plugin string `json:"plugin"`
	// Message is the error of the first time. Times is how often the plugin failed in that place.
	Message string `json:"message"`
	Times   int    `json:"times"`
}

// MissedWakeup is a pod that was not woken although it would have fitted, or could have preempted others as it could not
// before.
type MissedWakeup struct {
	At simulate.Time `json:"at"`
	// Pod is namespace/name, Profile its scheduler name.
	Pod     string `json:"pod"`
	Profile string `json:"profile"`
	// Event is the label of the event that made the pod fit; several are separated by commas. It is empty for a change that the
	// scheduler does not announce. Change says the same in words, with the object.
	Event  string `json:"event"`
	Change string `json:"change"`
	// Node is where the pod would have gone; of several that are as good, one.
	Node string `json:"node"`
	// Victims are the pods that it would have preempted there, as namespace/name. There are none if it fitted as it was.
	Victims []string `json:"victims,omitempty"`
	// MissedBy are the plugins that should have had the pod woken.
	MissedBy []MissedBy `json:"blame"`
	// Until is when the pod was woken after all, and WokenBy the label of the event; both are empty if it waited to the end.
	Until   string `json:"until"`
	WokenBy string `json:"wokenBy"`
}

// MissedBy is a plugin that rejected a pod and did not have it woken when it did not reject it any more.
type MissedBy struct {
	Plugin string `json:"plugin"`
	// At and Event say which event the plugin missed. It is earlier than the one that made the pod fit if the plugin stopped
	// rejecting the pod while another plugin still rejected it.
	At     simulate.Time `json:"at"`
	Event  string        `json:"event"`
	Reason MissReason    `json:"why"`
}

// MissReason says why a plugin did not have a pod woken.
type MissReason string

const (
	// MissReasonSkipped: the hint returned QueueSkip.
	MissReasonSkipped MissReason = "skipped"
	// MissReasonNotRegistered: the plugin did not register the event.
	MissReasonNotRegistered MissReason = "notRegistered"
	// MissReasonNotAnnounced: the scheduler does not announce the event, registered or not.
	MissReasonNotAnnounced MissReason = "notAnnounced"
	// MissReasonNotAsked: the hint was not called for the pod, such as because a PreQueueingHintFn left the pod out.
	MissReasonNotAsked MissReason = "notAsked"
	// MissReasonHeldBack: the hint returned Queue, but only other pods were to be woken.
	MissReasonHeldBack MissReason = "heldBack"
)

// RunAudit replays an input and evaluates every decision to wake a pod or not. The observers of the options are not used.
// The errors are those of simulate.Run.
func RunAudit(ctx context.Context, input *simulate.Input, options simulate.Options) (*Audit, error) {
	start := time.Now()
	auditor := NewAuditor(ctx)
	auditor.Observe(&options)
	options.CustomResources = append(options.CustomResources[:len(options.CustomResources):len(options.CustomResources)], input.CustomResources()...)
	cluster, err := simulate.NewCluster(ctx, options)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	auditor.Watch(cluster)
	if err := cluster.Replay(input); err != nil {
		return nil, err
	}
	audit := auditor.Audit()
	audit.Summary.WallSeconds = time.Since(start).Seconds()
	return audit, nil
}
