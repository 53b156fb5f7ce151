// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// everyPoint enables one plugin everywhere.
func everyPoint(name string) func(*configv1.Plugins) {
	return func(p *configv1.Plugins) {
		p.PreEnqueue, p.PreFilter, p.Filter, p.PostFilter = enabled(name), enabled(name), enabled(name), enabled(name)
		p.PreScore, p.Score, p.Reserve, p.Permit = enabled(name), enabled(name), enabled(name), enabled(name)
		p.PreBind, p.Bind, p.PostBind = enabled(name), enabled(name), enabled(name)
		p.QueueSort = enabled(name)
	}
}

// A plugin that panics fails its pod, says where, and leaves a stack in the log.
func TestPanicsBecomeErrorsOfThePod(t *testing.T) {
	pod, nodes := objects.Pod("p").Build(), newNodes("n1", "n2")
	tests := map[runtime.Method]func(*runtime.Framework, fwk.CycleState) *fwk.Status{
		runtime.MethodPreEnqueue: func(f *runtime.Framework, _ fwk.CycleState) *fwk.Status {
			return f.PreEnqueuePlugins()[0].PreEnqueue(t.Context(), pod)
		},
		runtime.MethodPreFilter: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			kept, status, narrowers := f.RunPreFilterPlugins(t.Context(), state, pod)
			if kept != nil || narrowers != nil {
				t.Errorf("PreFilter: a result in addition to the error: %v, %v", kept, narrowers)
			}
			return status
		},
		runtime.MethodAddPod: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreFilterExtensionAddPod(t.Context(), state, pod, podInfo(t, "other", 0), nodes[0])
		},
		runtime.MethodRemovePod: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreFilterExtensionRemovePod(t.Context(), state, pod, podInfo(t, "other", 0), nodes[0])
		},
		runtime.MethodFilter: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunFilterPluginsWithNominatedPods(t.Context(), state, pod, nodes[0])
		},
		runtime.MethodPostFilter: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			_, status := f.RunPostFilterPlugins(t.Context(), state, pod, framework.NewDefaultNodeToStatus())
			return status
		},
		runtime.MethodPreScore: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreScorePlugins(t.Context(), state, pod, nodes)
		},
		runtime.MethodScore: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			_, status := f.RunScorePlugins(t.Context(), state, pod, nodes)
			return status
		},
		runtime.MethodNormalizeScore: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			_, status := f.RunScorePlugins(t.Context(), state, pod, nodes)
			return status
		},
		runtime.MethodReserve: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunReservePluginsReserve(t.Context(), state, pod, "n1")
		},
		runtime.MethodPermit: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			_, status := f.RunPermitPlugins(t.Context(), state, pod, "n1")
			return status
		},
		runtime.MethodPreBindPreFlight: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreBindPreFlights(t.Context(), state, pod, "n1")
		},
		runtime.MethodPreBind: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreBindPlugins(t.Context(), state, pod, "n1")
		},
		runtime.MethodBind: func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunBindPlugins(t.Context(), state, pod, "n1")
		},
	}
	prefixes := map[runtime.Method]string{
		runtime.MethodScore:          "running Score plugins: ",
		runtime.MethodNormalizeScore: "running Normalize on Score plugins: ",
	}
	for method, run := range tests {
		t.Run(string(method), func(t *testing.T) {
			log, logger := logged()
			cause := errors.New("boom")
			plugin := &fake{name: "A", panics: map[runtime.Method]any{method: cause}}
			f := build(t, runtime.Options{Logger: logger}, everyPoint("A"), plugin)
			status := run(f, newState())
			want := result{fwk.Error, prefixes[method] + `plugin "A" panicked in ` + string(method) + ": boom", "A"}
			if diff := cmp.Diff(want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			var panicked *runtime.PanicError
			if !errors.As(status.AsError(), &panicked) || panicked.Plugin != "A" || panicked.Method != method || !errors.Is(panicked, cause) {
				t.Errorf("the error is %#v, want a PanicError with its cause", status.AsError())
			}
			entries := strings.Join(log.list(), "\n")
			if !strings.Contains(entries, "fakes_test.go") || !strings.Contains(entries, `pod="default/p"`) {
				t.Errorf("the log has no stack of the plugin, or no pod:\n%s", entries)
			}
		})
	}
}

// logged returns a logger and what it logs.
func logged() (*journal, klog.Logger) { return loggedAt(2) }

func loggedAt(verbosity int) (*journal, klog.Logger) {
	log := &journal{}
	return log, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(verbosity)))
}

// Write makes the journal a log.
func (j *journal) Write(entry []byte) (int, error) {
	j.add(string(entry))
	return len(entry), nil
}

func TestPanicsWhileBuilding(t *testing.T) {
	panicking := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { panic("boom") }
	tests := map[string]struct {
		factory runtime.PluginFactory
		want    string
	}{
		"factory": {panicking, `initializing plugin "A": plugin "A" panicked in its factory: boom`},
		"events": {
			func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
				return waker{filterOnly{"A"}, func() ([]fwk.ClusterEventWithHint, error) { panic("boom") }}, nil
			},
			`asking plugin "A" for the events that it waits for: plugin "A" panicked in EventsToRegister: boom`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registry := registryOf()
			registry["A"] = test.factory
			profile := profileWith(func(p *configv1.Plugins) { p.Filter = enabled("A") })
			_, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{})
			if diff := cmp.Diff(test.want, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPanicsOfHintsQueue(t *testing.T) {
	plugin := waker{filterOnly{"A"}, func() ([]fwk.ClusterEventWithHint, error) {
		return []fwk.ClusterEventWithHint{{
			Event:             fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add},
			QueueingHintFn:    func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { panic("boom") },
			PreQueueingHintFn: func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) { panic("bang") },
		}}, nil
	}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
	registered := f.Registrations()["A"][0]
	advice, err := registered.QueueingHintFn(klog.Logger{}, objects.Pod("p").Build(), nil, nil)
	if advice != fwk.Queue || errorText(err) != `plugin "A" panicked in QueueingHintFn: boom` {
		t.Errorf("hint: %v, %v", advice, err)
	}
	narrowed, err := registered.PreQueueingHintFn(klog.Logger{}, nil, nil)
	if !narrowed.AllPods || errorText(err) != `plugin "A" panicked in PreQueueingHintFn: bang` {
		t.Errorf("narrowing hint: %v, %v", narrowed, err)
	}
}

func TestPanicsOfOtherCalls(t *testing.T) {
	panics := map[runtime.Method]any{runtime.MethodSign: "boom", runtime.MethodHintClass: "boom", runtime.MethodLess: "boom"}
	classes := classifier{signer: signer{fake: &fake{name: "Classes", panics: panics}}, ok: true}
	signs := signer{fake: &fake{name: "Signs", panics: panics}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) {
		p.QueueSort, p.Filter = enabled("Signs"), enabled("Signs", "Classes")
	}, classes, signs)
	if signature := f.SignPod(t.Context(), objects.Pod("p").Build()); signature != nil {
		t.Errorf("signature %q, want none", signature)
	}
	for _, name := range []string{"Classes", "Signs"} {
		if class, ok := f.HintClass(t.Context(), name, objects.Pod("p").Build()); ok {
			t.Errorf("%s: class %q, want none", name, class)
		}
	}
	high, low := framework.NewQueuedPodInfo(objects.Pod("high").Priority(2).Build(), epoch()), framework.NewQueuedPodInfo(objects.Pod("low").Priority(1).Build(), epoch())
	if f.Less()(high, low) || f.Less()(low, high) {
		t.Error("a queue sort plugin that panics has an opinion")
	}
}

// panickyCloser panics when it is closed.
type panickyCloser struct{ filterOnly }

func (panickyCloser) Close() error { panic("boom") }

func TestPanicOfClose(t *testing.T) {
	var closed journal
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A", "B") },
		panickyCloser{filterOnly{"A"}}, closing{filterOnly{"B"}, &closed, nil})
	if diff := cmp.Diff(`A failed to close: plugin "A" panicked in Close: boom`, errorText(f.Close())); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if len(closed.list()) != 1 {
		t.Error("the other plugin was not closed")
	}
}

// A plugin may spread its work over goroutines with the handle; a panic in one of them is its panic too.
func TestPanicInAPluginsOwnLoop(t *testing.T) {
	log, logger := logged()
	plugin := &fake{name: "A"}
	f := build(t, runtime.Options{Logger: logger, Parallelism: 4}, func(p *configv1.Plugins) { p.PreFilter = enabled("A") }, plugin)
	plugin.does = map[runtime.Method]func(context.Context){runtime.MethodPreFilter: func(ctx context.Context) {
		f.Parallelizer().Until(ctx, 10, func(piece int) { panicAt(piece) }, "A")
	}}
	_, status, _ := f.RunPreFilterPlugins(t.Context(), newState(), objects.Pod("p").Build())
	if diff := cmp.Diff(result{fwk.Error, `plugin "A" panicked in PreFilter: boom`, "A"}, resultOf(status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if entries := strings.Join(log.list(), "\n"); !strings.Contains(entries, "panicAt") {
		t.Errorf("the log has no stack of the goroutine:\n%s", entries)
	}
}

func panicAt(piece int) {
	if piece == 5 {
		panic("boom")
	}
}
