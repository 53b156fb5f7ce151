// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func epoch() time.Time { return time.Unix(1000, 0) }

// recorder writes down the metrics of permits and extension points, in the journal, and counts the rest.
type recorder struct {
	journal
	plugins     journal
	evaluations journal
	goroutines  journal
}

func (r *recorder) ExtensionPointDuration(point runtime.Method, status, profile string, duration time.Duration) {
	r.add(fmt.Sprintf("%s %s %s %v", point, status, profile, duration))
}

func (r *recorder) PluginDuration(plugin string, method runtime.Method, status string, duration time.Duration) {
	r.plugins.add(fmt.Sprintf("%s.%s %s %v", plugin, method, status, duration))
}

func (r *recorder) PluginEvaluations(plugin string, point runtime.Method, profile string) runtime.Counter {
	return counter{fmt.Sprintf("%s.%s %s", plugin, point, profile), &r.evaluations}
}

func (r *recorder) PermitWait(result string, duration time.Duration) {
	r.add(fmt.Sprintf("wait %s %v", result, duration))
}

func (r *recorder) Goroutines(operation string, change int) {
	r.goroutines.add(fmt.Sprintf("%s %+d", operation, change))
}

type counter struct {
	name   string
	counts *journal
}

func (c counter) Inc() { c.counts.add(c.name) }

func TestExtensionPointMetrics(t *testing.T) {
	pod, nodes := objects.Pod("p").Build(), newNodes("n1")
	tests := map[runtime.Method]func(context.Context, *runtime.Framework, fwk.CycleState){
		runtime.MethodPreFilter: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPreFilterPlugins(ctx, state, pod)
		},
		runtime.MethodPostFilter: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPostFilterPlugins(ctx, state, pod, framework.NewDefaultNodeToStatus())
		},
		runtime.MethodPreScore: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPreScorePlugins(ctx, state, pod, nodes)
		},
		runtime.MethodScore: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunScorePlugins(ctx, state, pod, nodes)
		},
		runtime.MethodReserve: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunReservePluginsReserve(ctx, state, pod, "n1")
		},
		runtime.MethodPermit: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPermitPlugins(ctx, state, pod, "n1")
		},
		runtime.MethodPreBindPreFlight: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPreBindPreFlights(ctx, state, pod, "n1")
		},
		runtime.MethodPreBind: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPreBindPlugins(ctx, state, pod, "n1")
		},
		runtime.MethodBind: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunBindPlugins(ctx, state, pod, "n1")
		},
		runtime.MethodUnreserve: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunReservePluginsUnreserve(ctx, state, pod, "n1")
		},
		runtime.MethodPostBind: func(ctx context.Context, f *runtime.Framework, state fwk.CycleState) {
			f.RunPostBindPlugins(ctx, state, pod, "n1")
		},
	}
	silent := map[runtime.Method]bool{runtime.MethodUnreserve: true, runtime.MethodPostBind: true}
	for method, run := range tests {
		for _, behaviour := range []string{"Success", "Error", "panic"} {
			t.Run(string(method)+"/"+behaviour, func(t *testing.T) {
				plugin := &fake{name: "A"}
				pluginStatus, pointStatus := "Success", "Success"
				switch behaviour {
				case "Error":
					plugin.returns = map[runtime.Method]*fwk.Status{method: fwk.NewStatus(fwk.Error)}
					if !silent[method] {
						pluginStatus, pointStatus = "Error", "Error"
					}
				case "panic":
					plugin.panics = map[runtime.Method]any{method: "boom"}
					pluginStatus = "Error"
					if !silent[method] {
						pointStatus = "Error"
					}
				}
				clock := testclock.NewFakeClock(epoch())
				plugin.does = map[runtime.Method]func(context.Context){method: func(context.Context) { clock.Step(time.Second) }}
				metrics := &recorder{}
				f := build(t, runtime.Options{Metrics: metrics, Execution: runtime.Execution{Clock: clock}, Parallelism: 1}, everyPoint("A"), plugin)

				run(t.Context(), f, newState())
				if diff := cmp.Diff([]string{string(method) + " " + pointStatus + " test-scheduler 1s"}, metrics.list()); diff != "" {
					t.Errorf("extension points (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string(nil), metrics.plugins.list()); diff != "" {
					t.Errorf("plugins although they are not to be recorded (-want +got):\n%s", diff)
				}

				state := newState()
				state.SetRecordPluginMetrics(true)
				run(t.Context(), f, state)
				if diff := cmp.Diff([]string{"A." + string(method) + " " + pluginStatus + " 1s"}, metrics.plugins.list()); diff != "" {
					t.Errorf("plugins (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Some methods are measured by plugin only.
func TestPluginMetrics(t *testing.T) {
	pod, node := objects.Pod("p").Build(), newNode("n1")
	metrics := &recorder{}
	plugin := &fake{name: "A", normalize: func(fwk.NodeScoreList) {}}
	f := build(t, runtime.Options{Metrics: metrics, Execution: runtime.Execution{Clock: testclock.NewFakeClock(epoch())}}, everyPoint("A"), plugin)
	state := newState()
	state.SetRecordPluginMetrics(true)
	f.RunFilterPlugins(t.Context(), state, pod, node)
	f.RunPreFilterExtensionAddPod(t.Context(), state, pod, podInfo(t, "other", 0), node)
	f.RunPreFilterExtensionRemovePod(t.Context(), state, pod, podInfo(t, "other", 0), node)
	f.RunScorePlugins(t.Context(), state, pod, []fwk.NodeInfo{node})
	want := []string{
		"A.Filter Success 0s", "A.PreFilterExtensionAddPod Success 0s", "A.PreFilterExtensionRemovePod Success 0s",
		"A.Score Success 0s", "A.ScoreExtensionNormalize Success 0s",
	}
	if diff := cmp.Diff(want, metrics.plugins.list()); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Score Success test-scheduler 0s"}, metrics.list()); diff != "" {
		t.Errorf("extension points (-want +got):\n%s", diff)
	}
	f.ObserveFilter(fwk.Success, 3*time.Second)
	f.ObserveFilter(fwk.Code(42), time.Second)
	if diff := cmp.Diff([]string{"Score Success test-scheduler 0s", "Filter Success test-scheduler 3s", "Filter 42 test-scheduler 1s"}, metrics.list()); diff != "" {
		t.Errorf("Filter, observed by the caller (-want +got):\n%s", diff)
	}
}

func TestSignMetrics(t *testing.T) {
	metrics := &recorder{}
	f := build(t, runtime.Options{Metrics: metrics, Execution: runtime.Execution{Clock: testclock.NewFakeClock(epoch())}},
		func(p *configv1.Plugins) { p.Filter = enabled("A") }, signing("A"))
	f.SignPod(t.Context(), objects.Pod("p").Build())
	if diff := cmp.Diff([]string{"Sign Success test-scheduler 0s"}, metrics.list()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Calls of PreFilter and PreScore count unless they skip, calls of Filter and Score always.
func TestPluginEvaluations(t *testing.T) {
	pod, nodes := objects.Pod("p").Build(), newNodes("n1", "n2")
	for _, code := range []fwk.Code{fwk.Success, fwk.Skip} {
		t.Run(code.String(), func(t *testing.T) {
			metrics := &recorder{}
			plugin := &fake{name: "A", returns: map[runtime.Method]*fwk.Status{
				runtime.MethodPreFilter: fwk.NewStatus(code), runtime.MethodPreScore: fwk.NewStatus(code),
			}}
			f := build(t, runtime.Options{Metrics: metrics, Parallelism: 1}, everyPoint("A"), plugin)
			state := newState()
			f.RunPreFilterPlugins(t.Context(), state, pod)
			for _, node := range nodes {
				f.RunFilterPlugins(t.Context(), state, pod, node)
			}
			f.RunPreScorePlugins(t.Context(), state, pod, nodes)
			f.RunScorePlugins(t.Context(), state, pod, nodes)
			f.RunReservePluginsReserve(t.Context(), state, pod, "n1")
			var want []string
			if code == fwk.Success {
				want = []string{
					"A.PreFilter test-scheduler", "A.Filter test-scheduler", "A.Filter test-scheduler",
					"A.PreScore test-scheduler", "A.Score test-scheduler", "A.Score test-scheduler",
				}
			}
			if diff := cmp.Diff(want, metrics.evaluations.list()); diff != "" {
				t.Errorf("evaluations (-want +got):\n%s", diff)
			}
		})
	}
}
