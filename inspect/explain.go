// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/rouse-scheduler/rouse/simulate"
)

// Explanation shows where a pod is at some moment and, if it waits, why, for what, and how far it is from a node.
// Times are empty where there is nothing to say. In a simulation they are durations since the start, such as 12.5s, and
// in a cluster times of day in UTC, such as 2026-05-04T09:30:00Z.
type Explanation struct {
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	SchedulerName string `json:"schedulerName"`
	// At is the moment.
	At   string        `json:"at"`
	Pool simulate.Pool `json:"pool"`
	// Since is when the pod came into the pool; empty for one that had its node from the beginning. In a cluster, where
	// the scheduler does not remember that, it is when the kubelet began with a pod that has a node.
	Since string `json:"since"`
	// Node is where the pod is or was, or where it is going if Permission is not empty.
	Node string `json:"node"`
	// NominatedNode is the node that preemption made or makes room on for the pod; empty if there is none, or the pod has
	// a node.
	NominatedNode string `json:"nominatedNode"`
	// Terminating tells that the pod is being deleted. Preempted tells that preemption chose it as a victim, and
	// PreemptedFor are the pods of higher priority that are nominated for its node, as namespace/name.
	Terminating  bool     `json:"terminating"`
	Preempted    bool     `json:"preempted"`
	PreemptedFor []string `json:"preemptedFor"`
	// Phase is Succeeded or Failed for a pod that has finished, which takes nothing from its node any more; else empty.
	Phase string `json:"phase"`
	// MissedWakeup tells that the pod waits for an event although a node would take it now.
	MissedWakeup bool `json:"missedWakeup"`
	// Permission are the plugins whose permission the pod needs to be bound.
	Permission []string `json:"permission"`
	// Attempts is how many scheduling cycles the pod had, and Message why the last one failed, or why there was none. Of
	// pods that have a node neither is known in a cluster.
	Attempts int    `json:"attempts"`
	Message  string `json:"message"`
	// WokenBy is the label of the event that woke the pod last.
	WokenBy string `json:"wokenBy"`
	// TriedAgainAt is when a pod in backoff is ready, or a waiting one is tried even if nothing happens; empty for gated
	// pods, which are not tried before the plugin that gates them lets them.
	TriedAgainAt string `json:"triedAgainAt"`

	// RejectedAt is when the last attempt failed, and RejectedBy are the plugins that rejected the pod then, or gate it.
	RejectedAt string      `json:"rejectedAt"`
	RejectedBy []Rejection `json:"rejectedBy"`
	// PostFilter is what the plugins said then that could have made room, such as by preemption.
	PostFilter string `json:"postFilter"`
	// Wakes are the events that those plugins wait for.
	Wakes []Wake `json:"wakes"`
	// Heard are the last events about which a plugin that had rejected the pod was asked, and what it said.
	Heard []Heard `json:"heard"`
	// HeardSince is since when such events are remembered; empty if it is from the beginning, or nothing is. In a cluster
	// that begins when somebody asks about the pod.
	HeardSince string `json:"heardSince"`

	// NotAsked is why the plugins could not be asked what is in the way, in which case the rest is empty. In a cluster they
	// have to be built once more for that.
	NotAsked string `json:"notAsked"`
	// AllNodes is how many nodes there are. Everywhere is what keeps the pod off all of them, and Nodes are the closest
	// ones, with what else is in the way: those with the fewest things first.
	AllNodes   int           `json:"allNodes"`
	Everywhere []Obstacle    `json:"everywhere"`
	Nodes      []NodeOutlook `json:"nodes"`
}

// Rejection is what a plugin has against a pod.
type Rejection struct {
	Plugin string `json:"plugin"`
	// Gate tells that the plugin does not let the pod be tried.
	Gate bool `json:"gate"`
	// Nodes is on how many nodes the plugin was the first to reject the pod.
	Nodes   int           `json:"nodes"`
	Reasons []ReasonCount `json:"reasons"`
}

// ReasonCount is on how many nodes a reason was given.
type ReasonCount struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// Wake is the events that a plugin waits for which rejected a pod.
type Wake struct {
	Plugin string        `json:"plugin"`
	Events []PluginEvent `json:"events"`
}

// Heard is an event about which a plugin was asked whether it helps a pod.
type Heard struct {
	At    string `json:"at"`
	Event string `json:"event"`
	// Object is what the event happened to, such as "Node n1"; empty if that is not known.
	Object string `json:"object"`
	// Plugin is who was asked; empty for events that wake every pod.
	Plugin string `json:"plugin"`
	Answer Answer `json:"answer"`
	// Message is the error, if the answer is one.
	Message string `json:"message,omitempty"`
}

// Answer is what a plugin says about an event.
type Answer string

const (
	// AnswerQueue wants the pod tried again.
	AnswerQueue Answer = "queue"
	// AnswerSkip leaves the pod asleep.
	AnswerSkip Answer = "skip"
	// AnswerError is a hint that failed, which wakes the pod too.
	AnswerError Answer = "error"
)

// NodeOutlook is what keeps a pod off one node.
type NodeOutlook struct {
	Name string `json:"name"`
	// Things is how much is in the way; zero if the pod would fit.
	Things    int        `json:"things"`
	Obstacles []Obstacle `json:"obstacles"`
}

// Obstacle is a plugin that rejects a pod.
type Obstacle struct {
	Plugin string `json:"plugin"`
	// Reason is the plugin's own, Details what is known beyond that, such as amounts.
	Reason  string   `json:"reason"`
	Details []string `json:"details"`
}

// things is how much an obstacle counts.
func (o *Obstacle) things() int { return max(1, len(o.Details)) }

// DefaultNodes is how many of the closest nodes an explanation has, unless it is asked for others.
const DefaultNodes = 3

// maxHeard is how many events an explanation has.
const maxHeard = 20
