// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// misbehaving is a plugin that does the same wrong thing wherever it is called outside of the extension points.
type misbehaving struct {
	classifier
	do func(runtime.Method)
}

func (m misbehaving) Close() error {
	m.do(runtime.MethodClose)
	return nil
}

func (m misbehaving) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	m.do(runtime.MethodEventsToRegister)
	return nil, nil
}

// otherCalls are calls of a plugin named A outside of the extension points, or of a part of one. What they return is an error;
// nil where there is only a log.
func otherCalls(t *testing.T) map[runtime.Method]func(*runtime.Framework) error {
	pod, node := objects.Pod("p").Build(), newNode("n")
	return map[runtime.Method]func(*runtime.Framework) error{
		runtime.MethodAddPod: func(f *runtime.Framework) error {
			return f.Contain(pod, func() *fwk.Status {
				return f.RunPreFilterExtensionAddPod(t.Context(), newState(), pod, podInfo(t, "other", 0), node)
			}).AsError()
		},
		runtime.MethodRemovePod: func(f *runtime.Framework) error {
			return f.Contain(pod, func() *fwk.Status {
				return f.RunPreFilterExtensionRemovePod(t.Context(), newState(), pod, podInfo(t, "other", 0), node)
			}).AsError()
		},
		runtime.MethodSign: func(f *runtime.Framework) error {
			f.SignPod(t.Context(), pod)
			return nil
		},
		runtime.MethodHintClass: func(f *runtime.Framework) error {
			f.HintClass(t.Context(), "A", pod)
			return nil
		},
		runtime.MethodClose: func(f *runtime.Framework) error { return f.Close() },
	}
}

// buildMisbehaving returns a framework whose plugin A does something in one method.
func buildMisbehaving(t *testing.T, method runtime.Method, options runtime.Options, do func()) (*runtime.Framework, error) {
	does := func(at runtime.Method) {
		if at == method {
			do()
		}
	}
	behaviour := map[runtime.Method]func(context.Context){method: func(context.Context) { do() }}
	plugin := misbehaving{classifier{signer: signer{fake: &fake{name: "A", does: behaviour}}}, does}
	profile := profileWith(func(p *configv1.Plugins) { p.PreFilter = enabled("A") })
	registry := registryOf()
	registry["A"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }
	return runtime.NewFramework(t.Context(), registry, profile, options)
}

// A plugin that ends the goroutine it is called in fails that call, and no other goroutine.
func TestOtherCallsThatEndTheirGoroutine(t *testing.T) {
	calls := otherCalls(t)
	calls[runtime.MethodEventsToRegister] = nil // while the framework is made
	for method, call := range calls {
		t.Run(string(method), func(t *testing.T) {
			var failures []runtime.PluginFailure
			options := runtime.Options{PluginFailed: func(failure runtime.PluginFailure) { failures = append(failures, failure) }}
			f, err := buildMisbehaving(t, method, options, goruntime.Goexit)
			if call != nil {
				if err != nil {
					t.Fatal(err)
				}
				err = call(f)
			}
			if len(failures) != 1 || failures[0].Plugin != "A" || failures[0].Method != method || !errors.Is(failures[0].Err, runtime.ErrGoroutineEnded) {
				t.Errorf("failures %+v, want one of %s", failures, method)
			}
			logged := method == runtime.MethodSign || method == runtime.MethodHintClass
			if logged != (err == nil) || err != nil && (!errors.Is(err, runtime.ErrGoroutineEnded) || !strings.Contains(err.Error(), string(method))) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A plugin that does not return can be named as long as it does not.
func TestOtherCallsThatHang(t *testing.T) {
	calls := otherCalls(t)
	calls[runtime.MethodEventsToRegister] = nil
	for method, call := range calls {
		t.Run(string(method), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release, returned := make(chan struct{}), make(chan struct{})
				known := &runtime.Calls{}
				go func() {
					defer close(returned)
					f, err := buildMisbehaving(t, method, runtime.Options{Execution: runtime.Execution{Calls: known}}, func() { <-release })
					if err == nil && call != nil {
						err = call(f)
					}
					if err != nil {
						t.Errorf("error %v of a plugin that returned after all", err)
					}
				}()
				synctest.Wait()
				if hanging := known.InFlight(); len(hanging) == 0 || hanging[0].Plugin != "A" || hanging[0].Method != method {
					t.Errorf("calls in flight: %v, want %s of A", hanging, method)
				}
				close(release)
				<-returned
				if hanging := known.InFlight(); len(hanging) > 0 {
					t.Errorf("calls in flight after they returned: %v", hanging)
				}
			})
		})
	}
}
