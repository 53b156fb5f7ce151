// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
	"github.com/rouse-scheduler/rouse/test/cluster"
)

const (
	creators = 16
	limit    = 10 * time.Minute
)

// usage is for each pod but for the last, which is the peak of the scheduler's process. The wall time is that between the
// first and the last binding, the CPU time that of the scheduler's process since its start.
type usage struct {
	WallNanos     float64 `json:"wallNanos"`
	CPUNanos      float64 `json:"cpuNanos"`
	ResidentBytes float64 `json:"residentBytes"`
}

func (t *task) run(ctx context.Context) (_ *usage, err error) {
	tb := cluster.NewHarness("realapi")
	defer tb.End(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel() // before the API server is stopped, which waits for watches to end
	config := cluster.StartControlPlane(tb).Loopback()
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := t.create(ctx, client); err != nil {
		return nil, err
	}
	watch, err := watchBindings(ctx, client)
	if err != nil {
		return nil, err
	}
	process, err := t.start(tb, config)
	if err != nil {
		return nil, err
	}
	first, last, err := watch.wait(ctx, t.pods, process)
	if err != nil {
		return nil, err
	}
	used, err := process.Usage()
	if err != nil {
		return nil, err
	}
	pods := float64(t.pods)
	return &usage{
		WallNanos:     float64(last.Sub(first)) / pods,
		CPUNanos:      float64(used.CPU) / pods,
		ResidentBytes: float64(used.PeakRSS),
	}, nil
}

// create creates the nodes and then the pods.
func (t *task) create(ctx context.Context, client clientset.Interface) error {
	err := inParallel(objects.Nodes(t.nodes, t.shape), func(node *v1.Node) error {
		node.UID = ""
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating the nodes: %w", err)
	}
	err = inParallel(objects.Pods(t.pods, t.shape, false), func(pod *v1.Pod) error {
		pod.UID = ""
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating the pods: %w", err)
	}
	return nil
}

// inParallel does something with every item, several at a time, and returns the first error.
func inParallel[T any](items []T, do func(T) error) error {
	next := make(chan T)
	var group sync.WaitGroup
	var once sync.Once
	var failure error
	for range creators {
		group.Go(func() {
			for item := range next {
				if err := do(item); err != nil {
					once.Do(func() { failure = err })
				}
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	group.Wait()
	return failure
}

// start starts the scheduler with the default profile, no leader election, and a limit on requests that it does not reach.
func (t *task) start(tb *cluster.Harness, api *restclient.Config) (*cluster.Process, error) {
	kubeconfig, config := filepath.Join(tb.TempDir(), "kubeconfig"), filepath.Join(tb.TempDir(), "scheduler.yaml")
	if err := cluster.WriteKubeconfig(kubeconfig, api); err != nil {
		return nil, err
	}
	err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
`, kubeconfig), 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the scheduler: %w", err)
	}
	var arguments []string
	if t.command != "" {
		arguments = append(arguments, t.command)
	}
	return cluster.StartProcess(tb, filepath.Base(t.binary), t.binary, append(arguments, "--config="+config, "--secure-port=0")...), nil
}

// bindings follows when pods are bound.
type bindings struct {
	mu          sync.Mutex
	bound       map[string]bool
	first, last time.Time
}

func watchBindings(ctx context.Context, client clientset.Interface) (*bindings, error) {
	b := &bindings{bound: map[string]bool{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) { b.saw(object) },
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return b, nil
}

func (b *bindings) saw(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bound[pod.Name] {
		return
	}
	b.bound[pod.Name] = true
	b.last = time.Now()
	if b.first.IsZero() {
		b.first = b.last
	}
}

// wait returns when so many pods are bound, and when the first and the last of them were.
func (b *bindings) wait(ctx context.Context, pods int, scheduler *cluster.Process) (first, last time.Time, err error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		b.mu.Lock()
		bound, first, last := len(b.bound), b.first, b.last
		b.mu.Unlock()
		if bound >= pods {
			return first, last, nil
		}
		if scheduler.Ended() {
			return first, last, fmt.Errorf("the scheduler ended with %d of %d pods bound:\n%s", bound, pods, scheduler.Log())
		}
		select {
		case <-ctx.Done():
			return first, last, fmt.Errorf("%d of %d pods are bound: %w", bound, pods, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
