// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources/devices"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Options are the parts that a [Scheduler] is built from. Client and Informers are required; the zero value of
// everything else is the default.
type Options struct {
	// Configuration has the profiles and the settings; nil means [profiles.Default].
	Configuration *profiles.Configuration
	// Registry has every plugin that a profile may name, the in-tree ones included; nil means
	// [plugins.NewInTreeRegistry].
	Registry runtime.Registry
	// Client reads and writes the API.
	Client clientset.Interface
	// Informers deliver the objects. [NewInformerFactory] makes a factory that delivers the pods that a scheduler needs, and
	// [InformerOptions].TrimPods one that keeps less of each.
	Informers informers.SharedInformerFactory
	// DynamicInformers deliver custom resources for which plugins registered events; nil ignores such registrations.
	DynamicInformers dynamicinformer.DynamicSharedInformerFactory
	// KubeConfig is handed to plugins that make clients of their own. It may be nil.
	KubeConfig *restclient.Config
	// Recorder returns where a profile's API events go, by scheduler name; nil writes none.
	Recorder func(schedulerName string) events.EventRecorderLogger
	// Extenders are called in addition to the plugins of every profile. Those of the configuration are not among them by
	// themselves: the package extender makes them.
	Extenders []fwk.Extender
	// Clock tells the time; nil means real time.
	Clock clock.WithDelayedExecution
	// Devices says which parts of dynamic resource allocation differ from the default.
	Devices devices.Switches
	// Logger receives what the scheduler logs; the zero value drops it.
	Logger klog.Logger
	// DisableVerdictCaches makes every cycle ask every plugin about every node, as if nothing were known from cycles
	// before. It is slower, and only there to find errors in it: decisions are the same.
	DisableVerdictCaches bool
	// Seed decides between nodes that are equally good, and where plugins that choose at random begin. Equal seeds make
	// equal choices.
	Seed uint64
	// Go starts a task that belongs to a binding cycle, or that a plugin wants done in the background, such as evictions;
	// nil means a new goroutine, but not for more than 512 bindings at a time, those that wait for PreBind plugins aside;
	// the others wait for their turn. Tasks of one pod's binding never overlap. Before it returns, [Scheduler.Run] waits for
	// all of them.
	Go func(task func())
	// Wait is how plugins wait inside an extension point, see framework.ExtendedHandle; nil means by the clock.
	Wait func(ctx context.Context, duration time.Duration, early <-chan struct{}) error
	// Observer is told about attempts and bindings; nil means no observer.
	Observer Observer
	// QueueObserver is told about every move in the queue; nil means no observer.
	QueueObserver queue.Observer
	// Metrics receives the measurements of the plugin runtime; nil measures nothing.
	Metrics runtime.Metrics
	// Calls knows which plugins are being called; nil makes one.
	Calls *runtime.Calls
	// CheckObjects has plugins watched that change pods and nodes; see the field of runtime.Options.
	CheckObjects bool
	// MaxInUnschedulable is how long a pod may wait for an event before it is tried again without one; zero means five
	// minutes.
	MaxInUnschedulable time.Duration
	// SchedulingTimeout is how long a scheduling cycle may take before [Scheduler.Run] ends its context, which fails the
	// pod if plugins heed it, and [Scheduler.Stuck] says which plugin does not; zero means a minute, a negative one no
	// limit.
	SchedulingTimeout time.Duration
	// DisablePopFromBackoff has pods wait for the end of their backoff even while nothing else is to be done.
	DisablePopFromBackoff bool
	// DisableNominatedNodeName keeps the scheduler from writing the node that it chose into a pod's status when the pod is to
	// wait for permission, or for plugins to prepare the node, before it is bound.
	DisableNominatedNodeName bool
	// AssumedPodTTL is how long the cache believes in a pod that was given a node and is never seen bound; zero means
	// forever. It counts from when the node was chosen, so it must be longer than waiting for permission, which may take 15
	// minutes, and binding.
	AssumedPodTTL time.Duration
}

func (o *Options) complete() error {
	if o.Client == nil {
		return errors.New("building a scheduler: Options.Client is nil; pass the clientset that it works with")
	}
	if o.Informers == nil {
		return errors.New("building a scheduler: Options.Informers is nil; make a factory with NewInformerFactory")
	}
	if o.Configuration == nil {
		o.Configuration = profiles.Default()
	}
	if _, err := o.Configuration.ApplyExtenders(); err != nil {
		return fmt.Errorf("building a scheduler: couldn't build extenders: %w", err)
	}
	if len(o.Configuration.Extenders) > 0 && len(o.Extenders) == 0 {
		return errors.New("building a scheduler: the configuration has extenders, but Options.Extenders is empty; " +
			"extender.New makes them of the configuration")
	}
	if o.Registry == nil {
		o.Registry = plugins.NewInTreeRegistry()
	}
	if o.Calls == nil {
		o.Calls = &runtime.Calls{}
	}
	if o.SchedulingTimeout == 0 {
		o.SchedulingTimeout = defaultSchedulingTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Recorder == nil {
		o.Recorder = func(string) events.EventRecorderLogger { return nil }
	}
	if o.Observer == nil {
		o.Observer = NopObserver{}
	}
	return nil
}
