// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/runtime"
)

// refusedChange reports a plugin that called a method that changes a node info of the snapshot.
func (s *Scheduler) refusedChange(method, node string) {
	call, source := s.calls.Caller()
	err := fmt.Errorf("plugin %q called %s on the node info of node %s in %s, which is shared with other plugins and profiles; nothing was changed; "+
		"change a copy, which Snapshot returns", call.Plugin, method, node, call.Method)
	if source != "" {
		err = fmt.Errorf("%w (at %s)", err, source)
	}
	s.options.Logger.Error(err, "A change of a shared node info was refused", "node", node)
	s.options.Observers.Scheduler.PluginFailed(runtime.PluginFailure{Plugin: call.Plugin, Method: call.Method, Pod: call.Pod, Err: err})
}

// podIdentity is what the scheduler goes by in the course of an attempt. The pod belongs to the informer, and no plugin may
// change it.
type podIdentity struct {
	namespace, name, resourceVersion string
	uid                              types.UID
	node, schedulerName              string
	deleted                          *metav1.Time
	phase                            v1.PodPhase
}

func identityOf(pod *v1.Pod) podIdentity {
	return podIdentity{
		namespace: pod.Namespace, name: pod.Name, resourceVersion: pod.ResourceVersion, uid: pod.UID,
		node: pod.Spec.NodeName, schedulerName: pod.Spec.SchedulerName, deleted: pod.DeletionTimestamp, phase: pod.Status.Phase,
	}
}

// restore gives the pod of an attempt back what a plugin changed, so that the queue, the cache and the informer know it
// again, and reports that.
func (s *Scheduler) restore(a *attempt) {
	pod, before := a.info.Pod, &a.identity
	if identityOf(pod) == *before {
		return
	}
	pod.Namespace, pod.Name, pod.ResourceVersion, pod.UID = before.namespace, before.name, before.resourceVersion, before.uid
	pod.Spec.NodeName, pod.Spec.SchedulerName = before.node, before.schedulerName
	pod.DeletionTimestamp, pod.Status.Phase = before.deleted, before.phase
	suspects := "one of its plugins"
	if outOfTree := a.profile.OutOfTreePlugins(); len(outOfTree) > 0 {
		suspects = "one of " + strings.Join(slices.Sorted(slices.Values(outOfTree)), ", ")
	}
	err := errors.New("the name, UID, node or another identifying field of the pod was changed during its scheduling cycle, by " + suspects +
		"; it was restored; a plugin must change a DeepCopy instead")
	s.options.Logger.Error(err, "A plugin changed its pod", "pod", klog.KObj(pod), "profile", a.profile.ProfileName())
	s.options.Observers.Scheduler.PluginFailed(runtime.PluginFailure{Pod: pod, Err: err})
}
