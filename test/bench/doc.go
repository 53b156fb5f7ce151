// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench puts the same work through Rouse and through kube-scheduler, in one process, and says how their costs
// compare.
//
//	go run ./bench                        the quick rows, as make bench does
//	go run ./bench -full -json all.json   all rows, as make bench-full does
//	go run ./bench -rows 'decisions/spread'   whatever matches, quick or not
//	go run ./bench -full -json all.json -resume
//	go run ./bench -from all.json -figures ../docs/performance -page ../docs/performance.md
//
// A row is one piece of work: a workload, a case and a size. Every contender does it several times, and they take turns,
// so that whatever else goes on in the machine falls on all of them. A run starts from a fresh scheduler, or from one that
// was put back into the same state, and after a garbage collection. What a row shows are medians of the runs, the ratio
// of these, and the spread, which is the difference between the slowest and the fastest run as a share of the median.
//
// Times are wall time and CPU time of the whole process, garbage collection included. Allocations are counted exactly.
//
// The report is written after every row. One that was cut short, or that lacks rows, is completed with -resume.
//
// # Contenders
//
// Both run with their defaults. Rouse looks at all nodes for every pod. kube-scheduler looks at a sample that shrinks
// with the size of the cluster. Where that makes a difference, and time does not matter, there is a third contender,
// kube-scheduler with percentageOfNodesToScore: 100.
//
// Both are driven through what they export, in the same way: see decisions.go, events.go and live.go.
package main
