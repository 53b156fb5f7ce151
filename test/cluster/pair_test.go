// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const leaseDuration = 2 * time.Second

// pair is two replicas of rouse, of which one schedules.
type pair struct {
	t       *testing.T
	fixture *Fixture
	start   func() *Scheduler
	members []*Scheduler

	leader          *Scheduler
	since           time.Time // when the leader was seen first
	killed, stopped int
	ended           int // by themselves
}

// startPair starts two replicas with a configuration in which some fields are set.
func startPair(ctx context.Context, t *testing.T, f *Fixture, front *Front, settings map[string]any) *pair {
	t.Helper()
	number := 0
	p := &pair{t: t, fixture: f, start: func() *Scheduler {
		number++
		all := map[string]any{
			"leaderElection.leaseDuration": leaseDuration.String(),
			"leaderElection.renewDeadline": (leaseDuration * 3 / 4).String(),
			"leaderElection.retryPeriod":   (leaseDuration / 8).String(),
		}
		maps.Copy(all, settings)
		return f.Rouse(t, fmt.Sprintf("rouse-%d", number), front, all)
	}}
	p.members = []*Scheduler{p.start(), p.start()}
	for _, member := range p.members {
		member.WaitReady(ctx, t)
	}
	return p
}

// disturb strikes down a leader that has led for two seconds: every third one is stopped until its Lease has run out,
// the others are killed. Another replica is started in its place.
func (p *pair) disturb() {
	if p.leader == nil {
		for _, member := range p.members {
			if strings.Contains(strings.ToLower(member.Log()), "successfully acquired lease") {
				p.leader, p.since = member, time.Now()
			}
		}
		return
	}
	if time.Since(p.since) < 2*time.Second {
		return
	}
	struck := p.leader
	p.leader = nil
	for i, member := range p.members {
		if member == struck {
			p.members[i] = p.start()
		}
	}
	if p.killed > 2*p.stopped {
		p.stopped++
		p.suspend(struck)
		return
	}
	p.killed++
	struck.Kill()
}

// revive starts replicas in place of those that have ended, because they lost their Lease to faults, say.
func (p *pair) revive() {
	for i, member := range p.members {
		if member.Ended() {
			p.ended++
			p.members[i] = p.start()
			if p.leader == member {
				p.leader = nil
			}
		}
	}
}

// suspend stops the process until its Lease is someone else's, and lets it go on: it must end by itself.
func (p *pair) suspend(process *Scheduler) {
	p.t.Helper()
	before, err := p.leaseHolder()
	if err != nil {
		p.t.Fatalf("reading who holds the Lease: %v", err)
	}
	if err := process.command.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatalf("stopping %s: %v", process.name, err)
	}
	WaitFor(p.t.Context(), p.t, 20*time.Second, func() (bool, string) {
		now, err := p.leaseHolder()
		return err == nil && now != before, fmt.Sprintf("the Lease of %s to be someone else's; %s has it (error: %v)", process.name, now, err)
	})
	if err := process.command.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Fatalf("continuing %s: %v", process.name, err)
	}
	WaitFor(p.t.Context(), p.t, 20*time.Second, func() (bool, string) {
		return process.Ended(), process.name + " to end because it lost its Lease"
	})
}

// leaseHolder returns the identity of the replica that the Lease names.
func (p *pair) leaseHolder() (string, error) {
	lease, err := p.fixture.Client.CoordinationV1().Leases("kube-system").Get(p.t.Context(), "kube-scheduler", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}
