// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// CheckRequeue checks that the plugin has every pod woken that it rejected and would now accept. For each transition, on
// its own, it has the plugin judge the waiting pods of the options, makes the transition in a cluster in memory, and has
// the plugin judge them again. A pod that was rejected and would now be accepted on a node where it was not before, but
// that no event woke, is a missed wake-up: in a real cluster it would lie asleep for five minutes. The message says
// which pod and node, and whether the plugin did not register the event or its hint said QueueSkip.
//
// The judgement is that of PreEnqueue, PreFilter and Filter; Reserve and Permit are not asked. No other plugin takes
// part and no pod is ever bound, so that the waiting pods don't disturb each other. An object that a transition changes
// or deletes need not be in the options; if it is, it takes that place.
//
// These are errors, too:
//
//   - The plugin rejects pods, but waits for no event.
//   - A hint returns an error or panics, in a transition or when it is called for an object that was added or deleted,
//     without any object, or with a cache.DeletedFinalStateUnknown, which stands for a deleted object whose last state was
//     missed. Of pods and nodes there is no such call.
//   - A hint answers differently for pods of one class, for which it is asked only once: what the plugin signs, or says
//     in HintClass, leaves out something that the hint reads.
//   - The plugin fails to judge a pod.
//   - No transition has the plugin accept a pod that it rejected, so that nothing was checked.
func CheckRequeue(t TB, name string, factory runtime.PluginFactory, options Options, transitions ...Transition) {
	t.Helper()
	check := &requeueCheck{t: t, name: name, options: &options, transitions: transitions, reported: map[string]bool{}}
	for _, transition := range transitions {
		if err := check.run(factory, transition); err != nil {
			t.Fatalf("checking the wake-ups of plugin %s, when %v: %v", name, transition, err)
			return
		}
	}
	switch {
	case !check.rejected:
		check.reportf("nothing was checked: plugin %s rejects none of the waiting pods; "+
			"the options need pods without a node, and nodes that the plugin rejects for them", name)
	case !check.turned:
		check.reportf("nothing was checked: no transition has plugin %s accept a pod that it rejected before", name)
	}
}

// requeueCheck is one call of CheckRequeue.
type requeueCheck struct {
	t           TB
	name        string
	options     *Options
	transitions []Transition
	// rejected tells that the plugin rejected a pod, turned that it accepted one that it had rejected.
	rejected, turned bool
	// linted tells that the registrations of the plugin were looked at.
	linted bool
	// reported has the messages so far.
	reported map[string]bool
}

// reportf fails the test, once for each message.
func (c *requeueCheck) reportf(format string, args ...any) {
	c.t.Helper()
	if message := fmt.Sprintf(format, args...); !c.reported[message] {
		c.reported[message] = true
		c.t.Errorf("%s", message)
	}
}

// run makes one transition in a cluster of its own.
func (c *requeueCheck) run(factory runtime.PluginFactory, transition Transition) error {
	c.t.Helper()
	if err := transition.check(); err != nil {
		return err
	}
	cluster, observer, err := c.start(factory, c.options.startOf(transition))
	if err != nil {
		return err
	}
	defer cluster.Close()
	before := observer.takeJudgements()
	observer.answers = nil
	if err := transition.perform(cluster); err != nil {
		return err
	}
	asleep := map[types.UID]bool{}
	for uid, judged := range before {
		state, found := cluster.Pod(judged.pod.Namespace, judged.pod.Name)
		asleep[uid] = found && state.Pool == simulate.PoolUnschedulable
	}
	answers := slices.Clone(observer.answers)
	after, err := observer.judgeAgain(cluster, before)
	if err != nil {
		return err
	}
	event := &observedTransition{Transition: transition, observer: observer, answers: answers}
	for _, uid := range slices.Sorted(maps.Keys(before)) {
		c.compare(event, before[uid], after[uid], asleep[uid])
	}
	c.lint(event, before)
	c.compareClasses(event, before)
	return nil
}

// start returns a cluster with the objects of the options, in which an observer stands in for the plugin and has had it
// judge every waiting pod.
func (c *requeueCheck) start(factory runtime.PluginFactory, options Options) (*simulate.Cluster, *requeueObserver, error) {
	tested, err := newSubject(c.name, factory, &options)
	if err != nil {
		return nil, nil, err
	}
	var observer *requeueObserver
	standIn := &subject{name: c.name, factory: func(ctx context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		var err error
		observer, err = newRequeueObserver(ctx, tested, handle)
		return observer, err
	}}
	registry := neededRegistry()
	registry[c.name] = standIn.New
	configuration := oneProfile(prioritysort.Name, defaultbinder.Name)
	standIn.enable(&configuration.Profiles[0], "")
	cluster, err := simulate.NewCluster(options.context(c.t), simulate.Options{
		Configuration: configuration, Registry: registry, CustomResources: options.Objects, Scheme: options.Scheme, Logger: options.Logger,
	})
	if err != nil {
		return nil, nil, err
	}
	err = options.create(cluster)
	if err == nil {
		err = cluster.Settle()
	}
	if err != nil {
		cluster.Close()
		return nil, nil, err
	}
	return cluster, observer, nil
}
