// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of Rouse, for the rouse binary and for schedulers with plugins of their own.
//
// A scheduler with its own plugins is a main package of one function:
//
//	func main() {
//		os.Exit(app.Run(app.NewSchedulerCommand(
//			app.WithPlugin("PodState", podstate.New),
//		)))
//	}
//
// Its plugins take part in every command in addition to the in-tree ones: in a cluster, in simulations, in the event map, in
// the checks of configurations. [NewSchedulerCommand] and [WithPlugin] have the shape of their namesakes in
// kube-scheduler, so that a custom scheduler moves over by changing one import. Its manifests need no change either: with
// flags alone, and no command, the binary does what its command run does.
//
// # Exit codes
//
//	0  done
//	1  a check failed: an expectation of a scenario, a comparison that found differences, an audit that found a missed
//	   wake-up; or a scheduler could not start, or lost its Lease
//	2  wrong usage, or input that cannot be read or is not valid
//
// [Run] prints errors to standard error, those about files with file, line and column, and returns the code.
//
// Commands may be made any number of times in a process. A command must not be run twice, nor by two goroutines.
package app
