// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// yielding is how long a leader that lost its lease lets bindings end that are under way. It is shorter than what is
// left of the lease by default when the leader gives it up, so that no other leader schedules yet.
const yielding = 2 * time.Second

// errLeaseLost is why a leader ends that could not renew its lease in time.
var errLeaseLost = errors.New("the lease of the leader was not renewed in time; another replica may be the leader now")

// elect schedules whenever this process is the leader: it waits to become it, schedules until the context ends, and
// gives the lease back when nothing is under way any more, so that the next leader need not wait for it to run out.
func (p *process) elect(ctx, background context.Context) error {
	// The lease is kept for longer than the context lasts.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var started atomic.Bool
	scheduled := make(chan error, 1)
	elector, err := p.elector(leaderelection.LeaderCallbacks{
		OnStartedLeading: func(lease context.Context) {
			started.Store(true)
			p.leading.Store(true)
			scheduled <- p.scheduleUnder(ctx, lease, background)
			if lease.Err() == nil { // otherwise it is lost
				release()
			}
		},
		OnStoppedLeading: func() { p.leading.Store(false) },
		OnNewLeader: func(identity string) {
			p.leader.Store(&identity)
			p.logger.V(1).Info("There is a leader", "identity", identity)
		},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if !started.Load() {
			release()
		}
	})()
	elector.Run(holding)
	if !started.Load() {
		return nil
	}
	if holding.Err() == nil && ctx.Err() == nil {
		p.logger.Error(nil, "Leaderelection lost")
		select {
		case <-scheduled:
		case <-time.After(yielding):
		}
		return errLeaseLost
	}
	return <-scheduled
}

// scheduleUnder schedules until either context ends.
func (p *process) scheduleUnder(ctx, lease, background context.Context) error {
	both, cancel := context.WithCancel(lease)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return p.schedule(both, background)
}

// elector returns what takes part in the election.
func (p *process) elector(callbacks leaderelection.LeaderCallbacks) (*leaderelection.LeaderElector, error) {
	election := &p.config.LeaderElection
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process in the leader election: %w", err)
	}
	lock, err := resourcelock.NewFromKubeconfig(election.ResourceLock, election.ResourceNamespace, election.ResourceName,
		resourcelock.ResourceLockConfig{
			Identity:      host + "_" + string(uuid.NewUUID()),
			EventRecorder: p.cluster.coreRecorder(p.config.Profiles[0].SchedulerName),
		}, p.cluster.rest, election.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("preparing the leader election: %w", err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   election.LeaseDuration.Duration,
		RenewDeadline:   election.RenewDeadline.Duration,
		RetryPeriod:     election.RetryPeriod.Duration,
		Callbacks:       callbacks,
		WatchDog:        p.watchdog,
		ReleaseOnCancel: true,
		Name:            election.ResourceName,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the leader election: %w", err)
	}
	p.cluster.fence.start(elector)
	return elector, nil
}
