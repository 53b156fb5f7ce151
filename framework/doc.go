// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework holds the concrete values behind the official plugin interfaces of
// k8s.io/kube-scheduler/framework, and the vocabulary of cluster events.
//
// # Values
//
// [NodeInfo], [PodInfo], [QueuedPodInfo], [Resource], [CycleState] and [NodeToStatus] implement the interfaces of the
// same names. A plugin only ever sees the interfaces; the packages above (cache, queue, runtime, scheduler) and tests
// use the concrete types. [FitError] and [Diagnosis] say why a pod fits no node.
//
// # Events
//
// Everything that can wake a pod is a [k8s.io/kube-scheduler/framework.ClusterEvent]: a resource and an action. One
// table (see [Resources] and [Actions]) names them all; labels, the expansion of wildcards and the informer that
// delivers each resource come from it. [PodEvents] and [NodeEvents] turn two versions of an object into events,
// [Matches] says whether a registration covers an event, and [EventMap] is the map from registered events to the
// plugins waiting for them, which requeueing and explanations share.
//
// # For plugin authors
//
// [NewResource], [DefaultNormalizeScore], [PodsToActivate], [HostPorts] and [HintObjects] are what nearly every
// plugin needs in addition to the interfaces.
//
// # Concurrency
//
// Values are plain: no type of this package starts a goroutine, and none may be changed while another goroutine reads
// it, except where its documentation says otherwise.
package framework
