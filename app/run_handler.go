// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/server/healthz"
	zpagesfeatures "k8s.io/component-base/zpages/features"

	"github.com/rouse-scheduler/rouse/app/internal/serving"
	"github.com/rouse-scheduler/rouse/scheduler/metrics/resources"
)

// componentName is what the process calls itself.
const componentName = "rouse"

// handler returns what the process answers over HTTPS. The context is the one whose end is the beginning of the end.
func (p *process) handler(ctx context.Context) http.Handler {
	endpoints := serving.Endpoints{
		Component:           componentName,
		Ready:               p.readiness(ctx),
		Live:                []healthz.HealthChecker{healthz.PingHealthz},
		Resources:           resources.Handler(p.cluster.informers.Core().V1().Pods().Lister(), p.leading.Load),
		Explainer:           p,
		Profiling:           p.config.EnableProfiling,
		ContentionProfiling: p.config.EnableContentionProfiling,
	}
	if p.watchdog != nil {
		endpoints.Health = []healthz.HealthChecker{p.watchdog}
	}
	if p.options.Gates.Enabled(zpagesfeatures.ComponentFlagz) {
		sections := p.options.Sections()
		endpoints.Flags = &sections
	}
	if p.options.Gates.Enabled(zpagesfeatures.ComponentStatusz) {
		endpoints.Version = p.options.Gates.EffectiveVersion()
	}
	return serving.NewHandler(endpoints)
}

// readiness returns the checks of /readyz. Those of kube-scheduler come first.
func (p *process) readiness(ctx context.Context) []healthz.HealthChecker {
	var checks []healthz.HealthChecker
	if p.watchdog != nil {
		checks = append(checks, p.watchdog)
	}
	return append(checks,
		healthz.NewShutdownHealthz(ctx.Done()),
		check("sched-handler-sync", func() error {
			if p.caches.full.Load() || !p.caches.started.Load() && p.delaysCaches() {
				return nil
			}
			return p.waitingFor()
		}),
		check("api-access", p.cluster.access.Check),
		check("scheduling-cycle", p.scheduler.Stuck),
		check("event-resources", p.scheduler.Profiles().CheckEventResources),
		check("custom-kinds", func() error {
			if absent := p.absentKinds(); len(absent) > 0 {
				return fmt.Errorf("plugins wait for kinds that the API server does not know: %s", strings.Join(absent, ", "))
			}
			return nil
		}),
	)
}

func check(name string, run func() error) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(*http.Request) error { return run() })
}
