// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Audit shows how good the decisions were to wake pods in a simulation or to leave them asleep. Every decision that an
// event led to, about a pod that waited for one, is compared with the truth: what PreFilter and Filter of the pod's
// profile say when they are asked right after the event and, if the pod fits nowhere, whether preemption finds a node in
// a dry run, in which nobody is evicted.
//
// Pods that plugins rejected later than in Filter, such as at Permit, are left out, since nobody can say without trying
// whether they would get any further. Preemption is that of a PostFilter plugin with a method
//
//	PreemptionHooks() preemption.Hooks
//
// as DefaultPreemption has it; what other PostFilter plugins could do is not known.
type Audit struct {
	// Profiles are the scheduler names of the configuration, in its order.
	Profiles []string     `json:"profiles"`
	Summary  AuditSummary `json:"summary"`
	// Decisions has a row for each event and plugin, by event and plugin.
	Decisions []Decisions `json:"decisions"`
	// Missed are the wake-ups that did not happen, in the order of time.
	Missed []MissedWakeup `json:"missed"`
	// Failures are mistakes of plugins: hints, attempts and questions for the truth that ended with an error or a panic. Where
	// a plugin failed, what is counted of it is not worth much.
	Failures []PluginFailure `json:"failures"`
	// Warnings say what could not be judged.
	Warnings []string `json:"warnings,omitempty"`
	// Incomplete tells that the truth could no longer be found out, for a reason that the last warning says.
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
	// are to blame.
	MissedWakeups int `json:"missedWakeups"`
	// Failed is how often plugins failed: the sum over [Audit.Failures].
	Failed int `json:"failed"`

	// VirtualSeconds is the time that passed in the simulation, WallSeconds how long the audit took.
	VirtualSeconds float64 `json:"virtualSeconds"`
	WallSeconds    float64 `json:"wallSeconds"`
}

// Decisions counts what an event meant to the pods that a plugin had rejected.
type Decisions struct {
	Event  string `json:"event"`
	Plugin string `json:"plugin"`
	// RightWakeups is how often the plugin had a pod woken that then fitted or came to be able to preempt, or that the
	// plugin itself did not keep off some node any more.
	RightWakeups int `json:"rightWakeups"`
	// WastedWakeups is how often it had a pod woken and still kept it off the same nodes.
	WastedWakeups int `json:"wastedWakeups"`
	// RightSkips is how often its hint left a pod asleep that would not have fitted nor preempted, or that another plugin
	// woke.
	RightSkips int `json:"rightSkips"`
	// MissedWakeups is how often it left a pod asleep that would have fitted or preempted.
	MissedWakeups int `json:"missedWakeups"`
	// Failed is how often its hint returned an error or panicked, which woke the pod, rightly or not.
	Failed int `json:"failed"`
}

// PluginFailure is a mistake of a plugin.
type PluginFailure struct {
	// At and Pod, as namespace/name, are of the first time. The pod is empty if the call was about none.
	At  simulate.Time `json:"at"`
	Pod string        `json:"pod"`
	// Event is the label of the event about which a hint was asked; empty for anything but a hint.
	Event string `json:"event,omitempty"`
	// Plugin is empty if it is not known.
	Plugin string `json:"plugin"`
	// Message is the error of the first time. Times is how often the plugin failed in that place.
	Message string `json:"message"`
	Times   int    `json:"times"`
}

// MissedWakeup is a pod that was left asleep although it would have fitted, or could have preempted others as it could
// not before.
type MissedWakeup struct {
	At simulate.Time `json:"at"`
	// Pod is namespace/name, Profile its scheduler name.
	Pod     string `json:"pod"`
	Profile string `json:"profile"`
	// Event is the label of what made the pod fit; several are separated by commas. It is empty for a change that the
	// scheduler does not announce. Change says the same in words, with the object.
	Event  string `json:"event"`
	Change string `json:"change"`
	// Node is where the pod would have gone; of several that are as good, one.
	Node string `json:"node"`
	// Victims are the pods that it would have preempted there, as namespace/name. There are none if it fitted as it was.
	Victims []string `json:"victims,omitempty"`
	// Blame is who should have had the pod woken, by plugin.
	Blame []Blame `json:"blame"`
	// Until is when the pod stopped waiting all the same, and WokenBy the label of why; both are empty if it slept to the
	// end.
	Until   string `json:"until"`
	WokenBy string `json:"wokenBy"`
}

// Blame is a plugin that rejected a pod and did not have it woken when it did not reject it any more.
type Blame struct {
	Plugin string `json:"plugin"`
	// At and Event say which event the plugin let pass. That is an earlier one than the one that made the pod fit if the
	// plugin changed its mind while another still rejected the pod.
	At    simulate.Time `json:"at"`
	Event string        `json:"event"`
	Why   Why           `json:"why"`
}

// Why says what let a pod sleep.
type Why string

const (
	// WhySkipped is a hint that said so.
	WhySkipped Why = "skipped"
	// WhyNotRegistered is a plugin that did not register the event.
	WhyNotRegistered Why = "notRegistered"
	// WhyNotAnnounced is an event that the scheduler does not announce, registered or not.
	WhyNotAnnounced Why = "notAnnounced"
	// WhyNotAsked is a hint that was not asked for the pod, such as by a PreQueueingHintFn that left the pod out.
	WhyNotAsked Why = "notAsked"
	// WhyHeldBack is a hint that wanted the pod back when only other pods were meant to be woken.
	WhyHeldBack Why = "heldBack"
)

// RunAudit replays an input and judges every decision to wake a pod or not. The observers of the options are not used.
// The errors are those of simulate.Run.
func RunAudit(ctx context.Context, input *simulate.Input, options simulate.Options) (*Audit, error) {
	start := time.Now()
	auditor := NewAuditor(ctx)
	auditor.Observe(&options)
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
