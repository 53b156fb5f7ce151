// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// rude is a plugin for every extension point that misbehaves at one of them, for the pod "bad".
type rude struct {
	at runtime.Method
	do func(call) *fwk.Status
}

// call is what a method of rude was called with.
type call struct {
	pod  *v1.Pod
	node fwk.NodeInfo // nil unless the method is about one
}

func (r *rude) act(at runtime.Method, with call) *fwk.Status {
	if at != r.at || with.pod != nil && with.pod.Name != "bad" {
		return nil
	}
	return r.do(with)
}

func (*rude) Name() string { return "Rude" }

func (r *rude) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	return r.act(runtime.MethodPreEnqueue, call{pod: pod})
}

func (r *rude) Less(a, b fwk.QueuedEntityInfo) bool {
	r.act(runtime.MethodLess, call{})
	return a.GetTimestamp().Before(b.GetTimestamp())
}

func (r *rude) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, r.act(runtime.MethodPreFilter, call{pod: pod})
}

func (*rude) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (r *rude) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if r.at == runtime.MethodQueueingHint && pod.Name == "bad" {
		return fwk.NewStatus(fwk.Unschedulable, "to have the hint asked")
	}
	return r.act(runtime.MethodFilter, call{pod, node})
}

func (r *rude) PostFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if status := r.act(runtime.MethodPostFilter, call{pod: pod}); status != nil {
		return nil, status
	}
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

func (r *rude) PreScore(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	return r.act(runtime.MethodPreScore, call{pod: pod})
}

func (r *rude) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, r.act(runtime.MethodScore, call{pod, node})
}

func (r *rude) ScoreExtensions() fwk.ScoreExtensions { return r }

func (r *rude) NormalizeScore(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ fwk.NodeScoreList) *fwk.Status {
	return r.act(runtime.MethodNormalizeScore, call{pod: pod})
}

func (r *rude) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return r.act(runtime.MethodReserve, call{pod: pod})
}

func (r *rude) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	r.act(runtime.MethodUnreserve, call{pod: pod})
}

func (r *rude) Permit(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	if r.at == runtime.MethodUnreserve && pod.Name == "bad" {
		return fwk.NewStatus(fwk.Unschedulable, "to have Unreserve called"), 0
	}
	return r.act(runtime.MethodPermit, call{pod: pod}), 0
}

func (r *rude) PreBindPreFlight(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, r.act(runtime.MethodPreBindPreFlight, call{pod: pod})
}

func (r *rude) PreBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	return r.act(runtime.MethodPreBind, call{pod: pod})
}

func (r *rude) Bind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if status := r.act(runtime.MethodBind, call{pod: pod}); status != nil {
		return status
	}
	return fwk.NewStatus(fwk.Skip)
}

func (r *rude) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	r.act(runtime.MethodPostBind, call{pod: pod})
}

func (r *rude) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	r.act(runtime.MethodEventsToRegister, call{})
	return []fwk.ClusterEventWithHint{{
		Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add},
		QueueingHintFn: func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
			return fwk.QueueSkip, r.act(runtime.MethodQueueingHint, call{pod: pod}).AsError()
		},
	}}, nil
}

// misplay plays the same with a rude plugin: two nodes, then the pods good and bad, and a node more. Where the misbehaviour is
// in PostFilter or a hint, the pod bad is rejected before.
func misplay(t *testing.T, r *rude, options ...func(*simulate.Options)) (*simulate.Cluster, error) {
	t.Helper()
	played := rudeOptions(t, r)
	for _, set := range options {
		set(&played)
	}
	cluster, err := simulate.NewCluster(t.Context(), played)
	if err != nil {
		return nil, err
	}
	t.Cleanup(cluster.Close)
	bad := newPod("bad", "1")
	if r.at == runtime.MethodPostFilter {
		bad.Spec.NodeSelector = map[string]string{"no": "node"}
	}
	if err := cluster.Create(newNode("n1", "4"), newNode("n2", "4"), bad, newPod("good", "1")); err != nil {
		return cluster, err
	}
	if err := cluster.Advance(5 * time.Second); err != nil {
		return cluster, err
	}
	if err := cluster.Create(newNode("n3", "4")); err != nil {
		return cluster, err
	}
	return cluster, cluster.Advance(5 * time.Second)
}

func rudeOptions(t *testing.T, r *rude) simulate.Options {
	t.Helper()
	options := withPlugin(t, "Rude", func(fwk.Handle) fwk.Plugin { return r })
	configuration, err := profiles.Parse("configuration.yaml", []byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {disabled: [{name: "*"}], enabled: [{name: Rude}]}
    bind: {disabled: [{name: "*"}], enabled: [{name: Rude}, {name: DefaultBinder}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Rude}]}
    multiPoint: {enabled: [{name: Rude}]}
`), profiles.Options{})
	if err != nil {
		t.Fatal(err)
	}
	options.Configuration = configuration
	return options
}

// misbehaviours are ways in which a call may go wrong.
func misbehaviours() map[string]func(call) *fwk.Status {
	return map[string]func(call) *fwk.Status{
		"fails":              func(call) *fwk.Status { return fwk.AsStatus(errors.New("oops")) },
		"panics":             func(call) *fwk.Status { panic("oops") },
		"ends its goroutine": func(call) *fwk.Status { goruntime.Goexit(); return nil },
	}
}

// Whatever a plugin does wrong, and wherever, its pod fails with an error that names the plugin and the extension point,
// other pods are scheduled, and the run ends.
func TestMisbehavingPluginsFailTheirPod(t *testing.T) {
	points := []runtime.Method{
		runtime.MethodPreFilter, runtime.MethodFilter, runtime.MethodPostFilter, runtime.MethodPreScore, runtime.MethodScore,
		runtime.MethodNormalizeScore, runtime.MethodReserve, runtime.MethodPermit, runtime.MethodPreBindPreFlight,
		runtime.MethodPreBind, runtime.MethodBind,
	}
	for what, do := range misbehaviours() {
		for _, point := range points {
			t.Run(fmt.Sprintf("%s in %s", what, point), func(t *testing.T) {
				cluster, err := misplay(t, &rude{at: point, do: do})
				if err != nil {
					t.Fatal(err)
				}
				wantBound(t, cluster, "good")
				bad, _ := cluster.Pod("shop", "bad")
				if bad.Node != "" || bad.Attempts == 0 || bad.Pool == simulate.PoolActive {
					t.Errorf("the pod is %+v, want one that failed and is to be tried again", bad)
				}
				named := strings.Contains(bad.Message, `"Rude"`) && strings.Contains(bad.Message, string(point))
				if what == "fails" { // in the words of kube-scheduler, and not everywhere with a name
					named = strings.Contains(bad.Message, "oops")
				}
				if !named {
					t.Errorf("message %q, want one with the plugin and %s", bad.Message, point)
				}
			})
		}
	}
}

// Calls whose outcome does not matter to the pod don't fail it.
func TestMisbehavingPluginsThatAreOnlyTold(t *testing.T) {
	for what, do := range misbehaviours() {
		for _, point := range []runtime.Method{
			runtime.MethodPostBind, runtime.MethodUnreserve, runtime.MethodLess, runtime.MethodPreEnqueue, runtime.MethodQueueingHint,
		} {
			t.Run(fmt.Sprintf("%s in %s", what, point), func(t *testing.T) {
				cluster, err := misplay(t, &rude{at: point, do: do})
				if err != nil {
					t.Fatal(err)
				}
				wantBound(t, cluster, "good")
				if bad, _ := cluster.Pod("shop", "bad"); (point == runtime.MethodPostBind || point == runtime.MethodLess) != (bad.Node != "") {
					t.Errorf("the pod is %+v", bad)
				}
			})
		}
	}
}

// A plugin that does not return can't be stopped; the run ends with an error that says who it is.
func TestPluginThatHangs(t *testing.T) {
	for _, point := range []runtime.Method{
		runtime.MethodFactory, runtime.MethodEventsToRegister, runtime.MethodPreEnqueue, runtime.MethodLess, runtime.MethodPreFilter,
		runtime.MethodFilter, runtime.MethodPostFilter, runtime.MethodPreScore, runtime.MethodScore, runtime.MethodNormalizeScore,
		runtime.MethodReserve, runtime.MethodUnreserve, runtime.MethodPermit, runtime.MethodPreBindPreFlight, runtime.MethodPreBind,
		runtime.MethodBind, runtime.MethodPostBind, runtime.MethodQueueingHint,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			defer close(release)
			hang := func(call) *fwk.Status { <-release; return nil }
			_, err := misplay(t, &rude{at: point, do: hang}, func(options *simulate.Options) {
				options.CallLimit = 200 * time.Millisecond
				if point == runtime.MethodFactory {
					options.Registry["Rude"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
						<-release
						return nil, nil
					}
				}
			})
			var hanging *simulate.HangingError
			if !errors.As(err, &hanging) || hanging.Call.Plugin != "Rude" || hanging.Call.Method != point {
				t.Fatalf("error %v, want one about %s", err, point)
			}
			aboutPod := !slices.Contains([]runtime.Method{runtime.MethodFactory, runtime.MethodEventsToRegister, runtime.MethodLess}, point)
			if aboutPod != strings.Contains(err.Error(), "shop/bad") {
				t.Errorf("error %v, want one with the pod, if it is about one", err)
			}
		})
	}
}

func wantBound(t *testing.T, cluster *simulate.Cluster, name string) {
	t.Helper()
	if pod, _ := cluster.Pod("shop", name); pod.Node == "" {
		t.Errorf("pod %s is %+v, want it bound", name, pod)
	}
}
