// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

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
	dynamic   *dynamicFactory
	tracker   *tracker
	watcher   Watcher
	scheduler *scheduler.Scheduler

	// tasks are binding cycles that are ready to go on.
	tasks    tasks
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
	c.server = newAPIServer(c.store)
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
			Client:           c.server.client,
			Informers:        newInformerFactory(c.server.client, c.store),
			DynamicInformers: c.dynamic,
			Execution: runtime.Execution{
				Clock:        c.clock,
				Seed:         options.Seed,
				Calls:        &c.calls,
				CheckObjects: true,
				Go:           c.tasks.add,
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

// Close ends the scheduler and its plugins. The cluster can still be looked at.
//
// After a [*HangingError] nothing is closed, and only the error can be looked at.
func (c *Cluster) Close() {
	defer c.cancel(nil)
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
// given to it. Watches and server-side apply are not simulated.
func (c *Cluster) Client() clientset.Interface { return c.server.client }

// Scheduler returns the scheduler, to look at its queue, its cache and its plugins.
func (c *Cluster) Scheduler() *scheduler.Scheduler { return c.scheduler }

// Create adds copies of objects, as an API server would: with defaults, a UID and, for pods, the priority of their
// class. Pods with a node count as bound already. The first error ends it.
func (c *Cluster) Create(objects ...apiruntime.Object) error {
	for _, added := range objects {
		o, k, err := c.kindOf(added)
		if err != nil {
			return fmt.Errorf("creating an object: %w", err)
		}
		if _, err := c.create(k, o.DeepCopyObject().(object)); err != nil {
			return fmt.Errorf("creating %s: %w", k.describe(o.GetNamespace(), o.GetName()), err)
		}
	}
	return nil
}

// Update replaces an object by a copy of another version of it, status and all, with defaults as in [Cluster.Create]. Its
// resource version may be empty; otherwise it must be the current one.
func (c *Cluster) Update(updated apiruntime.Object) error {
	o, k, err := c.kindOf(updated)
	if err != nil {
		return fmt.Errorf("updating an object: %w", err)
	}
	collection, err := c.collection(k)
	if err == nil {
		copied := o.DeepCopyObject().(object)
		err = c.write(func() error {
			_, err := c.store.admitUpdate(collection, copied)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("updating %s: %w", k.describe(o.GetNamespace(), o.GetName()), err)
	}
	return nil
}

// Patch applies a strategic merge patch in JSON, or a merge patch if the object is of a custom kind. Of the object only
// the kind, the namespace and the name matter.
func (c *Cluster) Patch(named apiruntime.Object, patch string) error {
	o, k, err := c.kindOf(named)
	if err != nil {
		return fmt.Errorf("patching an object: %w", err)
	}
	return c.patch(k, o.GetNamespace(), o.GetName(), []byte(patch))
}

// Delete removes an object, or marks it as being deleted if it has finalizers. Of the object only the kind, the
// namespace and the name matter.
func (c *Cluster) Delete(named apiruntime.Object) error {
	o, k, err := c.kindOf(named)
	if err != nil {
		return fmt.Errorf("deleting an object: %w", err)
	}
	return c.delete(k, o.GetNamespace(), o.GetName())
}

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

// kindOf returns the object with its kind. Typed objects need not say theirs.
func (c *Cluster) kindOf(given apiruntime.Object) (object, *kind, error) {
	o, isObject := given.(object)
	if !isObject {
		return nil, nil, fmt.Errorf("%T is not an object with metadata", given)
	}
	gvk := given.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(given)
		if err != nil {
			return nil, nil, err
		}
		gvk = kinds[0]
	}
	return o, c.followed(c.store.kinds.find(gvk)), nil
}

var errNoSuchKind = errors.New("no plugin registered an event for this kind, so that the cluster does not have it")

// collection returns the objects of a kind; custom ones are only there if some plugin waits for their events.
func (c *Cluster) collection(k *kind) (*collection, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if found := c.store.collections[k.resource]; found != nil {
		return found, nil
	}
	return nil, errNoSuchKind
}

// write makes a request to the store and lets the informers know.
func (c *Cluster) write(request func() error) error {
	c.store.mu.Lock()
	err := request()
	c.store.mu.Unlock()
	hanging := c.watch(func() error {
		c.deliver()
		return nil
	})
	return cmp.Or(hanging, err)
}

// create takes an object, which it may change.
func (c *Cluster) create(k *kind, created object) (object, error) {
	collection, err := c.collection(k)
	if err != nil {
		return nil, err
	}
	var stored object
	err = c.write(func() error {
		stored, err = c.store.admit(collection, created)
		return err
	})
	return stored, err
}

func (c *Cluster) patch(k *kind, namespace, name string, patch []byte) error {
	collection, err := c.collection(k)
	if err == nil {
		namespace = collection.namespaceOf(namespace)
		err = c.write(func() error {
			_, err := c.store.patchNow(collection, namespace, name, patch)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("patching %s: %w", k.describe(namespace, name), err)
	}
	return nil
}

func (c *Cluster) delete(k *kind, namespace, name string) error {
	collection, err := c.collection(k)
	if err == nil {
		namespace = collection.namespaceOf(namespace)
		err = c.write(func() error { return c.store.delete(collection, namespace, name) })
	}
	if err != nil {
		return fmt.Errorf("deleting %s: %w", k.describe(namespace, name), err)
	}
	return nil
}

// existed reports whether the cluster has, or had before, an object.
func (c *Cluster) existed(k *kind, namespace, name string) bool {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.store.known[k.resource.String()+" "+keyOf(namespace, name)]
}

// watched reports whether the scheduler or a plugin follows a kind.
func (c *Cluster) watched(resource schema.GroupVersionResource) bool {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	found := c.store.collections[resource]
	return found != nil && found.used()
}

// followed returns a kind with the resource name under which a plugin follows it. For custom kinds that is not always the
// plural that English suggests.
func (c *Cluster) followed(k *kind) *kind {
	if !k.custom() {
		return k
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if found := c.store.collections[k.resource]; found != nil && found.used() {
		return k
	}
	for _, plural := range k.plurals() {
		resource := k.resource.GroupVersion().WithResource(plural)
		if found := c.store.collections[resource]; found != nil && found.used() {
			resolved := *k
			resolved.resource = resource
			return &resolved
		}
	}
	return k
}

// otherVersions returns the versions, other than its own, in which a plugin follows a kind, sorted.
func (c *Cluster) otherVersions(k *kind) []string {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	var versions []string
	for resource, found := range c.store.collections {
		same := resource.Resource == k.resource.Resource || slices.Contains(k.plurals(), resource.Resource)
		if same && resource.Group == k.Group && resource.Version != k.Version && found.used() {
			versions = append(versions, resource.Version)
		}
	}
	slices.Sort(versions)
	return versions
}

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
