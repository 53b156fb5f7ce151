// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features has the feature gates of kube-scheduler that can be set on the command line of a scheduler.
//
// [New] knows every gate that changes something in kube-scheduler, and those of the libraries that the process is made
// of, with their stage, default, lock and dependencies. A name that is none of them is an error. Rouse acts on a part
// of the gates; [Gates.Apply] names in a warning each other one that is switched from its default, so that no user
// believes to have changed something. [Gates.Enabled] tells what a gate comes to; what it switches is for the caller to
// put into the options of the packages concerned, which know nothing of gates.
//
// Gates of client-go, apiserver and component-base belong to the whole process: Apply hands them over to these
// libraries. Everything else belongs to the value. A Gates is safe for concurrent use once Apply has returned.
package features
