// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	// defaultInitialBackoff is how long a pod waits after its first failed attempt.
	defaultInitialBackoff = time.Second
	// defaultMaxBackoff is how long it waits at most, after many of them.
	defaultMaxBackoff = 10 * time.Second
	// defaultMaxInUnschedulable is how long a pod waits for an event at most.
	defaultMaxInUnschedulable = 5 * time.Minute
	// defaultMaxInFlightEvents is how many events are kept for pods in flight.
	defaultMaxInFlightEvents = 20_000
)

// Options says how a [Queue] works. The zero value is a queue without profiles, with defaults.
type Options struct {
	// Less orders the pods that are to be tried: the queue sort plugin of the first profile. Nil means by priority, and
	// by how long they wait if that is equal. It is called with a lock held that Pop needs, and must not panic.
	Less fwk.LessFunc
	// WithLess calls do, which compares several pods, with a function that returns what Less does and is not used afterwards. If
	// do does not return, because a plugin ended its goroutine, WithLess calls it again. Nil means that do may as well call
	// Less.
	WithLess func(do func(less fwk.LessFunc))
	// Profiles are what the queue needs to know of the profiles, by scheduler name.
	Profiles map[string]Profile
	// Clock is what the queue reads the time from; nil means the real one. It may be virtual, see [Queue.NextFlush].
	Clock clock.PassiveClock
	// Logger is where the queue logs; the zero value logs nothing.
	Logger klog.Logger
	// Nominator knows the nominated pods; the queue keeps it up to date. Nil means NewNominator(nil).
	Nominator *Nominator
	// InitialBackoff is how long a pod waits after its first failed attempt. It doubles with every attempt, up to
	// MaxBackoff. Zero means one and ten seconds; a negative MaxBackoff means no backoff at all.
	InitialBackoff, MaxBackoff time.Duration
	// MaxInUnschedulable is how long a pod waits for an event until it is tried again without one; zero means five minutes.
	MaxInUnschedulable time.Duration
	// MaxInFlightEvents bounds the events that are kept for pods in flight. A pod for which more were kept since it was
	// popped is tried again after its backoff if it fails, whatever they were. Zero means 20,000. Fewer are kept if
	// they and their objects would take more than about 12 MiB.
	MaxInFlightEvents int
	// DisablePopFromBackoff has Pop wait while the only pods that could be tried are backing off. By default those that
	// a plugin rejected are popped early, the one whose backoff ends first, but none a second time that nothing but the
	// failures of others woke, before a backoff of it has ended.
	DisablePopFromBackoff bool
	// Observer is told what happens; nil means no observer.
	Observer Observer
}

// Profile is what the queue needs to know of a profile. All of it may be nil, and none of it may change.
type Profile struct {
	// Events says which plugins wait for which events.
	Events framework.EventMap
	// Registrations has the queueing hints, by plugin. A plugin that waits for an event without a registration that
	// covers it gets its pods back whenever the event happens.
	Registrations map[string][]fwk.ClusterEventWithHint
	// PreEnqueue are the plugins that can keep a pod out, in the order in which they are asked.
	PreEnqueue []fwk.PreEnqueuePlugin
	// HintClass returns the same class for pods for which the hints of a plugin always give the same answer, except to
	// events about the waiting pod itself, so that they are asked once for all of them. It returns false for a pod that
	// must be asked about on its own; nil does so for all.
	HintClass func(plugin string, pod *v1.Pod) (class string, ok bool)
}

// withDefaults returns the options with defaults in place of zero values, or everything that is wrong with them.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	duration := func(name string, value *time.Duration, byDefault time.Duration) {
		if *value < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, but must not be negative", name, *value))
		}
		if *value == 0 {
			*value = byDefault
		}
	}
	duration("InitialBackoff", &o.InitialBackoff, defaultInitialBackoff)
	duration("MaxInUnschedulable", &o.MaxInUnschedulable, defaultMaxInUnschedulable)
	if o.MaxBackoff == 0 {
		o.MaxBackoff = defaultMaxBackoff
	}
	if o.MaxInFlightEvents < 0 {
		errs = append(errs, fmt.Errorf("MaxInFlightEvents is %d, but must not be negative", o.MaxInFlightEvents))
	}
	if o.MaxInFlightEvents == 0 {
		o.MaxInFlightEvents = defaultMaxInFlightEvents
	}
	if o.Less == nil {
		o.Less = byPriority
	}
	if o.Nominator == nil {
		o.Nominator = NewNominator(nil)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, errors.Join(errs...)
}

func byPriority(a, b fwk.QueuedEntityInfo) bool {
	if a.GetPriority() != b.GetPriority() {
		return a.GetPriority() > b.GetPriority()
	}
	return a.GetTimestamp().Before(b.GetTimestamp())
}
