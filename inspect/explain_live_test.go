// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

func (e *explained) explainLive(t *testing.T, name string) *inspect.Explanation {
	t.Helper()
	explanation, err := e.live.Explain(t.Context(), "default", name, 1)
	if err != nil {
		t.Fatal(err)
	}
	return explanation
}

func TestLiveExplanation(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	input, err := simulate.Parse("input.yaml", []byte(crowded()))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.ReplayUntil(input, seconds(30)); err != nil {
		t.Fatal(err)
	}
	golden(t, "explain_live.json", cluster.explainLive(t, "web"))
}

// TestLiveExplanationRemembersWhoWasAskedAbout asks about one of two pods to which the same happens.
func TestLiveExplanationRemembersWhoWasAskedAbout(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	label := func(at int, value string) {
		cluster.replay(t, scenario(patchNode(fmt.Sprintf("%ds", at), "n1", "labels: {disk: "+value+"}")))
	}
	cluster.replay(t, documents(node("n1", ""), pod("web", "1", ", nodeSelector: {disk: ssd}"), pod("other", "1", ", nodeSelector: {disk: ssd}")))
	label(10, "tape")
	first := cluster.explainLive(t, "web")
	if len(first.RecentEvents) > 0 || first.RecentEventsSince != "2026-01-01T00:00:10Z" {
		t.Errorf("the first answer remembers %+v since %q, want nothing yet", first.RecentEvents, first.RecentEventsSince)
	}
	label(20, "hdd") // later than the first, by as much
	want := []inspect.RecentEvent{{At: "2026-01-01T00:00:30Z", Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity", Answer: inspect.AnswerSkip}}
	if diff := cmp.Diff(want, cluster.explainLive(t, "web").RecentEvents); diff != "" {
		t.Errorf("recent events differ (-want +got):\n%s", diff)
	}
	if other := cluster.explainLive(t, "other"); len(other.RecentEvents) > 0 {
		t.Errorf("the other pod was not requested, but has recent events %+v", other.RecentEvents)
	}
	cluster.replay(t, scenario("{at: 11m, create: "+node("n2", "")+"}"))
	if late := cluster.explainLive(t, "web"); slices.Contains(late.RecentEvents, want[0]) {
		t.Errorf("no request for eleven minutes, but recent events are %+v", late.RecentEvents)
	}
}

// TestLiveExplanationRemembersFlush has events for which no plugin is asked.
func TestLiveExplanationRemembersFlush(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("web", "1", ", nodeSelector: {a: b}")))
	cluster.explainLive(t, "web")
	cluster.replay(t, scenario(patchNode("6m", "n1", "annotations: {a: b}")))
	got := cluster.explainLive(t, "web")
	want := []inspect.RecentEvent{{At: "2026-01-01T00:05:00Z", Event: "UnschedulableTimeout", Answer: inspect.AnswerQueue}}
	if diff := cmp.Diff(want, got.RecentEvents); diff != "" || got.WokenBy != "UnschedulableTimeout" {
		t.Errorf("woken by %q, recent events differ (-want +got):\n%s", got.WokenBy, diff)
	}
}

func TestLiveExplanationOfUnknownPod(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""), pod("wed", "1", ""),
		"{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: c, image: i}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: cart, namespace: shop}, spec: {containers: [{name: c, image: i}]}}"))
	_, err := cluster.live.Explain(t.Context(), "default", "web", 3)
	var missing *inspect.NoSuchPodError
	if !errors.As(err, &missing) || err.Error() != "there is no pod default/web at 2026-01-01T00:00:00Z" {
		t.Fatalf("got error %v, want a NoSuchPodError", err)
	}
	slices.Sort(missing.Pods)
	if diff := cmp.Diff([]string{"default/wed", "shop/web"}, missing.Pods); diff != "" {
		t.Errorf("the pods that may be meant differ (-want +got):\n%s", diff)
	}
}

// TestLiveExplanationOfFinishedPod is about pods that the scheduler does not watch.
func TestLiveExplanationOfFinishedPod(t *testing.T) {
	cluster := explainedCluster(t, simulate.Options{})
	cluster.replay(t, documents(node("n1", ""),
		"{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: n1, containers: [{name: c, image: i}]}, status: {phase: Failed, message: Evicted}}"))
	got := cluster.explainLive(t, "web")
	if got.Phase != "Failed" || got.Message != "Evicted" || got.Node != "n1" {
		t.Errorf("the explanation is %+v, want that the pod failed on n1 because it was evicted", got)
	}
}

// TestLiveExplanationWithoutPlugins has a plugin that can be built only once, as it takes a port, say.
func TestLiveExplanationWithoutPlugins(t *testing.T) {
	built := false
	options := withPlugins(t, &scripted{name: "Once"})
	once := options.Registry["Once"]
	options.Registry["Once"] = func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		if built {
			return nil, errors.New("the port is taken")
		}
		built = true
		return once(ctx, args, handle)
	}
	cluster := explainedCluster(t, options)
	cluster.replay(t, documents(node("n1", ""), pod("web", "5", ""), pod("gated", "1", ", schedulingGates: [{name: g}]")))
	waiting := cluster.explainLive(t, "web")
	if len(waiting.RejectedBy) != 1 || len(waiting.RequeueEvents) != 1 || !strings.HasSuffix(waiting.ProbeError, `initializing plugin "Once": the port is taken`) {
		t.Errorf("the explanation is %+v, want what the scheduler knows without asking", waiting)
	}
	if gated := cluster.explainLive(t, "gated"); len(gated.RejectedBy) != 1 || gated.RejectedBy[0].Plugin != "SchedulingGates" {
		t.Errorf("the explanation is %+v, want the plugin that gates the pod", gated)
	}
	golden(t, "explain_not_asked.json", waiting)
}

// TestLiveExplanationThatMustWait has two people ask while another is answered; one of them gives up.
func TestLiveExplanationThatMustWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		var calls atomic.Int32 // the first is that of the scheduler
		slow := &scripted{name: "Slow", reason: "slow", accepts: func(fwk.Handle, *v1.Pod, *v1.Node) bool {
			if calls.Add(1) > 1 {
				<-answer
			}
			return false
		}}
		cluster := explainedCluster(t, withPlugins(t, slow))
		cluster.replay(t, documents(node("n1", ""), pod("web", "1", "")))
		var asking sync.WaitGroup
		for range 2 {
			asking.Go(func() {
				if _, err := cluster.live.Explain(t.Context(), "default", "web", 1); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if asked := calls.Load(); asked != 2 {
			t.Errorf("the plugin was asked %d times, want once by the scheduler and once by whoever came first", asked)
		}
		impatient, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := cluster.live.Explain(impatient, "default", "web", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		close(answer)
		asking.Wait()
		if asked := calls.Load(); asked != 3 {
			t.Errorf("the plugin was asked %d times, want three", asked)
		}
	})
}
