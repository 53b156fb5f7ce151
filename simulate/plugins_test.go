// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
)

// withPlugin returns options for the default profile with one more plugin.
func withPlugin(t *testing.T, name string, build func(fwk.Handle) fwk.Plugin) simulate.Options {
	t.Helper()
	registry := plugins.NewInTreeRegistry()
	err := registry.Register(name, func(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return build(handle), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	configuration, err := profiles.Parse("configuration.yaml", []byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: `+name+`}]}}
`), profiles.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return simulate.Options{Configuration: configuration, Registry: registry, Trace: true}
}

// filterPlugin rejects pods on every node for the reason that a function gives, if it gives one.
type filterPlugin struct {
	events []fwk.ClusterEventWithHint
	filter func(pod *v1.Pod) *fwk.Status
}

func (p *filterPlugin) Name() string { return "Test" }

func (p *filterPlugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	return p.filter(pod)
}

func (p *filterPlugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return p.events, nil
}

// quotas is a plugin that lets pods in as soon as an object of a custom kind says so.
func quotas(fwk.Handle) fwk.Plugin {
	open := false
	hint := framework.HintFor(func(_ klog.Logger, _ *v1.Pod, _, quota *unstructured.Unstructured) (fwk.QueueingHint, error) {
		if quota == nil {
			return fwk.QueueSkip, nil
		}
		open, _, _ = unstructured.NestedBool(quota.Object, "spec", "open")
		if !open {
			return fwk.QueueSkip, nil
		}
		return fwk.Queue, nil
	})
	return &filterPlugin{
		events: []fwk.ClusterEventWithHint{{
			Event:          fwk.ClusterEvent{Resource: "quotas.v1.example.com", ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: hint,
		}},
		filter: func(*v1.Pod) *fwk.Status {
			if open {
				return nil
			}
			return fwk.NewStatus(fwk.Unschedulable, "the quota is closed")
		},
	}
}

func TestCustomKindWakesPod(t *testing.T) {
	report := run(t, documents(
		"{apiVersion: example.com/v1, kind: Quota, metadata: {name: q, namespace: default}, spec: {open: false, note: x}}",
		node("n1", ""), pod("a", "1", ""),
		scenario(
			"{expect: {pods: [{name: a, pool: unschedulable, rejectedBy: [Test]}]}}",
			"{at: 10s, patch: {apiVersion: example.com/v1, kind: Quota, metadata: {name: q, namespace: default}, spec: {note: null}}}",
			"{expect: {pods: [{name: a, pool: unschedulable}]}}",
			"{at: 20s, patch: {apiVersion: example.com/v1, kind: Quota, metadata: {name: q, namespace: default}, spec: {open: true}}}",
			"{expect: {pods: [{name: a, node: n1, wokenBy: quotas.v1.example.comUpdate}]}}",
			"{at: 30s, delete: {apiVersion: example.com/v1, kind: Quota, metadata: {name: q, namespace: default}}}",
		)), withPlugin(t, "Test", quotas))
	wantNoFailures(t, report)
	if len(report.Warnings) > 0 {
		t.Errorf("warnings: %q", report.Warnings)
	}
}

// announced is a plugin that rejects every pod until a hint about an object says that the pods may go ahead. The object
// is of a kind that is not in the table of events, so that it comes without its Go type.
func announced(resource fwk.EventResource, path ...string) func(fwk.Handle) fwk.Plugin {
	return func(fwk.Handle) fwk.Plugin {
		open := false
		hint := framework.HintFor(func(_ klog.Logger, _ *v1.Pod, _, changed *unstructured.Unstructured) (fwk.QueueingHint, error) {
			if changed == nil {
				return fwk.QueueSkip, nil
			}
			value, _, err := unstructured.NestedString(changed.Object, path...)
			if open = value == "yes"; !open {
				return fwk.QueueSkip, err
			}
			return fwk.Queue, nil
		})
		return &filterPlugin{
			events: []fwk.ClusterEventWithHint{{
				Event:          fwk.ClusterEvent{Resource: resource, ActionType: fwk.Add | fwk.Update},
				QueueingHintFn: hint,
			}},
			filter: func(*v1.Pod) *fwk.Status {
				if open {
					return nil
				}
				return fwk.NewStatus(fwk.Unschedulable, "not yet")
			},
		}
	}
}

// TestKindsWithATypeWakePods is about kinds that Kubernetes has but the table of events does not. Dynamic informers
// deliver them, in the core group too, whose name is empty.
func TestKindsWithATypeWakePods(t *testing.T) {
	label := []string{"metadata", "labels", "open"}
	tests := map[string]struct {
		resource fwk.EventResource
		path     []string
		patch    string
	}{
		"ConfigMap":  {"configmaps.v1.", []string{"data", "open"}, "{apiVersion: v1, kind: ConfigMap, metadata: {name: q, namespace: default}, data: {open: 'yes'}}"},
		"Secret":     {"secrets.v1.", label, "{apiVersion: v1, kind: Secret, metadata: {name: q, namespace: default, labels: {open: 'yes'}}}"},
		"Deployment": {"deployments.v1.apps", label, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: q, namespace: default, labels: {open: 'yes'}}}"},
		"Node, by another name than that of the table": {"nodes.v1.", label, "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {open: 'yes'}}}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := run(t, documents(
				strings.ReplaceAll(strings.ReplaceAll(test.patch, "'yes'", "'no'"), "n1", "n2"), node("n1", ""), pod("a", "1", ""), scenario(
					"{expect: {pods: [{name: a, pool: unschedulable}]}}",
					"{at: 10s, patch: "+test.patch+"}",
					"{expect: {pods: [{name: a, pool: bound, wokenBy: "+string(test.resource)+"Update}]}}",
				)), withPlugin(t, "Test", announced(test.resource, test.path...)))
			wantNoFailures(t, report)
			if len(report.Warnings) > 0 {
				t.Errorf("warnings: %q", report.Warnings)
			}
		})
	}
}

func TestCustomKindWithAnIrregularPlural(t *testing.T) {
	input := documents(
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: quotas.example.com},
		  spec: {group: example.com, names: {kind: Allowance, plural: quotas}}}`,
		node("n1", ""), pod("a", "1", ""),
		scenario("{at: 1s, create: {apiVersion: example.com/v1, kind: Allowance, metadata: {name: q}, spec: {open: true}}}",
			"{expect: {pods: [{name: a, node: n1, wokenBy: quotas.v1.example.comAdd}]}}"))
	wantNoFailures(t, run(t, input, withPlugin(t, "Test", quotas)))
}

func TestCustomKindThatNoPluginWaitsForIsIgnored(t *testing.T) {
	report := run(t, documents(node("n1", ""), scenario(
		"{create: {apiVersion: example.com/v1, kind: Quota, metadata: {name: q}}}",
		"{delete: {apiVersion: example.com/v1, kind: Quota, metadata: {name: q}}}",
	)), simulate.Options{})
	want := []string{"ignored objects of kinds that no plugin asks for: 1 of example.com/v1 Quota"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

// TestKindThatAPluginFollows has a plugin that asks for the informer of a kind that is not among those of scheduling.
func TestKindThatAPluginFollows(t *testing.T) {
	options := withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin {
		maps := handle.SharedInformerFactory().Core().V1().ConfigMaps().Lister()
		return &filterPlugin{filter: func(pod *v1.Pod) *fwk.Status {
			if _, err := maps.ConfigMaps(pod.Namespace).Get("settings"); err != nil {
				return fwk.AsStatus(err)
			}
			return nil
		}}
	})
	report := run(t, documents("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {a: b}}",
		node("n1", ""), pod("a", "1", "")), options)
	if got := states(report)["default/a"]; got.Node != "n1" || len(report.Warnings) > 0 {
		t.Errorf("got %+v with warnings %q, want the pod on n1", got, report.Warnings)
	}
}

// permitPlugin makes pods wait until a pod with the name leader comes, for half a minute at most.
type permitPlugin struct{ handle fwk.Handle }

func (p *permitPlugin) Name() string { return "Test" }

func (p *permitPlugin) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if pod.Name != "leader" {
		return fwk.NewStatus(fwk.Wait), 30 * time.Second
	}
	p.handle.IterateOverWaitingPods(func(waiting fwk.WaitingPod) { waiting.Allow(p.Name()) })
	return nil, 0
}

func (p *permitPlugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}}}, nil
}

func TestPermitWaitsInVirtualTime(t *testing.T) {
	options := withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin { return &permitPlugin{handle} })
	report := run(t, documents(node("n1", ""), pod("early", "1", ""), scenario(
		"{at: 29s, expect: {pods: [{name: early, pool: active, node: ''}]}}",
		"{at: 30s, expect: {pods: [{name: early, pool: unschedulable, rejectedBy: [Test], node: ''}]}}",
		"{at: 40s, create: "+pod("late", "1", "")+"}",
		"{at: 50s, create: "+pod("leader", "1", "")+"}",
		"{expect: {pods: [{name: late, node: n1}, {name: leader, node: n1}]}}",
		"{at: 60s, create: "+node("n2", "")+"}",
		"{at: 61s, expect: {pods: [{name: early, pool: active, wokenBy: NodeAdd}]}}",
	)), options)
	wantNoFailures(t, report)
	if got := states(report)["default/late"].BoundAt; got != "50s" {
		t.Errorf("the late pod was bound at %q, want 50s", got)
	}
	if got := states(report)["default/early"]; got.Pool != simulate.PoolUnschedulable || !strings.Contains(got.Message, "timeout after waiting 30s") {
		t.Errorf("at the end the early pod is %+v, want it rejected because of the timeout", got)
	}
	if got := report.Summary.VirtualSeconds; got != 90 {
		t.Errorf("the simulation took %v s of virtual time, want 90", got)
	}
}

func TestPluginPanicsAreErrors(t *testing.T) {
	attempts := 0
	options := withPlugin(t, "Test", func(fwk.Handle) fwk.Plugin {
		return &filterPlugin{filter: func(*v1.Pod) *fwk.Status {
			if attempts++; attempts < 3 {
				panic("no idea")
			}
			return nil
		}}
	})
	report := run(t, documents(node("n1", ""), pod("a", "1", "")), options)
	got := states(report)["default/a"]
	if got.Node != "n1" || got.Attempts != 3 || got.BoundAt != "5s" {
		t.Errorf("got %+v, want the pod bound in the third attempt, after backoffs of one and two seconds", got)
	}
	if rejected := trace(report, simulate.WhatRejected); len(rejected) != 2 || !strings.Contains(rejected[0], "no idea") ||
		!strings.Contains(rejected[0], "to backoff") {
		t.Errorf("got %q, want two rejections because of the panic", rejected)
	}
}

func TestPodThatAlwaysFailsDoesNotKeepTheRunGoing(t *testing.T) {
	options := withPlugin(t, "Test", func(fwk.Handle) fwk.Plugin {
		return &filterPlugin{filter: func(*v1.Pod) *fwk.Status { return fwk.AsStatus(fmt.Errorf("out of order")) }}
	})
	report := run(t, documents(node("n1", ""), pod("a", "1", ""), scenario(
		"{expect: {pods: [{name: a, pool: backoff, rejectedBy: []}]}}",
		// The time of this step has not passed because of the one before.
		"{at: 3s, create: "+pod("b", "1", "")+"}",
	)), options)
	wantNoFailures(t, report)
	got := states(report)["default/a"]
	if got.Pool != simulate.PoolBackoff || got.Attempts < 5 || got.Attempts > 15 || !strings.Contains(got.Message, "out of order") {
		t.Errorf("got %+v, want the pod backing off after a few attempts", got)
	}
}

func TestSimulationThatNeverSettlesIsGivenUp(t *testing.T) {
	attempts := 0
	options := withPlugin(t, "Test", func(fwk.Handle) fwk.Plugin {
		return &filterPlugin{filter: func(*v1.Pod) *fwk.Status {
			attempts++
			return fwk.AsStatus(fmt.Errorf("failure number %d", attempts))
		}}
	})
	options.MaxVirtualTime = time.Hour
	_, err := simulate.Run(t.Context(), parse(t, documents(node("n1", ""), pod("a", "1", ""))), options)
	if err == nil || !strings.Contains(err.Error(), "did not settle within 1h0m0s: pod default/a was tried") {
		t.Errorf("got error %v, want one about the pod that is tried forever", err)
	}
}

// eagerPlugin rejects every pod, and asks for the other ones at once.
type eagerPlugin struct {
	handle fwk.Handle
	pods   map[string]*v1.Pod // all that it has seen
}

func (p *eagerPlugin) Name() string { return "Test" }

func (p *eagerPlugin) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	p.pods[pod.Name] = pod
	others := maps.Clone(p.pods)
	delete(others, pod.Name)
	p.handle.Activate(klog.Logger{}, others)
	return fwk.NewStatus(fwk.Unschedulable, "not this time")
}

func TestPodThatIsTriedWithoutTimePassingIsAnError(t *testing.T) {
	options := withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin { return &eagerPlugin{handle, map[string]*v1.Pod{}} })
	options.Trace = false
	_, err := simulate.Run(t.Context(), parse(t, documents(node("n1", ""), pod("a", "1", ""), pod("b", "1", ""))), options)
	if err == nil || !strings.Contains(err.Error(), "pod default/a was tried 1001 times at") {
		t.Errorf("got error %v, want one about the pod that is tried forever", err)
	}
}

func TestBindFailureIsRetried(t *testing.T) {
	options := withPlugin(t, "Test", func(handle fwk.Handle) fwk.Plugin {
		return &stealingPlugin{handle: handle}
	})
	report := run(t, documents(node("n1", ""), node("n2", ""), pod("a", "1", "")), options)
	if got := states(report)["default/a"]; got.Node != "n2" || got.Attempts != 1 {
		t.Errorf("got %+v, want the pod where the plugin bound it behind the scheduler's back", got)
	}
	if got := trace(report, simulate.WhatRejected); len(got) != 1 || !strings.Contains(got[0], "bound to node n2 by another client") {
		t.Errorf("got rejections %q, want the failed binding", got)
	}
}

// stealingPlugin binds the pod to n2 just before the scheduler does.
type stealingPlugin struct{ handle fwk.Handle }

func (p *stealingPlugin) Name() string { return "Test" }

func (p *stealingPlugin) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if info.Node().Name != "n1" {
		return fwk.NewStatus(fwk.Unschedulable, "only n1")
	}
	return nil
}

func (p *stealingPlugin) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, nil
}

func (p *stealingPlugin) PreBind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	binding := &v1.Binding{Target: v1.ObjectReference{Kind: "Node", Name: "n2"}}
	binding.Name = pod.Name
	return fwk.AsStatus(p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}))
}

// TestKindsWithTheNamesOfOthers has kinds that no API server would have: of another kind's plural, by their definition or by what
// their name suggests. They are kinds of their own, and change nothing about the others.
func TestKindsWithTheNamesOfOthers(t *testing.T) {
	definition := func(group, kind, plural string) string {
		return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "%s.%s-%s"},
		  spec: {group: %q, names: {kind: %s, plural: %s}, versions: [{name: v1}, 5, {name: ""}]}}`, plural, group, strings.ToLower(kind), group, kind, plural)
	}
	for name, input := range map[string]string{
		"lower case":         "{apiVersion: v1, kind: pod, metadata: {name: b, namespace: default}}",
		"plural":             "{apiVersion: v1, kind: Pods, metadata: {name: b, namespace: default}}",
		"defined as pods":    documents(definition("", "Foo", "pods"), "{apiVersion: v1, kind: Foo, metadata: {name: b, namespace: default}}"),
		"defined twice":      documents(definition("example.com", "A", "bs"), definition("example.com", "B", "bs"), "{apiVersion: example.com/v1, kind: A, metadata: {name: b}}", "{apiVersion: example.com/v1, kind: B, metadata: {name: b}}"),
		"known kind defined": definition("apps", "ReplicaSet", "nodes"),
		"no definition":      "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: 5}",
	} {
		t.Run(name, func(t *testing.T) {
			report := run(t, documents(input, node("n1", ""), pod("a", "1", "")), simulate.Options{})
			if len(report.Pods) != 1 || report.Pods[0].Node != "n1" {
				t.Errorf("got pods %+v, want one on its node", report.Pods)
			}
		})
	}
}
