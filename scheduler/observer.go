// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Observer is told what becomes of pods. Its methods are called from the goroutine that runs the cycle, so that they
// must return quickly, and concurrently for different pods.
type Observer interface {
	// AttemptStarted is called when a pod was taken from the queue to find a node for it; attempt counts from one.
	AttemptStarted(pod *v1.Pod, attempt int)
	// AttemptFailed is called when the attempt, or the binding that followed it, failed.
	AttemptFailed(failure Failure)
	// PodBound is called when a pod was bound to a node.
	PodBound(pod *v1.Pod, nodeName string)
}

// Failure is why an attempt came to nothing.
type Failure struct {
	Pod     *v1.Pod
	Attempt int
	// Node is where the pod should have gone, if the attempt got that far.
	Node string
	// Status is the reason; its code tells a rejection by plugins from an error.
	Status *fwk.Status
	// Diagnosis has the verdict of every node; nil unless plugins rejected the pod.
	Diagnosis *framework.Diagnosis
}

type noObserver struct{}

func (noObserver) AttemptStarted(*v1.Pod, int) {}
func (noObserver) AttemptFailed(Failure)       {}
func (noObserver) PodBound(*v1.Pod, string)    {}
