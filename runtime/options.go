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
	// Clients is how plugins reach the API.
	Clients Clients
	// Recorder returns where the API events of the plugins of a profile go, by scheduler name. Where it is nil, or returns
	// nil, they go nowhere.
	Recorder func(schedulerName string) events.EventRecorderLogger
	// Managers know of devices, volume drivers and pod groups.
	Managers Managers

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

	// VerdictCacheBytes limits, in bytes, what Framework.Search and in-tree plugins remember from one cycle to the next: all
	// frameworks with the same snapshot together, of which the first counts. Zero means 128 MiB.
	VerdictCacheBytes int

	// Execution is the time, the randomness and the goroutines of plugins.
	Execution Execution

	// PluginFailed, unless it is nil, is told about panics and other mistakes of plugins, in addition to the log. It is called in the
	// middle of the call of the plugin, with whatever locks its caller holds, and concurrently.
	PluginFailed func(PluginFailure)

	// Logger gets what is not about one pod, and the stacks of plugins that panic. The zero value logs nothing.
	Logger klog.Logger

	// Metrics is told what happens; nil measures nothing.
	Metrics Metrics

	recorder events.EventRecorderLogger // of the profile

	// waiting and preBind are shared by the frameworks that NewProfiles builds together.
	waiting *waitingPods
	preBind *podsInPreBind

	// deferExtensionPoints leaves it to NewProfiles to put the plugins at their extension points.
	deferExtensionPoints bool
}

// Clients is how plugins reach the API. They get the fields as they are; plugins that need one fail to be built, or
// worse, where it is nil.
type Clients struct {
	ClientSet       clientset.Interface
	KubeConfig      *restclient.Config
	InformerFactory informers.SharedInformerFactory
}

// Managers know of objects that pods need in addition to a node. Plugins get them as they are; any may be nil where no
// plugin needs it.
type Managers struct {
	// DRA knows of the devices of dynamic resource allocation.
	DRA fwk.SharedDRAManager
	// CSI knows of the CSI drivers of nodes.
	CSI fwk.CSIManager
	// PodGroup knows of the groups that pods belong to.
	PodGroup fwk.PodGroupManager
}

// Execution is the time, the randomness and the goroutines of a scheduler and its plugins, which a simulation replaces. The
// zero value is real time, seed zero, and new goroutines.
type Execution struct {
	// Clock tells the time; nil means real time.
	Clock clock.WithDelayedExecution
	// Seed is where plugins that choose at random begin, and what a scheduler chooses by between nodes that are equally good.
	// Equal seeds make equal choices.
	Seed uint64
	// Exhaustive leaves nothing to chance, nor to what was done before, see framework.ExtendedHandle. It is for those who ask what
	// would happen.
	Exhaustive bool
	// Go starts a task that outlives the call that starts it, such as the eviction of pods, or a binding; nil means a new
	// goroutine. A simulation collects the tasks and runs them in order. A framework does not wait for them.
	Go func(task func())
	// Wait is how plugins wait inside an extension point, see framework.ExtendedHandle; nil means by the clock.
	Wait func(ctx context.Context, duration time.Duration, early <-chan struct{}) error
	// Calls knows which plugins are being called; nil makes one. Several frameworks may share it.
	Calls *Calls
	// CheckObjects has the pod compared after every call of a plugin that is none of this module, and one of the nodes that it was
	// asked about; what such a plugin changed is restored, and reported to PluginFailed as an [*ObjectChangedError]. It is for
	// tests and simulations: it takes time, and nothing else may change the objects meanwhile.
	CheckObjects bool
	// FactoryTimeout is how long, in real time, a factory may take to build a plugin; zero means forever. It is for those who build
	// plugins only to look at them: a factory that waits for a kind that no one serves would keep them waiting.
	FactoryTimeout time.Duration
}

// withDefaults fills in what NewFramework documents for fields that are left out.
func (o Options) withDefaults(schedulerName string) Options {
	if o.Recorder != nil {
		o.recorder = o.Recorder(schedulerName)
	}
	if o.recorder == nil {
		o.recorder = silentRecorder{}
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
	if o.waiting == nil {
		o.waiting = newWaitingPods()
	}
	if o.preBind == nil {
		o.preBind = newPodsInPreBind()
	}
	o.Execution = o.Execution.withDefaults()
	return o
}

func (e Execution) withDefaults() Execution {
	if e.Calls == nil {
		e.Calls = &Calls{}
	}
	if e.Go == nil {
		e.Go = func(task func()) { go task() }
	}
	if e.Clock == nil {
		e.Clock = clock.RealClock{}
	}
	if e.Wait == nil {
		e.Wait = framework.WaitOn(e.Clock)
	}
	return e
}
