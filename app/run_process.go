// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// tolerated is how long beyond its lease a leader may go without renewing it before its health check fails.
const tolerated = 20 * time.Second

// process is a scheduler with everything around it that makes it a program.
type process struct {
	options   *options.Options
	config    *profiles.Configuration
	logger    klog.Logger
	cluster   *cluster
	port      *port
	scheduler *scheduler.Scheduler
	metrics   *metrics.Metrics // nil if another scheduler in the process is measured
	explainer *inspect.LiveExplainer

	// watchdog checks the health of a leader; nil without leader election.
	watchdog *leaderelection.HealthzAdaptor
	leading  atomic.Bool
	// leader is who has the Lease, as far as is known; nil if none is known.
	leader atomic.Pointer[string]
	caches caches
	// ran is true once the scheduler was run, which is when it closes its plugins.
	ran atomic.Bool
	// stopAll ends what outlives the scheduler's own end: informers and events.
	stopAll context.CancelFunc
}

// newProcess connects to the cluster, opens the port and builds the scheduler, in this order, and starts nothing.
func newProcess(ctx context.Context, o *options.Options, config *profiles.Configuration, registry pluginSet) (*process, error) {
	p := &process{options: o, config: config, logger: klog.FromContext(ctx), stopAll: func() {}}
	if config.LeaderElection.LeaderElect {
		p.watchdog = leaderelection.NewLeaderHealthzAdaptor(tolerated)
	}
	if err := o.CheckFiles(); err != nil {
		return nil, &unreadableError{err}
	}
	var err error
	if p.cluster, err = connect(o, config, readsFullPods(config, registry.Registry), p.logger); err != nil {
		return nil, err
	}
	if p.port, err = listen(o, p.logger); err != nil {
		p.cluster.close()
		return nil, err
	}
	if err := p.buildScheduler(ctx, registry); err != nil {
		p.cluster.close()
		_ = p.port.close() // the other error matters
		return nil, err
	}
	o.Gates.AddMetrics()
	return p, nil
}

func (p *process) buildScheduler(ctx context.Context, registry pluginSet) error {
	if err := checkExtenders(p.config); err != nil {
		return &unreadableError{err}
	}
	extenders, err := extender.New(p.config)
	if err != nil {
		return err
	}
	for i := range extenders {
		if overHTTP, ok := extenders[i].(*extender.Extender); ok {
			extenders[i] = overHTTP.WithContext(ctx)
		}
	}
	options := scheduler.Options{
		Configuration:    p.config,
		Registry:         registry.Registry,
		Client:           p.cluster.client,
		Informers:        p.cluster.informers,
		DynamicInformers: p.cluster.custom,
		KubeConfig:       p.cluster.fenced,
		Recorder:         p.cluster.recorder,
		Extenders:        extenders,
		Logger:           p.logger,
		Execution:        runtime.Execution{Seed: uint64(time.Now().UnixNano())},
		Timeouts:         scheduler.Timeouts{Unschedulable: p.options.MaxInUnschedulable},
	}
	applyGates(p.options.Gates, &options)
	p.metrics = measure(p.logger, &options)
	p.explainer = inspect.NewLiveExplainer(ctx)
	if p.port != nil { // otherwise there are no requests
		p.explainer.Observe(&options)
	}
	if p.scheduler, err = scheduler.New(ctx, options); err != nil {
		if len(allOf[*runtime.BuildError](err)) > 0 {
			err = locate(ctx, err, options.Configuration, pluginSet{options.Registry, registry.scheme})
		}
		return err
	}
	p.explainer.Watch(p.scheduler)
	return nil
}

// run schedules, as the leader if there are several, until the context ends. The error says why it ended otherwise.
func (p *process) run(ctx context.Context) error {
	build, _ := debug.ReadBuildInfo()
	p.logger.Info("Starting Kubernetes Scheduler", "version", versionOf(build).Rouse, "kubernetes", kubernetesMinor)
	p.logger.Info("Golang settings", "GOGC", os.Getenv("GOGC"), "GOMAXPROCS", goruntime.GOMAXPROCS(0), "GOTRACEBACK", os.Getenv("GOTRACEBACK"))
	if err := p.logConfiguration(); err != nil {
		return err
	}
	withdraw, err := p.publishConfiguration()
	if err != nil {
		return err
	}
	defer withdraw()
	background, stopAll := context.WithCancel(context.WithoutCancel(ctx))
	p.stopAll = stopAll
	if err := p.cluster.startEvents(background); err != nil {
		return err
	}
	if p.metrics != nil {
		go p.metrics.Run(background, p.scheduler.Cache().Counts)
	}
	dumper := &dumper{logger: p.logger, scheduler: p.scheduler, informers: p.cluster.informers}
	dumper.start(ctx)
	stopServing, err := p.port.serve(p.handler(ctx))
	if err != nil {
		return err
	}
	defer stopServing()
	if !p.delaysCaches() {
		p.fillCaches(ctx, background)
	}
	defer func() {
		if ctx.Err() != nil {
			p.logger.Info("Requested to terminate, exiting")
		}
	}()
	switch {
	case ctx.Err() != nil:
		return nil
	case p.watchdog != nil:
		return p.elect(ctx, background)
	default:
		p.leading.Store(true)
		return p.schedule(ctx, background)
	}
}

// delaysCaches reports whether the cluster is to be watched only as the leader.
func (p *process) delaysCaches() bool { return p.config.DelayCacheUntilActive && p.watchdog != nil }

// schedule runs the scheduler until the context ends; informers are started in the other one.
func (p *process) schedule(ctx, background context.Context) error {
	if p.delaysCaches() {
		p.fillCaches(ctx, background)
	}
	p.ran.Store(true)
	return p.scheduler.Run(ctx)
}

// close ends everything that newProcess and run began. The plugins of a scheduler that never ran are closed too.
func (p *process) close() {
	if !p.ran.Load() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.scheduler.Run(ended); err != nil {
			p.logger.Error(err, "Closing plugins")
		}
	}
	if err := p.explainer.Close(); err != nil {
		p.logger.Error(err, "Closing the plugins that explain")
	}
	p.stopAll()
	p.cluster.close()
	_ = p.port.close() // closed already if it was served on
}
