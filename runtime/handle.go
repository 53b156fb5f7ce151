// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
)

// SetActivator replaces the activator of the options; it is usually the scheduling queue, which is built from the framework. It must be called before the framework is used.
func (f *Framework) SetActivator(activator fwk.PodActivator) { f.options.Activator = activator }

// AddNominatedPod implements fwk.PodNominator.
func (f *Framework) AddNominatedPod(logger klog.Logger, pod fwk.PodInfo, info *fwk.NominatingInfo) {
	f.options.Nominator.AddNominatedPod(logger, pod, info)
}

// DeleteNominatedPodIfExists implements fwk.PodNominator.
func (f *Framework) DeleteNominatedPodIfExists(pod *v1.Pod) {
	f.options.Nominator.DeleteNominatedPodIfExists(pod)
}

// UpdateNominatedPod implements fwk.PodNominator.
func (f *Framework) UpdateNominatedPod(logger klog.Logger, oldPod *v1.Pod, newPod fwk.PodInfo) {
	f.options.Nominator.UpdateNominatedPod(logger, oldPod, newPod)
}

// NominatedPodsForNode implements fwk.PodNominator.
func (f *Framework) NominatedPodsForNode(nodeName string) []fwk.PodInfo {
	return f.options.Nominator.NominatedPodsForNode(nodeName)
}

// Activate implements fwk.PodActivator.
func (f *Framework) Activate(logger klog.Logger, pods map[string]*v1.Pod) {
	f.options.Activator.Activate(logger, pods)
}

// SnapshotSharedLister implements fwk.Handle.
func (f *Framework) SnapshotSharedLister() fwk.SharedLister { return f.options.Snapshot }

// MutableSnapshotSharedLister implements fwk.Handle: a view of the snapshot for trying out changes, which no other caller sees.
// It is that of the snapshot's method Mutable() fwk.MutableSnapshotSharedLister, and nil if it has none.
func (f *Framework) MutableSnapshotSharedLister() fwk.MutableSnapshotSharedLister {
	if snapshot, ok := f.options.Snapshot.(interface {
		Mutable() fwk.MutableSnapshotSharedLister
	}); ok {
		return snapshot.Mutable()
	}
	return nil
}

// IterateOverWaitingPods implements fwk.Handle. It calls visit for every pod that waits when it is called, those first that
// have waited longest. visit may do anything; a pod about which it decides may end waiting meanwhile.
func (f *Framework) IterateOverWaitingPods(visit func(fwk.WaitingPod)) {
	f.options.waiting.iterate(visit)
}

// GetWaitingPod implements fwk.Handle; it is nil for a pod that does not wait.
func (f *Framework) GetWaitingPod(uid types.UID) fwk.WaitingPod {
	return f.options.waiting.pod(uid)
}

// RejectWaitingPod implements fwk.Handle. It returns false if the pod does not wait any more.
func (f *Framework) RejectWaitingPod(uid types.UID) bool {
	waiting := f.options.waiting.pod(uid)
	return waiting != nil && waiting.Reject("", "removed")
}

// AddPodInPreBind implements fwk.Handle.
func (f *Framework) AddPodInPreBind(uid types.UID, cancel context.CancelCauseFunc) {
	f.options.preBind.add(uid, cancel)
}

// GetPodInPreBind implements fwk.Handle; it is nil for a pod that is not there.
func (f *Framework) GetPodInPreBind(uid types.UID) fwk.PodInPreBind {
	return f.options.preBind.pod(uid)
}

// RemovePodInPreBind implements fwk.Handle.
func (f *Framework) RemovePodInPreBind(uid types.UID) { f.options.preBind.remove(uid) }

// ClientSet implements fwk.Handle.
func (f *Framework) ClientSet() clientset.Interface { return f.options.Clients.ClientSet }

// KubeConfig implements fwk.Handle.
func (f *Framework) KubeConfig() *restclient.Config { return f.options.Clients.KubeConfig }

// EventRecorder implements fwk.Handle; it is never nil.
func (f *Framework) EventRecorder() events.EventRecorderLogger { return f.options.recorder }

// SharedInformerFactory implements fwk.Handle.
func (f *Framework) SharedInformerFactory() informers.SharedInformerFactory {
	return f.options.Clients.InformerFactory
}

// SharedDRAManager implements fwk.Handle.
func (f *Framework) SharedDRAManager() fwk.SharedDRAManager { return f.options.Managers.DRA }

// SharedCSIManager implements fwk.Handle.
func (f *Framework) SharedCSIManager() fwk.CSIManager { return f.options.Managers.CSI }

// Extenders implements fwk.Handle.
func (f *Framework) Extenders() []fwk.Extender { return f.options.Extenders }

// Parallelizer implements fwk.Handle.
func (f *Framework) Parallelizer() fwk.Parallelizer { return f.parallelizer }

// APIDispatcher implements fwk.Handle; it is nil, because API calls are not dispatched asynchronously.
func (f *Framework) APIDispatcher() fwk.APIDispatcher { return nil }

// APICacher implements fwk.Handle; it is nil, because API calls are not dispatched asynchronously.
func (f *Framework) APICacher() fwk.APICacher { return nil }

// PodGroupManager implements fwk.Handle.
func (f *Framework) PodGroupManager() fwk.PodGroupManager { return f.options.Managers.PodGroup }

// Go implements framework.ExtendedHandle: it starts a task that outlives the cycle, see [Options].
func (f *Framework) Go(task func()) { f.options.Execution.Go(task) }

// Wait implements framework.ExtendedHandle: it waits as the options say, or by the clock.
func (f *Framework) Wait(ctx context.Context, duration time.Duration, early <-chan struct{}) error {
	return f.options.Execution.Wait(ctx, duration, early)
}

// Clock implements framework.ExtendedHandle: the clock of the options, or the real one.
func (f *Framework) Clock() clock.WithDelayedExecution { return f.options.Execution.Clock }

// Metrics implements framework.ExtendedHandle: the metrics of the options, which may be nil.
func (f *Framework) Metrics() any { return f.options.Metrics }

// Seed implements framework.ExtendedHandle: the seed of the options.
func (f *Framework) Seed() uint64 { return f.options.Execution.Seed }

// Exhaustive implements framework.ExtendedHandle: that of the options.
func (f *Framework) Exhaustive() bool { return f.options.Execution.Exhaustive }

// silentRecorder drops events.
type silentRecorder struct{}

// Eventf implements events.EventRecorder.
func (silentRecorder) Eventf(_, _ apiruntime.Object, _, _, _, _ string, _ ...any) {}

// WithLogger implements events.EventRecorderLogger.
func (r silentRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

// noNominator nominates nothing.
type noNominator struct{}

func (noNominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}
func (noNominator) DeleteNominatedPodIfExists(*v1.Pod)                            {}
func (noNominator) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo)          {}
func (noNominator) NominatedPodsForNode(string) []fwk.PodInfo                     { return nil }

// noActivator activates nothing.
type noActivator struct{}

func (noActivator) Activate(klog.Logger, map[string]*v1.Pod) {}
