// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

// Options is what a framework offers its plugins and how it runs them. Every field may be left out.
type Options struct {
	// ClientSet, KubeConfig and InformerFactory are handed to plugins as they are; plugins that need them fail to
	// be built, or worse, where they are nil.
	ClientSet       clientset.Interface
	KubeConfig      *restclient.Config
	InformerFactory informers.SharedInformerFactory

	// EventRecorder records the events that plugins write. Without one they go nowhere.
	EventRecorder events.EventRecorderLogger
	// EventRecorderFor, if not nil, is used instead: it returns the recorder of a profile.
	EventRecorderFor func(schedulerName string) events.EventRecorderLogger

	// Snapshot is the cluster as of the beginning of the scheduling cycle. Without one PreFilter sees no nodes.
	Snapshot fwk.SharedLister

	// Nominator knows the nominated pods. It is usually shared with the scheduling queue, which keeps it up to date. Without
	// one no pod is nominated.
	Nominator fwk.PodNominator
	// Activator is usually the scheduling queue, which is built from the framework; see [Framework.SetActivator]. Without one
	// no pod is activated.
	Activator fwk.PodActivator

	// Extenders are the HTTP extenders in the order in which they are asked.
	Extenders []fwk.Extender

	// Parallelism limits the goroutines of a loop over nodes; zero means 16. With one, everything
	// runs in the caller's goroutine, in order.
	Parallelism int

	// VerdictCacheBytes limits, in bytes, what Framework.Search remembers; zero means 128 MiB.
	VerdictCacheBytes int

	// WaitingPods and PodsInPreBind are shared by all profiles of a scheduler. New ones are made where they are nil.
	WaitingPods   *WaitingPods
	PodsInPreBind *PodsInPreBind

	// Go starts a task of a plugin that outlives the cycle, such as the eviction of pods; nil means a new goroutine. A
	// simulation collects the tasks and runs them in order. Nothing waits for them.
	Go func(task func())
	// Wait is how plugins wait inside an extension point, see framework.ExtendedHandle; nil means by the clock.
	Wait func(ctx context.Context, duration time.Duration, early <-chan struct{}) error
	// Seed is where plugins that choose at random begin. Equal seeds make equal choices.
	Seed uint64

	// Calls knows which plugins are being called; nil makes one. Several frameworks may share it.
	Calls *Calls
	// PluginFailed, unless it is nil, is told about panics and other mistakes of plugins, in addition to the log. It is called in the
	// middle of the call of the plugin, with whatever locks its caller holds, and concurrently.
	PluginFailed func(PluginFailure)
	// CheckObjects has the pod compared after every call of a plugin that is none of this module, and one of the nodes that it was
	// asked about; what such a plugin changed is restored, and reported to PluginFailed as an [*ObjectChangedError]. It is for
	// tests and simulations: it takes time, and nothing else may change the objects meanwhile.
	CheckObjects bool

	// Clock times the waiting for permission and the metrics; nil means the real one.
	Clock clock.WithDelayedExecution
	// Logger gets what is not about one pod, and the stacks of plugins that panic. The zero value logs nothing.
	Logger klog.Logger

	DRAManager      fwk.SharedDRAManager
	CSIManager      fwk.CSIManager
	PodGroupManager fwk.PodGroupManager

	// Metrics is told what happens.
	Metrics Metrics

	// wireLater leaves it to NewProfiles to put the plugins at their extension points.
	wireLater bool
}

// withDefaults fills in what NewFramework documents for fields that are left out.
func (o Options) withDefaults(schedulerName string) Options {
	if o.EventRecorderFor != nil {
		o.EventRecorder = o.EventRecorderFor(schedulerName)
	}
	if o.EventRecorder == nil {
		o.EventRecorder = silentRecorder{}
	}
	if o.Nominator == nil {
		o.Nominator = noNominator{}
	}
	if o.Activator == nil {
		o.Activator = noActivator{}
	}
	if o.VerdictCacheBytes == 0 {
		o.VerdictCacheBytes = defaultVerdictCacheBytes
	}
	if o.WaitingPods == nil {
		o.WaitingPods = NewWaitingPods()
	}
	if o.PodsInPreBind == nil {
		o.PodsInPreBind = NewPodsInPreBind()
	}
	if o.Calls == nil {
		o.Calls = &Calls{}
	}
	if o.Go == nil {
		o.Go = func(task func()) { go task() }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Wait == nil {
		o.Wait = framework.WaitOn(o.Clock)
	}
	return o
}
