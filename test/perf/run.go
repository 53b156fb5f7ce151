// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/rouse-scheduler/rouse/test/cluster"
)

// run is a workload under way: one scheduler, on an API server of its own.
type run struct {
	client    clientset.Interface
	dynamic   dynamic.Interface
	mapper    meta.RESTMapper
	scheduler *cluster.Scheduler
	token     string // for the server of the scheduler
	pods      *tracker
	progress  *progress
	profile   string // file for a CPU profile of the measured phase, or nothing

	// created are the pods that operations created.
	created []createdPod
	// background is what goes on while other operations are done.
	background sync.WaitGroup
	stop       context.CancelCauseFunc
	phase      *phase
	outcome    Outcome
}

// runWorkload runs a workload with one scheduler.
func runWorkload(ctx context.Context, w *workload, who scheduler, t *task, to io.Writer) (_ *Outcome, err error) {
	steps, err := w.prepare()
	if err != nil {
		return nil, err
	}
	harness := cluster.NewHarness("perf")
	defer harness.End(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{stop: cancel, profile: t.Profile, progress: newProgress(to, w.name()+", "+who.name)}
	if err := r.begin(ctx, harness, w, who); err != nil {
		return nil, err
	}
	if w.FeatureGates["DynamicResourceAllocation"] {
		if err := r.startClaimController(ctx); err != nil {
			return nil, err
		}
	}
	limited, end := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("it has not ended after %v", t.Timeout))
	defer end()
	err = r.doAll(limited, steps)
	cancel(errDone)
	r.background.Wait()
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", w.name(), who.name, err)
	}
	return &r.outcome, nil
}

// errDone ends what goes on in the background.
var errDone = errors.New("the workload is done")

// begin starts the API server and the scheduler.
func (r *run) begin(ctx context.Context, tb testing.TB, w *workload, who scheduler) error {
	// Templates give pods a priority, and there are no classes of them.
	flags := []string{"--runtime-config=api/all=true", "--disable-admission-plugins=Priority"}
	if gates := w.gates(); gates != "" {
		flags = append(flags, "--feature-gates="+gates)
	}
	r.progress.say("starting the API server")
	api := cluster.StartControlPlane(tb, flags...).Loopback()
	r.token = api.BearerToken
	if err := r.connect(api); err != nil {
		return err
	}
	var err error
	if r.pods, err = trackPods(ctx, r.client); err != nil {
		return err
	}
	config := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	if w.schedulerConfig != "" {
		data, err := os.ReadFile(w.schedulerConfig)
		if err != nil {
			return fmt.Errorf("reading the configuration of the scheduler: %w", err)
		}
		config = string(data)
	}
	arguments := who.arguments
	if gates := w.gates(); gates != "" {
		arguments = append(arguments[:len(arguments):len(arguments)], "--feature-gates="+gates)
	}
	r.scheduler = cluster.StartScheduler(tb, cluster.SchedulerOptions{
		Name: who.name, Binary: who.binary, Arguments: arguments, Config: config, API: api,
		Settings: map[string]any{"leaderElection.leaderElect": false},
	})
	r.scheduler.WaitReady(ctx, tb)
	return nil
}

// connect makes clients, of which none limits how much it sends.
func (r *run) connect(api *restclient.Config) error {
	api = restclient.CopyConfig(api)
	api.QPS = -1
	var err error
	if r.dynamic, err = dynamic.NewForConfig(api); err != nil {
		return err
	}
	discovered, err := discovery.NewDiscoveryClientForConfig(api)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(discovered)
	if err != nil {
		return fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	r.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	api.ContentType = "application/vnd.kubernetes.protobuf"
	r.client, err = clientset.NewForConfig(api)
	return err
}

// doAll does the operations one after the other.
func (r *run) doAll(ctx context.Context, steps []step) error {
	for i, step := range steps {
		r.progress.say("operation %d of %d, %s", i+1, len(steps), step.name)
		if err := step.do(ctx, r); err != nil {
			return fmt.Errorf("operation %d, %s: %w", i, step.name, err)
		}
	}
	if r.phase != nil {
		return errors.New("no operation ended the measured phase")
	}
	return nil
}

// inBackground does something until the workload is done. If it fails, the workload fails.
func (r *run) inBackground(ctx context.Context, do func(context.Context) error) {
	r.background.Go(func() {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			r.stop(err)
		}
	})
}

// insistOnNamespace creates a namespace unless it is there.
func (r *run) insistOnNamespace(ctx context.Context, name string) error {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := r.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// wait waits until pods have reached a stage. Pods that are gone count.
func (r *run) wait(ctx context.Context, pods []createdPod, target stage) error {
	all := len(pods)
	missing := append([]createdPod{}, pods...)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing = r.pods.unreached(missing, target)
		if len(missing) == 0 {
			return nil
		}
		r.progress.now("%d of %d pods are %s", all-len(missing), all, target)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods are not %s: %s: %w", len(missing), all, target, r.pods.describe(missing), context.Cause(ctx))
		}
		if r.scheduler.Ended() {
			return fmt.Errorf("the scheduler ended while %d of %d pods were not %s:\n%s", len(missing), all, target, r.scheduler.Log())
		}
	}
}

// progress prints what a workload is doing.
type progress struct {
	to    io.Writer
	what  string
	start time.Time
	last  time.Time
}

func newProgress(to io.Writer, what string) *progress {
	return &progress{to: to, what: what, start: time.Now(), last: time.Now()}
}

// say prints a line.
func (p *progress) say(format string, arguments ...any) {
	p.last = time.Now()
	fmt.Fprintf(p.to, "%5.0f s  %s: %s\n", time.Since(p.start).Seconds(), p.what, fmt.Sprintf(format, arguments...))
}

// now prints a line unless one was printed less than five seconds ago.
func (p *progress) now(format string, arguments ...any) {
	if time.Since(p.last) > 5*time.Second {
		p.say(format, arguments...)
	}
}
