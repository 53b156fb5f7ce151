// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// checkerPlugin is where a task can pause, makes pods with the label permit wait for permission, and prefers nodes by name.
// It rejects no pod, and so waits for no event.
type checkerPlugin struct{ w *world }

const permitLabel = "permit"

func (p *checkerPlugin) Name() string { return "Checker" }

func (p *checkerPlugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, nil
}

func (p *checkerPlugin) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.w.remember("saw %x", p.w.cacheDigest())
	p.w.pause("snapshot")
	p.w.remember("%x", p.w.nominationDigest())
	return nil, nil
}

func (p *checkerPlugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *checkerPlugin) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return 100 - int64(node.Node().Name[len(node.Node().Name)-1]-'0'), nil
}

func (p *checkerPlugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

func (p *checkerPlugin) Reserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return nil
}

func (p *checkerPlugin) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {
	p.w.pause("unreserve")
}

func (p *checkerPlugin) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if pod.Labels[permitLabel] == "" {
		return nil, 0
	}
	p.w.attempts[pod.UID].permit = true
	return fwk.NewStatus(fwk.Wait), time.Hour
}

func (p *checkerPlugin) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if slices.Contains(p.w.instance.pauses, "prebind") {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Skip)
}

func (p *checkerPlugin) PreBind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	p.w.pause("prebind")
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}

// waitingPod returns a pod that waits for permission, nil if it does not.
func (w *world) waitingPod(uid types.UID) fwk.WaitingPod {
	profile := w.scheduler.Profiles()[profiles.DefaultSchedulerName]
	var found fwk.WaitingPod
	profile.IterateOverWaitingPods(func(waiting fwk.WaitingPod) {
		if waiting.GetPod().UID == uid {
			found = waiting
		}
	})
	return found
}

// turnstile rejects pods with the label ticket as Pending on nodes without it: such a pod skips its backoff when the label
// comes. Its hint skips all other changes of labels.
type turnstile struct{}

const ticketLabel = "ticket"

func (turnstile) Name() string { return "Turnstile" }

func (turnstile) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	hint := func(_ klog.Logger, _ *v1.Pod, _, new any) (fwk.QueueingHint, error) {
		if node, ok := new.(*v1.Node); ok && node.Labels[ticketLabel] == "" {
			return fwk.QueueSkip, nil
		}
		return fwk.Queue, nil
	}
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, QueueingHintFn: hint},
		{Event: fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel}},
	}, nil
}

func (turnstile) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if pod.Labels[ticketLabel] != "" && node.Node().Labels[ticketLabel] == "" {
		return fwk.NewStatus(fwk.Pending, "no ticket")
	}
	return nil
}

// inTree are the in-tree plugins that worlds have.
func inTree() sets.Set[string] {
	return sets.New("PrioritySort", "SchedulingGates", "NodeUnschedulable", "NodeResourcesFit", "DefaultPreemption", "DefaultBinder")
}

func (in *instance) configuration() *profiles.Configuration {
	configuration := profiles.Default()
	configuration.Parallelism, configuration.PodMaxBackoffSeconds = 1, 1
	profile := &configuration.Profiles[0]
	kept := inTree().Insert(in.plugins...)
	enabled := slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(plugin configv1.Plugin) bool { return !kept.Has(plugin.Name) })
	profile.Plugins.MultiPoint.Enabled = append(enabled, configv1.Plugin{Name: "Turnstile"}, configv1.Plugin{Name: "Checker"})
	profile.Plugins.Score.Disabled = []configv1.Plugin{{Name: "NodeResourcesFit"}}
	return configuration
}

func (in *instance) registry(checker *checkerPlugin) runtime.Registry {
	registry := plugins.NewInTreeRegistry()
	registry["Checker"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return checker, nil }
	registry["Turnstile"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return turnstile{}, nil }
	return registry
}

// observer follows attempts.
type observer struct {
	scheduler.NopObserver
	w *world
}

// AttemptFailed implements scheduler.Observer.
func (o observer) AttemptFailed(failure scheduler.Failure) {
	w := o.w
	if failure.Status.IsRejected() || failure.Status.IsError() {
		w.remember("failed: %s", failure.Status.Message())
	}
	if failure.Diagnosis != nil {
		w.remember("%v %v", sets.List(failure.Diagnosis.UnschedulablePlugins), sets.List(failure.Diagnosis.PendingPlugins))
	}
	w.pause("failed")
	if slices.Contains(w.instance.pauses, "looked up") && w.running != nil {
		w.pauseAfterLookup = true
	}
}

// queueObserver follows the queue.
type queueObserver struct {
	queue.NopQueueObserver
	w *world
}

// PodMoved implements queue.Observer.
func (o queueObserver) PodMoved(move queue.PodMove) {
	if move.Cause == queue.CausePopped {
		o.w.popped(move.Pod.Pod)
	}
}

// logSink turns errors that the scheduler logs into violations, but for those that are only about a failed API call or a
// failed attempt.
type logSink struct{ w *world }

func expectedErrors() []string {
	return []string{
		"Error scheduling pod; retrying", "Preempting pods failed", "Checking whether a pod was bound failed",
		"Writing the condition of a pod failed", "Writing the nominated node of a pod failed", "Withdrawing nominations failed",
		"Running the PostFilter plugins failed",
		"Scheduler cache ForgetPod failed", // another scheduler has bound the pod
		"Scheduler cache RemovePod failed", // a pod that may have been bound before it was found deleted
	}
}

// Init implements logr.LogSink.
func (logSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (logSink) Enabled(int) bool { return false }

// Info implements logr.LogSink.
func (logSink) Info(int, string, ...any) {}

// Error implements logr.LogSink.
func (l logSink) Error(err error, message string, _ ...any) {
	for _, expected := range expectedErrors() {
		if strings.HasPrefix(message, expected) {
			return
		}
	}
	l.w.problem("the scheduler logs: %s (%v)", message, err)
}

// WithValues implements logr.LogSink.
func (l logSink) WithValues(...any) logr.LogSink { return l }

// WithName implements logr.LogSink.
func (l logSink) WithName(string) logr.LogSink { return l }
