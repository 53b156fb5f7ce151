// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Command perf runs the workloads of kube-scheduler's own benchmark suite, scheduler_perf, with rouse and with
// kube-scheduler in turns. The files of the suite are read where the module k8s.io/kubernetes lies that go.mod names. Each
// run has an API server and an etcd of its own, in a process together with what creates the objects, and the scheduler as
// another process. Run it in the module of the tests; -help says which workloads and what else can be chosen.
//
// How a file becomes a run: suite.go reads files, operation.go their operations, and each operation has a type that
// prepares it (params.go, template.go) and does it (nodes.go, pods.go, steady.go, anything.go, waiting.go, claims.go).
// run.go starts the API server and the scheduler, tracker.go follows the pods, phase.go and attempts.go measure. main.go
// chooses workloads, worker.go runs each in a process, and table.go and page.go write what came out.
package main
