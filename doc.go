// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rouse is the root of a Kubernetes scheduling framework that any Go program can import; the root itself
// exports nothing.
//
// A plugin author starts with plugintest and the official interfaces of k8s.io/kube-scheduler/framework. Somebody who
// builds a scheduler of their own starts with app, somebody who embeds one with scheduler, and somebody who wants to
// know what a configuration would do to a cluster with simulate. Below them lie, from top to bottom, plugins (the
// in-tree plugins), runtime (which runs plugins), queue and cache (what waits, and where it could go), profiles (the
// configuration), and framework (the values and events that all of them speak of). Beside scheduler are metrics (what it
// measures), extender (services that it asks over HTTP) and features (feature gates), and above simulate is inspect (what
// people are shown). Small ones are manifest (reads YAML, and says where it is wrong) and apiwrite (writes to the API
// server).
package rouse
