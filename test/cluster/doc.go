// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs the rouse binary, as a process of its own, against a real API server: etcd and kube-apiserver are
// started in the test process, with RBAC. The scheduler has a service account with the rights that deploy gives it,
// and nothing else.
//
// What a test uses:
//
//   - [ControlPlane]: etcd and the API server, which can be restarted;
//   - [Front]: a reverse proxy before the API server, which keeps its address over restarts, injects [Faults], and keeps
//     a [Record] of what clients asked for;
//   - [Fixture]: the two, with a folder of deploy applied;
//   - [Scheduler]: a process of rouse or of kube-scheduler, its log, its own server, and what it used of the machine;
//   - [BindingWatch]: follows the pods through the API, and checks that each was bound once and within capacity.
//
// The environment variables NODES, PODS and SEED choose the size and the faults, LOGS a folder that keeps the logs.
// There is a real server with real time behind these tests, so they wait for what should happen, with a limit.
package cluster
