// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	// polled is how often the caches are looked at until they are full.
	polled = 100 * time.Millisecond
	// patient is how long caches may take to fill until the log says what they wait for, and how often it says so.
	patient = 10 * time.Second
)

// caches is how far the scheduler's view of the cluster is.
type caches struct{ started, full atomic.Bool }

// fillCaches starts the informers, which run until the second context ends, and returns once everything that exists has
// passed through the event handlers, or when the first context ends. Kinds that the API server does not know are not
// waited for; their informers keep trying, so that they work once their CustomResourceDefinition exists.
func (p *process) fillCaches(ctx, background context.Context) {
	p.caches.started.Store(true)
	p.cluster.informers.StartWithContext(background)
	p.cluster.custom.Start(background.Done())
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		p.cluster.informers.WaitForCacheSync(ctx.Done())
	}()
	reminder := time.Now().Add(patient)
	err := wait.PollUntilContextCancel(ctx, polled, true, func(context.Context) (bool, error) {
		select {
		case <-typed:
			if len(p.missingKinds()) == 0 {
				return true, nil
			}
		default:
		}
		if time.Now().After(reminder) {
			reminder = time.Now().Add(patient)
			p.logger.Info("Still waiting for the informers to sync before scheduling", "waitingFor", p.waitingFor().Error())
		}
		return false, nil
	})
	if err != nil {
		p.logger.Error(err, "handlers are not fully synchronized")
		return
	}
	for _, kind := range p.absentKinds() {
		p.logger.Info("Scheduling without a kind that a plugin waits for: its CustomResourceDefinition does not exist (yet)", "kind", kind)
	}
	p.caches.full.Store(true)
}

// missingKinds returns the kinds that exist and whose objects are not all known yet.
func (p *process) missingKinds() []string {
	missing, _ := p.unsyncedKinds()
	return missing
}

// absentKinds returns the kinds that plugins wait for and the API server does not know.
func (p *process) absentKinds() []string {
	_, absent := p.unsyncedKinds()
	return absent
}

func (p *process) unsyncedKinds() (missing, absent []string) {
	for _, name := range p.scheduler.UnsyncedKinds() {
		custom, isCustom := framework.ParseCustomResource(name)
		if isCustom && p.cluster.access.Absent(custom.GroupResource()) {
			absent = append(absent, string(name))
		} else {
			missing = append(missing, string(name))
		}
	}
	return missing, absent
}

// waitingFor says why the caches are not full.
func (p *process) waitingFor() error {
	err := errors.New("waiting for handlers to sync")
	if kinds := p.missingKinds(); len(kinds) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.Join(kinds, ", "))
	}
	return errors.Join(err, p.cluster.access.Check(), p.cluster.access.Unreachable())
}
