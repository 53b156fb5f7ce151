// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Options are what a [Cluster] is made of. The zero value is an empty cluster with the default profile.
type Options struct {
	// Configuration has the profiles; nil means [profiles.Default]. A configuration with extenders is refused. How many nodes to
	// sample is not looked at, because all are.
	Configuration *profiles.Configuration
	// Registry has every plugin that a profile may name, the in-tree ones included; nil means [plugins.NewInTreeRegistry].
	Registry runtime.Registry
	// Objects are what is in the cluster: typed objects of client-go, and unstructured ones of custom kinds. They are not
	// copied, and must not be changed afterwards. Those without a UID count as written by hand: they get the defaults that an
	// API server would set, in a copy.
	Objects []apiruntime.Object
	// Snapshot is that of a running [cache.Cache], whose nodes and pods, assumed ones included, are added to the objects. It is
	// read by [New] and not kept. Nil adds none.
	Snapshot *cache.Snapshot
	// Concurrency is how many questions are answered at a time; others wait. Zero means runtime.GOMAXPROCS. Each of them takes as
	// much memory as a scheduler's cache, from when it is first needed on.
	Concurrency int
	// Clock is the time that plugins read; nil means real time.
	Clock clock.WithDelayedExecution
	// FactoryTimeout is how long, in real time, a factory may take to build a plugin; zero means forever.
	FactoryTimeout time.Duration
	// Logger receives what plugins log; the zero value drops it.
	Logger klog.Logger
}

// engine is what a cluster and all its forks share: the plugins, as replicas.
type engine struct {
	options Options
	kinds   *kinds
	empty   objects // of which all others are versions
	ctx     context.Context
	cancel  context.CancelFunc
	// free has a token for each question that may begin.
	free chan struct{}
	// quiet is held for reading while a question is being answered, and for writing while nothing else is to happen.
	quiet sync.RWMutex

	mu     sync.Mutex
	idle   []*replica // those used last at the end; guarded by mu
	closed bool       // guarded by mu
}

// New returns a cluster. The context is what the plugins get for as long as the cluster is open. It is an error if the configuration
// cannot be carried out, or the objects contradict each other.
func New(ctx context.Context, options Options) (*Cluster, error) {
	if options.Configuration == nil {
		options.Configuration = profiles.Default()
	}
	if options.Registry == nil {
		options.Registry = plugins.NewInTreeRegistry()
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Concurrency <= 0 {
		options.Concurrency = goruntime.GOMAXPROCS(0)
	}
	if len(options.Configuration.Extenders) > 0 {
		return nil, errors.New("building a cluster to ask about: the configuration has extenders, which are not asked; remove them")
	}
	e := &engine{options: options, kinds: newKinds(), empty: noObjects(), free: make(chan struct{}, options.Concurrency)}
	e.options.Objects, e.options.Snapshot = nil, nil
	e.ctx, e.cancel = context.WithCancel(klog.NewContext(ctx, options.Logger))
	for range options.Concurrency {
		e.free <- struct{}{}
	}
	c := newCluster(e, nil, e.empty)
	err := c.Add(options.Objects...)
	if err == nil && options.Snapshot != nil {
		err = c.addSnapshot(options.Snapshot)
	}
	if err == nil { // what is wrong with the configuration is to be said now
		err = e.ask(ctx, c.load(), func(*replica) error { return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("building a cluster to ask about: %w", errors.Join(err, e.close()))
	}
	return c, nil
}

// addSnapshot adds the nodes and pods of a snapshot.
func (c *Cluster) addSnapshot(snapshot *cache.Snapshot) error {
	nodes, err := snapshot.List()
	if err != nil {
		return err
	}
	var objects []apiruntime.Object
	for _, node := range nodes {
		objects = append(objects, node.Node())
		for _, pod := range node.GetPods() {
			objects = append(objects, pod.GetPod())
		}
	}
	return c.Add(objects...)
}

// close ends the plugins, when no question is being answered any more.
func (e *engine) close() error {
	e.mu.Lock()
	closed := e.closed
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	for range cap(e.free) { // those that answer questions give theirs back
		<-e.free
	}
	close(e.free)
	var errs []error
	for _, r := range e.idle {
		errs = append(errs, r.close())
	}
	e.cancel()
	return errors.Join(errs...)
}

var errClosed = errors.New("the cluster is closed")

// ask calls do with a replica that shows the objects. Several may run at a time.
func (e *engine) ask(ctx context.Context, objects objects, do func(*replica) error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case _, open := <-e.free:
		if !open {
			return errClosed
		}
	}
	defer func() { e.free <- struct{}{} }()
	e.quiet.RLock()
	defer e.quiet.RUnlock()
	r, err := e.take(objects)
	if err != nil {
		return err
	}
	whole := false
	defer func() {
		if whole {
			e.giveBack(r)
		} else { // it may be half way between two forks
			_ = r.close()
		}
	}()
	if err := r.show(objects); err != nil {
		return err
	}
	err = do(r)
	broken := r.failure()
	whole = broken == nil
	return errors.Join(err, broken)
}

// take returns an idle replica: one that shows the objects already, otherwise the one that was used last. It makes a new one if there
// is none, or only such whose plugins asked in vain for a kind that is known by now.
func (e *engine) take(wanted objects) (*replica, error) {
	for {
		r, err := e.takeIdle(wanted)
		switch {
		case err != nil:
			return nil, err
		case r == nil:
			return newReplica(e)
		case !r.api.outdated():
			return r, nil
		}
		if err := r.close(); err != nil {
			return nil, fmt.Errorf("ending plugins that are to be built again: %w", err)
		}
	}
}

// takeIdle returns an idle replica, nil if there is none.
func (e *engine) takeIdle(wanted objects) (*replica, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	at := len(e.idle) - 1
	if at < 0 {
		return nil, nil
	}
	for i := range e.idle {
		if e.idle[i].now().Same(wanted.Map) {
			at = i
		}
	}
	r := e.idle[at]
	e.idle = append(e.idle[:at], e.idle[at+1:]...)
	return r, nil
}

func (e *engine) giveBack(r *replica) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle = append(e.idle, r)
}

// profileOf returns the plugins of a pod's profile.
func (r *replica) profileOf(pod *v1.Pod) (*runtime.Framework, error) {
	if profile := r.profiles[pod.Spec.SchedulerName]; profile != nil {
		return profile, nil
	}
	return nil, fmt.Errorf("no profile is called %q, which pod %s asks for; set its spec.schedulerName or add the profile to the configuration",
		pod.Spec.SchedulerName, klog.KObj(pod))
}
