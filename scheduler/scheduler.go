// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Scheduler assigns pods to nodes. Make one with [New].
type Scheduler struct {
	options  Options
	profiles runtime.Profiles
	eventMap framework.EventMap
	queue    *queue.Queue
	// nominator is shared by the queue and the profiles.
	nominator *queue.Nominator
	cache     *cache.Cache
	devices   *devices.Manager
	csi       *csi.Manager
	pods      listersv1.PodLister
	nodes     listersv1.NodeLister
	handlers  []handlerRegistration

	clock          clock.WithDelayedExecution
	calls          *runtime.Calls
	watchdog       watchdog
	bindingLimiter *bindingLimiter // for bindings; nil if Execution.Go starts them
	// background counts the pods that have a node and are not bound yet, those that wait for permission included, and the
	// tasks that plugins started.
	background sync.WaitGroup

	// The rest belongs to the goroutine that runs scheduling cycles.

	snapshot *cache.Snapshot
	// nextStart is where the search for nodes begins, so that it does not always favour the same ones.
	nextStart     int
	random        *rand.Rand
	filterResults []filterResult
}

// New builds a scheduler and registers its event handlers on the informers, which it does not start. It fails, naming
// the profile and the plugin, when the configuration cannot be carried out.
func New(ctx context.Context, options Options) (*Scheduler, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	s := &Scheduler{
		options:  options,
		snapshot: &cache.Snapshot{},
		pods:     options.Informers.Core().V1().Pods().Lister(),
		nodes:    options.Informers.Core().V1().Nodes().Lister(),
		clock:    options.Execution.Clock,
		calls:    options.Execution.Calls,
		random:   rand.New(rand.NewPCG(options.Execution.Seed, 0)),
	}
	s.cache = cache.New(cache.Options{
		AssumedPodTTL: options.Timeouts.AssumedPod, Clock: options.Execution.Clock, Logger: options.Logger, RefusedChange: s.refusedChange,
	})
	s.watchdog.limit = options.Timeouts.Scheduling
	if options.Execution.Go == nil {
		s.bindingLimiter = &bindingLimiter{limit: maxBindings}
		s.options.Execution.Go = s.bindingLimiter.start
	}
	s.nominator = queue.NewNominator(s.pods)
	var err error
	s.devices, err = devices.New(ctx, devices.Options{
		Informers: options.Informers, Switches: devices.Switches(options.Features.Devices), Touched: s.cache.TouchNode, Logger: options.Logger,
	})
	if err != nil {
		return nil, err
	}
	s.csi = csi.New(options.Informers)
	if err := s.buildProfiles(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("initializing profiles: %w", err), s.devices.Close())
	}
	if err := s.buildQueue(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("building the scheduling queue: %w", err), s.Close())
	}
	if err := s.addAllEventHandlers(); err != nil {
		return nil, errors.Join(fmt.Errorf("adding event handlers: %w", err), s.Close())
	}
	return s, nil
}

func (s *Scheduler) buildProfiles(ctx context.Context) error {
	o := &s.options
	execution := o.Execution
	execution.Go = s.startTask
	var err error
	s.profiles, err = runtime.NewProfiles(ctx, o.Configuration, o.Registry, runtime.Options{
		Clients:      runtime.Clients{ClientSet: o.Client, KubeConfig: o.KubeConfig, InformerFactory: o.Informers},
		Recorder:     o.Recorder,
		Snapshot:     s.snapshot,
		Nominator:    s.nominator,
		Extenders:    o.Extenders,
		Parallelism:  int(o.Configuration.Parallelism),
		Managers:     runtime.Managers{DRA: s.devices, CSI: s.csi, PodGroup: cache.NoPodGroups{}},
		Execution:    execution,
		PluginFailed: o.Observers.Scheduler.PluginFailed,
		Logger:       o.Logger,
		Metrics:      o.Observers.Metrics,
	})
	if err != nil {
		return err
	}
	s.eventMap = s.profiles.EventMap()
	for _, renamed := range s.profiles.RenamedPlugins() {
		o.Logger.Info("Warning: "+renamed.String(), "profile", renamed.Profile)
	}
	return nil
}

func (s *Scheduler) buildQueue(ctx context.Context) error {
	o := &s.options
	byName := make(map[string]queue.Profile, len(s.profiles))
	for name, profile := range s.profiles {
		byName[name] = queue.Profile{
			Events:        profile.EventMap(),
			Registrations: profile.Registrations(),
			PreEnqueue:    profile.PreEnqueuePlugins(),
			HintClass:     func(plugin string, pod *v1.Pod) (string, bool) { return profile.HintClass(ctx, plugin, pod) },
		}
	}
	first := s.profiles[o.Configuration.Profiles[0].SchedulerName]
	var err error
	s.queue, err = queue.New(ctx, queue.Options{
		Less:                  first.Less(),
		WithLess:              first.WithLess(),
		Profiles:              byName,
		Clock:                 o.Execution.Clock,
		Logger:                o.Logger,
		Nominator:             s.nominator,
		InitialBackoff:        o.Configuration.PodInitialBackoff(),
		MaxBackoff:            o.Configuration.PodMaxBackoff(),
		MaxInUnschedulable:    o.Timeouts.Unschedulable,
		DisablePopFromBackoff: o.Features.DisablePopFromBackoff,
		Observer:              o.Observers.Queue,
	})
	if err != nil {
		return err
	}
	for _, profile := range s.profiles {
		profile.SetActivator(s.queue)
	}
	return nil
}

// Run schedules pods until the context ends. Then it closes the queue, turns down the pods that wait for permission,
// waits for the binding cycles in flight, whose context has ended too, and for the tasks of plugins, and closes the
// plugins; it returns what these returned. The informers must be running; call [Scheduler.WaitForHandlersSync] first.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, s.queue.Close)
	s.queue.Run(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { s.expireAssumed(ctx) })
	watchers.Go(func() { s.watchSchedulingCycles(ctx) })
	s.catchUpWithClaims(ctx)
	// A closed queue still hands out the pods that are ready; they are left to the next scheduler.
	s.scheduleAll(ctx)
	stop()
	s.queue.Close() // not only when the other goroutine gets round to it
	watchers.Wait()
	first := s.profiles[s.options.Configuration.Profiles[0].SchedulerName] // all profiles share the waiting pods
	first.IterateOverWaitingPods(func(pod fwk.WaitingPod) { pod.Reject("", "the scheduler is shutting down") })
	s.background.Wait()
	return s.Close()
}

// Close closes the plugins, and ends what listens to informers on their behalf. [Scheduler.Run] does so when it ends.
func (s *Scheduler) Close() error {
	return errors.Join(s.profiles.Close(), s.devices.Close())
}

// scheduleAll schedules pods until the context ends or the queue is closed. It goes on in another goroutine when a plugin
// ends the one that it is called in.
func (s *Scheduler) scheduleAll(ctx context.Context) {
	for done := false; !done; {
		var loop sync.WaitGroup
		loop.Go(func() {
			for ctx.Err() == nil && s.ScheduleOne(ctx) {
			}
			done = true
		})
		loop.Wait()
	}
}

// startTask starts a task of a plugin that outlives the scheduling cycle.
func (s *Scheduler) startTask(task func()) {
	if s.bindingLimiter != nil { // which are not for tasks that may wait for each other
		s.background.Go(task)
		return
	}
	s.background.Add(1)
	s.options.Execution.Go(func() {
		defer s.background.Done()
		task()
	})
}

// expireAssumed gives up, until the context ends, on pods that were assumed and never seen bound, if that is asked for.
func (s *Scheduler) expireAssumed(ctx context.Context) {
	if s.options.Timeouts.AssumedPod <= 0 {
		return
	}
	wait.UntilWithContext(ctx, func(context.Context) {
		for _, pod := range s.cache.ExpireAssumed() {
			s.options.Logger.Info("A pod was not seen bound in time; it no longer counts on its node",
				"pod", klog.KObj(pod), "node", pod.Spec.NodeName)
			s.queue.Move(assignedPodDeleted(), pod, nil, nil)
		}
	}, s.options.Timeouts.AssumedPod)
}

// Queue returns the scheduling queue. It is safe for concurrent use.
func (s *Scheduler) Queue() *queue.Queue { return s.queue }

// Cache returns the scheduler's view of the cluster. It is safe for concurrent use.
func (s *Scheduler) Cache() *cache.Cache { return s.cache }

// Profiles returns the frameworks by scheduler name. The map must not be changed.
func (s *Scheduler) Profiles() runtime.Profiles { return s.profiles }

// Configuration returns what the scheduler was configured with. It must not be changed.
func (s *Scheduler) Configuration() *profiles.Configuration { return s.options.Configuration }

// BuildProfiles builds the plugins of all profiles once more, over a snapshot that belongs to the caller, for callers
// that run them outside of the scheduling cycles. They see the objects and the nominated pods that the others see, and
// neither the pods that wait for permission nor what the others keep to themselves; what they do reaches no queue. The
// caller closes them.
func (s *Scheduler) BuildProfiles(ctx context.Context, snapshot fwk.SharedLister) (runtime.Profiles, error) {
	o := &s.options
	built, err := runtime.NewProfiles(ctx, o.Configuration, o.Registry, runtime.Options{
		Clients:   runtime.Clients{ClientSet: o.Client, KubeConfig: o.KubeConfig, InformerFactory: o.Informers},
		Snapshot:  snapshot,
		Nominator: s.nominator,
		Extenders: o.Extenders,
		Managers:  runtime.Managers{DRA: s.devices, CSI: s.csi, PodGroup: cache.NoPodGroups{}},
		Execution: runtime.Execution{Clock: o.Execution.Clock, Seed: o.Execution.Seed, Calls: o.Execution.Calls},
		Logger:    o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("building the plugins of all profiles once more: %w", err)
	}
	return built, nil
}

// EventMap returns which plugins, of all profiles, wait for which events. The map must not be changed.
func (s *Scheduler) EventMap() framework.EventMap { return s.eventMap }
