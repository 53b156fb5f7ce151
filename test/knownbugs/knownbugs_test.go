// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/testing/defaults"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/rouse-scheduler/rouse/internal/knownbugs"
)

// TestKubeScheduler plays the sequences on kube-scheduler. What comes out has to be what docs/known-bugs.md says.
func TestKubeScheduler(t *testing.T) {
	// kube-scheduler waits for a signal. The goroutine that delivers signals must not be started in a bubble.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	// The second handler of errors remembers when it was called last, and the time of a bubble begins in 2000.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	ended := false
	klog.OsExit = func(int) {
		ended = true
		runtime.Goexit()
	}
	page, err := os.ReadFile("../../docs/known-bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range knownbugs.All() {
		t.Run(bug.Name, func(t *testing.T) {
			for _, gate := range bug.Gates {
				featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, featuregate.Feature(gate), true)
			}
			ended = false
			err := bug.Play(t, start)
			if ended {
				err = errors.New("the process ended")
			}
			says := said(string(page), bug.Name)
			switch {
			case err == nil && !strings.HasPrefix(says, "no"):
				t.Errorf("docs/known-bugs.md says %q, but it does not have the bug", says)
			case err != nil && !(strings.HasPrefix(says, "yes") && strings.HasSuffix(says, err.Error())):
				t.Errorf("docs/known-bugs.md says %q, but it has the bug: %v", says, err)
			}
		})
	}
}

// said returns what a page says of kube-scheduler in the row of a bug.
func said(page, bug string) string {
	_, row, _ := strings.Cut(page, "`"+bug+"` | ")
	if cells := strings.Split(row, " | "); len(cells) > 1 {
		return cells[1]
	}
	return ""
}

// start is a knownbugs.Start.
func start(ctx context.Context, t *testing.T, parts knownbugs.Parts) knownbugs.Scheduler {
	t.Helper()
	registry := upstreamruntime.Registry{}
	profile := upstreamconfig.KubeSchedulerProfile{
		SchedulerName: "default-scheduler",
		Plugins:       &upstreamconfig.Plugins{MultiPoint: *defaults.PluginsV1.MultiPoint.DeepCopy()},
		PluginConfig:  defaults.PluginConfigsV1,
	}
	for _, plugin := range parts.Plugins {
		registry[plugin.Name()] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return plugin.New(ctx, args, handle)
		}
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, upstreamconfig.Plugin{Name: plugin.Name()})
	}
	informers := upstream.NewInformerFactory(parts.Client, 0, nil)
	s, err := upstream.New(ctx, parts.Client, informers, nil,
		func(string) events.EventRecorderLogger { return parts.Recorder },
		upstream.WithProfiles(profile),
		upstream.WithFrameworkOutOfTreeRegistry(registry),
	)
	if err != nil {
		t.Fatal(err)
	}
	informers.Start(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(done)
	}()
	return knownbugs.Scheduler{
		InFlight: func() int { return len(s.SchedulingQueue.InFlightPods()) },
		Wait: func() {
			<-done
			informers.Shutdown()
		},
	}
}
