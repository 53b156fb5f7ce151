// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
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
	// Logger receives what the scheduler logs; the zero value drops it.
	Logger klog.Logger
	// Execution is time, randomness and goroutines, of the scheduler and of its plugins; the zero value is real time, seed zero
	// and new goroutines. Where Execution.Go is nil, not more than 512 bindings have one at a time, those that wait for PreBind
	// plugins aside; the others wait for their turn. Tasks of one pod's binding never overlap. Before it returns,
	// [Scheduler.Run] waits for all of them.
	Execution runtime.Execution
	// Observers see what the scheduler does.
	Observers Observers
	// Timeouts say how long things may take.
	Timeouts Timeouts
	// Features are the parts of the scheduler that can be switched.
	Features Features
}

// Observers see what a scheduler does. Any may be nil.
type Observers struct {
	// Scheduler is told about attempts and bindings.
	Scheduler Observer
	// Queue is told about every move in the queue.
	Queue queue.Observer
	// Metrics receives the measurements of the plugin runtime.
	Metrics runtime.Metrics
}

// Timeouts say how long things may take. The zero value has the defaults.
type Timeouts struct {
	// Unschedulable is how long a pod may wait for an event before it is tried again without one; zero means five minutes.
	Unschedulable time.Duration
	// Scheduling is how long a scheduling cycle may take before [Scheduler.Run] ends its context, which fails the pod if
	// plugins heed it, and [Scheduler.Stuck] says which plugin does not; zero means a minute, a negative one no limit.
	Scheduling time.Duration
	// AssumedPod is how long the cache believes in a pod that was given a node and is never seen bound; zero means forever.
	// It counts from when the node was chosen, so it must be longer than waiting for permission, which may take 15 minutes,
	// and binding.
	AssumedPod time.Duration
}

// Features are the parts of a scheduler that can be switched. The zero value has what kube-scheduler has by default.
type Features struct {
	// DisablePopFromBackoff has pods wait for the end of their backoff even while nothing else is to be done.
	DisablePopFromBackoff bool
	// DisableNominatedNodeName keeps the scheduler from writing the node that it chose into a pod's status when the pod is to
	// wait for permission, or for plugins to prepare the node, before it is bound.
	DisableNominatedNodeName bool
	// DisableVerdictCaches makes every cycle ask every plugin about every node, as if nothing were known from cycles
	// before. It is slower, and only there to find errors in it: decisions are the same.
	DisableVerdictCaches bool
	// Devices says which parts of dynamic resource allocation differ from the default.
	Devices DeviceFeatures
}

// DeviceFeatures say which parts of dynamic resource allocation differ from the default. The zero value has what is on by
// default in Kubernetes 1.37. Each field is named with the feature gate that it stands for.
type DeviceFeatures struct {
	// What is on by default is switched off by NoTaints (DRADeviceTaints), NoTaintRules (DRADeviceTaintRules), NoPartitions
	// (DRAPartitionableDevices), NoConsumableCapacity (DRAConsumableCapacity), NoBindingConditions
	// (DRADeviceBindingConditions) and NoFilterTimeout (DRASchedulerFilterTimeout).
	NoTaints, NoTaintRules, NoPartitions, NoConsumableCapacity, NoBindingConditions, NoFilterTimeout bool
	// What is off by default is switched on by FractionalCapacity (DRAFractionalCapacityRange), DerivedAttributes
	// (DRADerivedAttributes), CompatibilityGroups (DRADeviceCompatibilityGroups) and ListAttributes
	// (DRAListTypeAttributes).
	FractionalCapacity, DerivedAttributes, CompatibilityGroups, ListAttributes bool
}

func (o *Options) complete() error {
	if o.Client == nil {
		return errors.New("building a scheduler: Options.Client is nil; pass the clientset that it works with")
	}
	if o.Informers == nil {
		return errors.New("building a scheduler: Options.Informers is nil; create a factory with NewInformerFactory")
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
	if o.Execution.Calls == nil {
		o.Execution.Calls = &runtime.Calls{}
	}
	if o.Timeouts.Scheduling == 0 {
		o.Timeouts.Scheduling = defaultSchedulingTimeout
	}
	if o.Execution.Clock == nil {
		o.Execution.Clock = clock.RealClock{}
	}
	if o.Recorder == nil {
		o.Recorder = func(string) events.EventRecorderLogger { return nil }
	}
	if o.Observers.Scheduler == nil {
		o.Observers.Scheduler = NopObserver{}
	}
	return nil
}
