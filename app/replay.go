// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/simulate"
)

// replay is what the commands share that look at a simulation from close by.
type replay struct {
	program *program
	config  *string
	seed    uint64
}

// newReplay gives a command the flags of a simulation.
func (p *program) newReplay(command *cobra.Command) *replay {
	r := &replay{program: p, config: addConfigFlag(command)}
	command.Flags().Uint64Var(&r.seed, "seed", 0, "seed of the choice among equally good nodes")
	return r
}

// watcher is told what happens in a simulation.
type watcher interface {
	// Observe sets itself as observer, before the cluster is made.
	Observe(*simulate.Options)
	// Watch follows the cluster, before anything happens there.
	Watch(*simulate.Cluster)
}

// run replays an input up to some time, or if that is nil until everything has settled. The caller closes the cluster.
func (r *replay) run(command *cobra.Command, paths []string, w watcher, until *time.Duration) (*simulate.Cluster, error) {
	defer collectGarbageEarly()()
	registry, err := r.program.registry()
	if err != nil {
		return nil, err
	}
	config, input, err := r.program.readInput(command, *r.config, paths, registry)
	if err != nil {
		return nil, err
	}
	options := simulate.Options{
		Configuration: config, Registry: registry.Registry, Scheme: registry.scheme, CustomResources: input.CustomResources(), Seed: r.seed, Logger: logger(),
	}
	w.Observe(&options)
	bar := showProgress(command, &options, false)
	cluster, err := simulate.NewCluster(command.Context(), options)
	if err != nil {
		return nil, locate(command.Context(), err, config, registry)
	}
	w.Watch(cluster)
	if until == nil {
		err = cluster.Replay(input)
	} else {
		err = cluster.ReplayUntil(input, simulate.Time(*until))
	}
	bar.clear()
	if err != nil {
		cluster.Close()
		return nil, interrupted(command.Context(), err, cluster.Now())
	}
	report := cluster.Report()
	for _, warning := range report.Warnings {
		warn(command, warning)
	}
	if failed := len(report.Failures); failed > 0 {
		warn(command, fmt.Sprintf("expectations of the scenarios that were not met: %d; 'simulate' lists them", failed))
	}
	return cluster, nil
}
