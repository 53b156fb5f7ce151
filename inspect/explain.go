// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/rouse-scheduler/rouse/simulate"
)

// Explanation shows the state of a pod at some moment and, if it waits, which plugins rejected it, which events would wake
// it, and what blocks it on the closest nodes. Times are empty where they do not apply. In a simulation they are durations since the start, such as 12.5s, and
// in a cluster times of day in UTC, such as 2026-05-04T09:30:00Z.
type Explanation struct {
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	SchedulerName string `json:"schedulerName"`
	// At is the moment.
	At   string        `json:"at"`
	Pool simulate.Pool `json:"pool"`
	// Since is when the pod entered the pool; empty for one that had its node from the beginning. In a cluster, where the
	// scheduler does not remember when a pod was bound, it is the start time of the pod.
	Since string `json:"since"`
	// Node is the node of the pod, also of one that is gone, or the reserved one if PendingPermitPlugins is not empty.
	Node string `json:"node"`
	// NominatedNode is the node for which the pod is nominated; empty if there is none, or the pod has a node.
	NominatedNode string `json:"nominatedNode"`
	// Victims are the pods on that node that were preempted for the pod and have not ended yet, as namespace/name.
	Victims []string `json:"victims"`
	// Terminating reports whether the pod is being deleted, Preempted whether preemption chose it as a victim;
	// PreemptedFor are the pods of higher priority that are nominated for its node, as namespace/name.
	Terminating  bool     `json:"terminating"`
	Preempted    bool     `json:"preempted"`
	PreemptedFor []string `json:"preemptedFor"`
	// Phase is Succeeded or Failed for a pod that has finished, which uses no resources of its node any more; else empty.
	Phase string `json:"phase"`
	// MissedWakeup reports whether the pod waits for an event although a node is feasible now.
	MissedWakeup bool `json:"missedWakeup"`
	// PendingPermitPlugins are the Permit plugins that a pod with a reserved node waits for.
	PendingPermitPlugins []string `json:"permission"`
	// Attempts is how many scheduling cycles the pod had, and Message why the last one failed, or why there was none. Of
	// pods that have a node neither is known in a cluster.
	Attempts int    `json:"attempts"`
	Message  string `json:"message"`
	// WokenBy is the label of the event that woke the pod last.
	WokenBy string `json:"wokenBy"`
	// TriedAgainAt is when the backoff of a pod ends, or when a waiting pod is tried again without an event; empty for pods
	// that a PreEnqueue plugin rejects, which are not tried before it admits them.
	TriedAgainAt string `json:"triedAgainAt"`

	// RejectedAt is when the last attempt failed, and RejectedBy are the plugins that rejected the pod then, or reject
	// it at PreEnqueue.
	RejectedAt string      `json:"rejectedAt"`
	RejectedBy []Rejection `json:"rejectedBy"`
	// PostFilter is the message of the PostFilter plugins of that attempt, such as that of preemption.
	PostFilter string `json:"postFilter"`
	// RequeueEvents are the events that those plugins registered.
	RequeueEvents []PluginEvents `json:"wakes"`
	// RecentEvents are the last events for which the hint of a plugin that had rejected the pod was called, and its answer.
	RecentEvents []RecentEvent `json:"heard"`
	// RecentEventsSince is since when such events are recorded; empty if it is from the beginning, or none are. In a cluster
	// recording begins with the first request for the pod.
	RecentEventsSince string `json:"heardSince"`

	// ProbeError is why the plugins could not be called to find the blockers, in which case the rest is empty. In a cluster
	// another instance of each is built for that.
	ProbeError string `json:"notAsked"`
	// AllNodes is how many nodes there are. Everywhere has what blocks the pod on all of them, and Nodes are the closest
	// ones, with further blockers: those with the fewest first.
	AllNodes   int            `json:"allNodes"`
	Everywhere []Blocker      `json:"everywhere"`
	Nodes      []NodeBlockers `json:"nodes"`

	// Suggestions are the smallest changes with which a node would take a waiting pod, each verified on a fork of the cluster. They
	// come from package advice, and SuggestionsError says why there are none if they could not be looked for.
	Suggestions      []Suggestion `json:"suggestions"`
	SuggestionsError string       `json:"suggestionsError,omitempty"`
	// Scores are those of the best nodes for a pod that has one, if it were to be placed now, the best first.
	Scores []NodeScore `json:"scores"`
}

// NewExplanation returns an explanation of a pod that says nothing yet. Its lists are empty, not nil.
func NewExplanation(namespace, name, at string) *Explanation {
	return &Explanation{
		Namespace: namespace, Name: name, At: at,
		Victims: []string{}, PreemptedFor: []string{}, PendingPermitPlugins: []string{}, RejectedBy: []Rejection{}, RequeueEvents: []PluginEvents{},
		RecentEvents: []RecentEvent{}, Everywhere: []Blocker{}, Nodes: []NodeBlockers{}, Suggestions: []Suggestion{}, Scores: []NodeScore{},
	}
}

// NodeScore is how good a node is for a pod.
type NodeScore struct {
	Node  string `json:"node"`
	Total int64  `json:"total"`
	// Plugins have the score of each plugin, from 0 to 100, times its weight.
	Plugins []PluginScore `json:"plugins"`
}

// PluginScore is the weighted score of a plugin.
type PluginScore struct {
	Plugin string `json:"plugin"`
	Score  int64  `json:"score"`
}

// Rejection is the rejection of a pod by a plugin.
type Rejection struct {
	Plugin string `json:"plugin"`
	// PreEnqueue reports whether the plugin rejects the pod at PreEnqueue, so that it is not tried.
	PreEnqueue bool `json:"gate"`
	// Nodes is the number of nodes on which the plugin was the first to reject the pod.
	Nodes   int           `json:"nodes"`
	Reasons []ReasonCount `json:"reasons"`
}

// ReasonCount is a reason with the number of nodes for which a plugin gave it.
type ReasonCount struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// PluginEvents are the events that a plugin which rejected a pod registered.
type PluginEvents struct {
	Plugin string        `json:"plugin"`
	Events []PluginEvent `json:"events"`
}

// RecentEvent is an event for which the hint of a plugin was called about a pod.
type RecentEvent struct {
	At    string `json:"at"`
	Event string `json:"event"`
	// Object is what the event happened to, such as "Node n1"; empty if that is not known.
	Object string `json:"object"`
	// Plugin is the plugin of the hint; empty for events that wake every pod.
	Plugin string `json:"plugin"`
	Answer Answer `json:"answer"`
	// Message is the error, if the answer is one.
	Message string `json:"message,omitempty"`
}

// Answer is the answer of a hint to an event.
type Answer string

const (
	// AnswerQueue has the pod woken.
	AnswerQueue Answer = "queue"
	// AnswerSkip does not.
	AnswerSkip Answer = "skip"
	// AnswerError is a hint that failed, which wakes the pod too.
	AnswerError Answer = "error"
)

// NodeBlockers is what blocks a pod on one node.
type NodeBlockers struct {
	Name string `json:"name"`
	// BlockerCount counts the details of the blockers, or one for a blocker without; zero if the pod would fit.
	BlockerCount int       `json:"things"`
	Blockers     []Blocker `json:"obstacles"`
}

// Blocker is a plugin that rejects a pod, with its reason.
type Blocker struct {
	Plugin string `json:"plugin"`
	// Reason is the message of the plugin, Details what is known in addition, such as amounts.
	Reason  string   `json:"reason"`
	Details []string `json:"details"`
}

// count is how much a blocker adds to BlockerCount.
func (b *Blocker) count() int { return max(1, len(b.Details)) }

// DefaultNodes is how many of the closest nodes an explanation has, unless another number is asked for.
const DefaultNodes = 3

// maxRecentEvents is how many recent events an explanation has at most.
const maxRecentEvents = 20
