// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// failing is podState with a hint, which fails in one place.
type failing struct {
	*podState
	at string
	do func() error
}

func (f failing) act(at string) error {
	if at == f.at {
		return f.do()
	}
	return nil
}

func (f failing) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if err := f.act("Filter"); err != nil {
		return fwk.AsStatus(err)
	}
	return f.podState.Filter(ctx, state, pod, node)
}

func (f failing) PostBind(context.Context, fwk.CycleState, *v1.Pod, string) { _ = f.act("PostBind") }

func (f failing) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		QueueingHintFn: func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
			return fwk.Queue, f.act("hint")
		},
	}}, nil
}

// TestAuditCatchesPluginsThatFail has plugins that do wrong what leads to no missed wake-up. All is not well.
func TestAuditCatchesPluginsThatFail(t *testing.T) {
	folder := t.TempDir()
	config, path := write(t, folder, "scheduler.yaml", podStateConfiguration), write(t, folder, "cluster.yaml", becomesReady)
	failures := map[string]func() error{
		"fails":              func() error { return errors.New("oops") },
		"panics":             func() error { panic("oops") },
		"ends its goroutine": func() error { goruntime.Goexit(); return nil },
		"":                   func() error { return nil },
	}
	for how, do := range failures {
		for _, where := range []string{"Filter", "PostBind", "hint"} {
			if how == "fails" && where == "PostBind" { // it returns nothing
				continue
			}
			t.Run(fmt.Sprintf("%s %s", where, how), func(t *testing.T) {
				with := app.WithPlugin(podStateName, func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
					plugin, err := newPodState(ctx, args, handle)
					if err != nil {
						return nil, err
					}
					return failing{plugin.(*podState), where, do}, nil
				})
				text := rouse(t, []string{"audit", "--config", config, path}, with)
				audit := decode[documentedAudit](t, rouse(t, []string{"audit", "--config", config, path, "-o", "json"}, with).stdout)
				if how == "" {
					if text.code != 0 || len(audit.Failures) != 0 || audit.Failures == nil {
						t.Errorf("exit code %d, failures %+v, want none", text.code, audit.Failures)
					}
					return
				}
				if text.code != 1 || !strings.Contains(text.stderr, "failures of plugins: ") || !strings.Contains(text.stdout, "plugin PodState for pod default/web") {
					t.Errorf("exit code %d, standard error %q, text:\n%s\nwant exit code 1 and the plugin named", text.code, text.stderr, text.stdout)
				}
				if len(audit.Failures) == 0 || audit.Summary.Failed == 0 {
					t.Fatal("no failures in JSON")
				}
				failure := audit.Failures[0]
				if failure.Plugin != podStateName || failure.Pod != "default/web" || failure.Message == "" || (where == "hint") != (failure.Event == "NodeUpdateNodeLabel") {
					t.Errorf("failure %+v", failure)
				}
				if where == "hint" && (len(audit.Decisions) != 1 || audit.Decisions[0].Failed != 1 || audit.Decisions[0].RightWakeups != 0) {
					t.Errorf("decisions %+v, want one hint that failed, and none that was right", audit.Decisions)
				}
			})
		}
	}
}
