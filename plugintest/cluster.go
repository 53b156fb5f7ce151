// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Cluster is a cluster in memory whose scheduler has the default profile and the plugin under test. It is a
// simulate.Cluster whose methods, where they may fail, end the test instead of returning an error. Nothing happens until
// Advance or Settle lets it. When the test fails, the log has what became of every pod.
type Cluster struct {
	*simulate.Cluster
	t TB
}

// NewCluster returns a cluster with the objects of the options in it, and the plugin at every extension point that it
// implements, where a configuration that enables it at multiPoint would have it. A plugin that sorts the queue takes the
// place of PrioritySort, and one that binds is asked before DefaultBinder.
//
// For other configurations use simulate.NewCluster.
func NewCluster(t TB, name string, factory runtime.PluginFactory, options Options) *Cluster {
	t.Helper()
	simulated, err := newCluster(t, name, factory, &options)
	if err != nil {
		t.Fatalf("building a cluster with plugin %q: %v", name, err)
		return nil
	}
	cluster := &Cluster{Cluster: simulated, t: t}
	t.Cleanup(func() {
		cluster.Close()
		if t.Failed() {
			t.Logf("what happened to the pods:\n%s", cluster.history())
		}
	})
	if err := options.create(simulated); err != nil {
		t.Fatalf("putting the objects of the options into the cluster: %v", err)
	}
	return cluster
}

func newCluster(t TB, name string, factory runtime.PluginFactory, options *Options) (*simulate.Cluster, error) {
	tested, err := newSubject(name, factory, options)
	if err != nil {
		return nil, err
	}
	registry := plugins.NewInTreeRegistry()
	if err := registry.Register(name, tested.New); err != nil {
		return nil, err
	}
	var built *simulate.Cluster
	err = tested.inPlaceOfSorter(func(leftOut string) error {
		configuration := profiles.Default()
		tested.enable(&configuration.Profiles[0], leftOut)
		var err error
		built, err = simulate.NewCluster(options.context(t), simulate.Options{
			Configuration: configuration, Registry: registry, CustomResources: options.Objects, Scheme: options.Scheme, Trace: true, Logger: options.Logger,
		})
		return err
	})
	return built, err
}

// history is the trace, a line for each entry.
func (c *Cluster) history() string {
	var lines []string
	for _, entry := range c.Trace() {
		lines = append(lines, entry.String())
	}
	return strings.Join(lines, "\n")
}

// Create adds copies of objects, as simulate.Cluster.Create does.
func (c *Cluster) Create(objects ...apiruntime.Object) {
	c.t.Helper()
	c.check(c.Cluster.Create(objects...))
}

// Update replaces an object by a copy of another version of it, as simulate.Cluster.Update does.
func (c *Cluster) Update(updated apiruntime.Object) {
	c.t.Helper()
	c.check(c.Cluster.Update(updated))
}

// Patch applies a strategic merge patch in JSON, as simulate.Cluster.Patch does.
func (c *Cluster) Patch(named apiruntime.Object, patch string) {
	c.t.Helper()
	c.check(c.Cluster.Patch(named, patch))
}

// Delete removes an object, as simulate.Cluster.Delete does.
func (c *Cluster) Delete(named apiruntime.Object) {
	c.t.Helper()
	c.check(c.Cluster.Delete(named))
}

// Advance lets the given time pass, with everything that happens in it.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	c.check(c.Cluster.Advance(d))
}

// Settle lets time pass until nothing more can happen by itself, as simulate.Cluster.Settle does.
func (c *Cluster) Settle() {
	c.t.Helper()
	c.check(c.Cluster.Settle())
}

// Replay loads manifests and scenarios from files and folders and plays them. What is not as a scenario expects fails
// the test.
func (c *Cluster) Replay(paths ...string) {
	c.t.Helper()
	input, err := simulate.Load(paths, simulate.LoadOptions{})
	c.check(err)
	if err != nil {
		return
	}
	reported := len(c.Report().Failures)
	c.check(c.Cluster.Replay(input))
	for _, failure := range c.Report().Failures[reported:] {
		c.t.Errorf("%v", failure)
	}
}

func (c *Cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%v", err)
	}
}

// Pod returns what became of a pod, given as its name, or as namespace/name if that is not the namespace default. The
// test ends if the scheduler has seen no such pod.
func (c *Cluster) Pod(name string) simulate.PodState {
	c.t.Helper()
	namespace, own, qualified := strings.Cut(name, "/")
	if !qualified {
		namespace, own = metav1.NamespaceDefault, name
	}
	state, found := c.Cluster.Pod(namespace, own)
	if !found {
		c.t.Fatalf("there is no pod %s/%s", namespace, own)
	}
	return state
}

// ExpectBound checks that a pod is on a node.
func (c *Cluster) ExpectBound(pod, node string) {
	c.t.Helper()
	if got := c.Pod(pod); got.Pool != simulate.PoolBound || got.Node != node {
		c.t.Errorf("at %v: pod %s should be on node %s, but %s", c.Now(), pod, node, describe(got))
	}
}

// ExpectRejected checks that a pod waits for an event, and that exactly these plugins rejected it in its last attempt.
func (c *Cluster) ExpectRejected(pod string, plugins ...string) {
	c.t.Helper()
	wanted := slices.Sorted(slices.Values(plugins))
	if got := c.Pod(pod); got.Pool != simulate.PoolUnschedulable || !slices.Equal(got.RejectedBy, wanted) {
		c.t.Errorf("at %v: pod %s should wait, rejected by %s, but %s",
			c.Now(), pod, cmp.Or(strings.Join(wanted, ", "), "no plugin"), describe(got))
	}
}

// describe says where a pod is.
func describe(state simulate.PodState) string {
	text := "is " + string(state.Pool)
	if state.Node != "" {
		text += " on node " + state.Node
	}
	if len(state.RejectedBy) > 0 {
		text += ", rejected by " + strings.Join(state.RejectedBy, ", ")
	}
	if state.Message != "" {
		text += ": " + state.Message
	}
	return text
}
