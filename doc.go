// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rouse is the root of a Kubernetes scheduling framework that any Go program can import; the root itself
// exports nothing.
//
// A plugin author starts with plugintest and the official interfaces of k8s.io/kube-scheduler/framework. To build a
// scheduler, start with app; to embed one, with scheduler; to learn what a configuration would do to a cluster, with simulate
// and inspect. Below them lie, from top to bottom, plugins (the in-tree plugins), runtime (which builds and runs plugins),
// queue and cache (the pods that wait, and the cluster as the scheduler sees it), profiles (the configuration), and framework
// (the values and events that all of them share). scheduler/metrics and scheduler/extender are what a scheduler measures, and
// the HTTP services that it calls. What merely serves these is internal.
package rouse
