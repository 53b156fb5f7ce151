// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// defaultMaxVirtualTime is how long a simulation may go on by itself.
const defaultMaxVirtualTime = 24 * time.Hour

// defaultCallLimit is how long a call of a plugin may take in real time.
const defaultCallLimit = time.Minute

// Options say how a simulation runs. The zero value is a scheduler with the default profile and nothing but a report.
type Options struct {
	// Configuration has the profiles; nil means the default one. The scheduler of a simulation always works with a
	// parallelism of one, so that it comes to the same result every time.
	Configuration *profiles.Configuration
	// Registry has every plugin that a profile may name, the in-tree ones included; nil means the in-tree ones.
	Registry runtime.Registry
	// CustomResources are objects of custom kinds and CustomResourceDefinitions whose kinds the cluster serves from the
	// beginning, so that plugins find them when they are built; the objects are not created. Kinds of what is created later
	// are added then. See [Input.CustomResources].
	CustomResources []apiruntime.Object
	// Scheme has the Go types of custom kinds, which are served as well, and lets [Cluster.Create] and its like take
	// objects of these types. It may be nil.
	Scheme *apiruntime.Scheme
	// Seed decides between nodes that are equally good.
	Seed uint64
	// Trace has the report hold everything that happened to every pod. A long simulation has a long trace.
	Trace bool
	// Observer is given the entries of the trace as they happen, whether the report holds them or not; nil if no one
	// is interested. It is called with locks held and must not use the cluster.
	Observer func(TraceEntry)
	// Progress is told how far a replay is, at most every tenth of a second of real time and once at the end; nil if
	// no one is interested.
	Progress func(Progress)
	// Observers see what the scheduler does. Any may be nil.
	Observers scheduler.Observers
	// Logger receives what the scheduler logs; the zero value drops it.
	Logger klog.Logger
	// CallLimit is how long, in real time, a single call of a plugin may take until the simulation is given up with a
	// [*HangingError]; zero means a minute, a negative one no limit.
	CallLimit time.Duration
	// MaxVirtualTime is how long pods may be tried over and over until the simulation is given up; zero means
	// a day. Time that passes because a step is due later does not count.
	MaxVirtualTime time.Duration
}

// Progress is how far a replay is.
type Progress struct {
	// Done is how many steps, of Total, have been made. A replay without scenarios has none.
	Done, Total int
	// Now is the virtual time.
	Now Time
	// Bound is how many pods are on nodes at the moment, Pending how many are waiting.
	Bound, Pending int
	// Attempts is how many scheduling cycles there were.
	Attempts int
}

// Run replays an input from the beginning to the end. The error is an [*InputError] if the input is to blame, and a
// [*HangingError] if a plugin does not return; pods that are not what a scenario expects are no error, but Failures of the report.
//
// The run ends when all steps are made and nothing can happen any more by itself, except that pods are tried again
// because they waited too long.
func Run(ctx context.Context, input *Input, options Options) (*Report, error) {
	start := time.Now()
	options.CustomResources = append(options.CustomResources[:len(options.CustomResources):len(options.CustomResources)], input.CustomResources()...)
	cluster, err := NewCluster(ctx, options)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	if err := cluster.Replay(input); err != nil {
		return nil, err
	}
	report := cluster.Report()
	report.Summary.WallSeconds = time.Since(start).Seconds()
	return report, nil
}
