// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
	"github.com/rouse-scheduler/rouse/internal/tasks"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// Cluster is a cluster in memory with a scheduler in it. Time only passes when [Cluster.Advance] or [Cluster.Settle]
// lets it, and the scheduler only works then. Except for the client, it must be used from one goroutine.
type Cluster struct {
	// ctx is what plugins are given.
	ctx       context.Context
	cancel    context.CancelCauseFunc
	options   Options
	clock     *virtualClock
	store     *store
	server    *apiServer
	client    clientset.Interface
	hub       *apihttp.Hub
	dynamic   *dynamicFactory
	tracker   *tracker
	watcher   Watcher
	scheduler *scheduler.Scheduler

	// tasks are binding cycles that are ready to go on.
	tasks    tasks.Queue
	trace    []TraceEntry
	failures []ExpectationFailure
	warnings []string
	progress progress
	// calls knows which plugins are being called; hanging is not nil once one did not return.
	calls   runtime.Calls
	hanging *HangingError
	inWatch bool // watch is running, so that it is not nested
	// base is when the scenario that is being replayed began.
	base time.Time
}

// startTime is when every simulation begins.
func startTime() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// NewCluster returns an empty cluster at the time zero. It fails when the configuration cannot be carried out, or when
// a plugin registers events that can never happen. The context is what plugins get; when it ends, [Cluster.Advance] and [Cluster.Settle] return its error.
func NewCluster(ctx context.Context, options Options) (*Cluster, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &Cluster{ctx: ctx, cancel: cancel, options: options, clock: newVirtualClock(startTime()), watcher: nopWatcher{}}
	c.store = newStore(c.clock)
	c.hub = apihttp.NewHub()
	if err := c.serve(); err != nil {
		cancel(nil)
		return nil, err
	}
	c.dynamic = &dynamicFactory{store: c.store}
	c.progress = progress{report: options.Progress}
	c.base = c.clock.Now()
	var emit func(TraceEntry)
	if options.Trace || options.Observer != nil {
		emit = c.emit
	}
	c.tracker = newTracker(c.Now, emit)
	configuration := profiles.Default()
	if options.Configuration != nil {
		copied := *options.Configuration
		configuration = &copied
	}
	configuration.Parallelism = 1
	err := c.watch(func() (err error) {
		c.scheduler, err = scheduler.New(ctx, scheduler.Options{
			Configuration:    configuration,
			Registry:         options.Registry,
			Client:           c.client,
			KubeConfig:       newClientConfig(c.store, c.hub),
			Informers:        newInformerFactory(c.client, c.store),
			DynamicInformers: c.dynamic,
			Execution: runtime.Execution{
				Clock:        c.clock,
				Seed:         options.Seed,
				Calls:        &c.calls,
				CheckObjects: true,
				Go:           c.tasks.Add,
				Wait:         waitForNothing,
			},
			Logger: options.Logger,
			Observers: scheduler.Observers{
				Scheduler: scheduler.JoinObservers(c.tracker, options.Observers.Scheduler),
				Queue:     queue.JoinObservers(c.tracker, options.Observers.Queue),
				Metrics:   options.Observers.Metrics,
			},
		})
		return err
	})
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("starting the scheduler of the simulation: %w", err)
	}
	if err := c.scheduler.Profiles().CheckEventResources(); err != nil {
		c.Close()
		return nil, fmt.Errorf("starting the scheduler of the simulation: %w", err)
	}
	for _, renamed := range c.scheduler.Profiles().RenamedPlugins() {
		c.warnings = append(c.warnings, fmt.Sprintf("profile %q: %v", renamed.Profile, renamed))
	}
	return c, nil
}

// serve begins to serve the store, with the custom kinds that the options name.
func (c *Cluster) serve() (err error) {
	var objects []object
	for _, given := range c.options.CustomResources {
		o, isObject := given.(object)
		if !isObject {
			return fmt.Errorf("serving custom resources: %T is not an object with metadata", given)
		}
		objects = append(objects, o)
	}
	c.store.learnKinds(objects)
	if c.options.Scheme != nil {
		c.store.learnScheme(c.options.Scheme)
	}
	c.server, c.client, err = newClient(c.store, c.hub)
	return err
}

// Close ends the scheduler and its plugins. The cluster can still be looked at.
//
// After a [*HangingError] nothing is closed, and only the error can be looked at.
func (c *Cluster) Close() {
	defer c.cancel(nil)
	defer c.hub.Close()
	if c.hanging != nil {
		return
	}
	c.scheduler.Queue().Close()
	if err := c.scheduler.Close(); err != nil {
		c.options.Logger.Error(err, "Closing the plugins of a simulation failed")
	}
}

func (c *Cluster) emit(entry TraceEntry) {
	if c.options.Trace {
		c.trace = append(c.trace, entry)
	}
	if c.options.Observer != nil {
		c.options.Observer(entry)
	}
}

// Now returns how much virtual time has passed.
func (c *Cluster) Now() Time { return Time(c.clock.Since(startTime())) }

// Clock returns the virtual clock. Timers fire, and functions run, when [Cluster.Advance] or [Cluster.Settle] reach
// their time.
func (c *Cluster) Clock() clock.WithTickerAndDelayedExecution { return c.clock }

// Client returns a clientset for the objects of the cluster. What it changes is seen by the scheduler when time is next
// given to it.
func (c *Cluster) Client() clientset.Interface { return c.client }

// KubeConfig returns a configuration of which any other client of the cluster can be made. Plugins get the same from their
// handle. Each call returns another copy.
func (c *Cluster) KubeConfig() *restclient.Config { return newClientConfig(c.store, c.hub) }

// Scheduler returns the scheduler, to look at its queue, its cache and its plugins.
func (c *Cluster) Scheduler() *scheduler.Scheduler { return c.scheduler }

// Pod returns what is known of the latest pod of a name; false if the scheduler has seen none.
func (c *Cluster) Pod(namespace, name string) (PodState, bool) {
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	record := c.tracker.byName[namespace+"/"+name]
	if record == nil {
		return PodState{}, false
	}
	return c.tracker.state(record, c.responsible), true
}

// Node returns the node of a name; nil if there is none. It must not be changed.
func (c *Cluster) Node(name string) *v1.Node {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	node, _ := c.store.nodes().objects[name].(*v1.Node)
	return node
}

func (c *Cluster) responsible(profile string) bool {
	_, found := c.scheduler.Profiles()[profile]
	return found
}

// Trace returns what has happened so far; nothing unless [Options.Trace] is set.
func (c *Cluster) Trace() []TraceEntry { return c.trace }

// Report says what has become of everything so far.
func (c *Cluster) Report() *Report {
	report := &Report{
		Profiles: []string{},
		Pods:     []PodState{},
		Trace:    c.trace,
		Failures: c.failures,
		Warnings: c.warnings,
	}
	for i := range c.scheduler.Configuration().Profiles {
		report.Profiles = append(report.Profiles, c.scheduler.Configuration().Profiles[i].SchedulerName)
	}
	c.store.mu.Lock()
	nodes := len(c.store.nodes().objects)
	c.store.mu.Unlock()
	events := c.scheduler.Queue().Stats().Events
	c.tracker.mu.Lock()
	defer c.tracker.mu.Unlock()
	summary := c.tracker.summary
	summary.Nodes, summary.Events = nodes, events
	records := c.tracker.sorted()
	report.Pods = slices.Grow(report.Pods, len(records))
	for _, record := range records {
		state := c.tracker.state(record, c.responsible)
		report.Pods = append(report.Pods, state)
		switch state.Pool {
		case PoolBound:
			summary.Bound++
		case PoolUnschedulable:
			summary.Unschedulable++
		case PoolGated:
			summary.Gated++
		}
	}
	summary.Pods = len(report.Pods)
	summary.VirtualSeconds = time.Duration(c.Now()).Seconds()
	report.Summary = summary
	return report
}
