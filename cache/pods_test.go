// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	defaultMilliCPU = 100
	defaultMemory   = 200 << 20
)

func TestAssumePodAggregatesAndForgetRestores(t *testing.T) {
	type aggregates struct {
		Requested, NonZero amounts
		Ports              fwk.HostPortInfo
	}
	port := func(protocol string, number int32) map[fwk.ProtocolPort]struct{} {
		return map[fwk.ProtocolPort]struct{}{{Protocol: protocol, Port: number}: {}}
	}
	tests := []struct {
		name string
		pods []*v1.Pod
		want aggregates
	}{
		{
			name: "one pod with a port",
			pods: []*v1.Pod{objects.Pod("a").Node("node").Requests("cpu", "100m", "memory", "500").ContainerPort(v1.ContainerPort{HostIP: "127.0.0.1", HostPort: 80, Protocol: v1.ProtocolTCP}).Build()},
			want: aggregates{
				Requested: amounts{MilliCPU: 100, Memory: 500},
				NonZero:   amounts{MilliCPU: 100, Memory: 500},
				Ports:     fwk.HostPortInfo{"127.0.0.1": port("TCP", 80)},
			},
		},
		{
			name: "two pods with ports",
			pods: []*v1.Pod{
				objects.Pod("a").Node("node").Requests("cpu", "100m", "memory", "500").ContainerPort(v1.ContainerPort{HostIP: "127.0.0.1", HostPort: 80, Protocol: v1.ProtocolTCP}).Build(),
				objects.Pod("b").Node("node").Requests("cpu", "200m", "memory", "1Ki").HostPort(8080).Build(),
			},
			want: aggregates{
				Requested: amounts{MilliCPU: 300, Memory: 1524},
				NonZero:   amounts{MilliCPU: 300, Memory: 1524},
				Ports:     fwk.HostPortInfo{"127.0.0.1": port("TCP", 80), "0.0.0.0": port("TCP", 8080)},
			},
		},
		{
			name: "without requests",
			pods: []*v1.Pod{objects.Pod("a").Node("node").ContainerPort(v1.ContainerPort{HostIP: "127.0.0.1", HostPort: 80, Protocol: v1.ProtocolUDP}).Build()},
			want: aggregates{
				NonZero: amounts{MilliCPU: defaultMilliCPU, Memory: defaultMemory},
				Ports:   fwk.HostPortInfo{"127.0.0.1": port("UDP", 80)},
			},
		},
		{
			name: "extended resources",
			pods: []*v1.Pod{
				objects.Pod("a").Node("node").Requests("cpu", "100m", "memory", "500", "example.com/foo", "3").Build(),
				objects.Pod("b").Node("node").Requests("cpu", "200m", "memory", "1Ki", "example.com/foo", "5").Build(),
			},
			want: aggregates{
				Requested: amounts{MilliCPU: 300, Memory: 1524, Scalars: map[v1.ResourceName]int64{"example.com/foo": 8}},
				NonZero:   amounts{MilliCPU: 300, Memory: 1524},
				Ports:     fwk.HostPortInfo{},
			},
		},
		{
			name: "a resource that the scheduler does not know is ignored",
			pods: []*v1.Pod{objects.Pod("a").Node("node").Requests("cpu", "100m", "memory", "500", "unknown", "3").Build()},
			want: aggregates{
				Requested: amounts{MilliCPU: 100, Memory: 500},
				NonZero:   amounts{MilliCPU: 100, Memory: 500},
				Ports:     fwk.HostPortInfo{},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(objects.Node("node").Build()))
			empty := viewOf(nodeInfo(t, c, "node"))
			for _, pod := range test.pods {
				must(t, c.AssumePod(pod))
			}
			wantCounts(t, c, 1, len(test.pods), len(test.pods))
			view := viewOf(nodeInfo(t, c, "node"))
			got := aggregates{Requested: view.Requested, NonZero: view.NonZero, Ports: view.Ports}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("aggregates of the node (-want +got):\n%s", diff)
			}
			for _, pod := range test.pods {
				must(t, c.ForgetPod(pod))
			}
			wantCounts(t, c, 1, 0, 0)
			if diff := cmp.Diff(empty, viewOf(nodeInfo(t, c, "node"))); diff != "" {
				t.Errorf("the node is not as it was before (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAssumeAndForgetWithoutNodeLeavesEmptyCache(t *testing.T) {
	c := New(Options{})
	pod := objects.Pod("a").Node("nowhere").Build()
	must(t, c.AssumePod(pod))
	wantCounts(t, c, 1, 1, 1)
	must(t, c.ForgetPod(pod))
	wantCounts(t, c, 0, 0, 0)
}

func TestAssumePodTwiceFails(t *testing.T) {
	c := New(Options{})
	pod := objects.Pod("a").Node("node").Build()
	must(t, c.AssumePod(pod))
	wantError(t, c.AssumePod(pod), "pod default/a(default/a) is in the cache, so can't be assumed")
	wantCounts(t, c, 1, 1, 1)
}

func TestAddPodConfirmsAssumed(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	assumed := objects.Pod("a").Node("node").Requests("cpu", "1").Build()
	must(t, c.AssumePod(assumed))
	if is, err := c.IsAssumed(assumed); !is || err != nil {
		t.Errorf("IsAssumed before confirmation = %v, %v; want true", is, err)
	}
	confirmed := assumed.DeepCopy()
	must(t, c.AddPod(confirmed))
	if is, err := c.IsAssumed(assumed); is || err != nil {
		t.Errorf("IsAssumed after confirmation = %v, %v; want false", is, err)
	}
	wantCounts(t, c, 1, 1, 0)
	view := viewOf(nodeInfo(t, c, "node"))
	if view.Pods["default/a"] != confirmed || view.Requested.MilliCPU != 1000 {
		t.Errorf("node has pods %v and %dm CPU requested, want the confirmed pod once", view.Pods, view.Requested.MilliCPU)
	}
	wantError(t, c.AddPod(confirmed), "pod default/a(default/a) was already in added state")
}

func TestAddPodReplacesAssumedOnOtherNode(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("assumed").Build()))
	must(t, c.AddNode(objects.Node("actual").Build()))
	must(t, c.AssumePod(objects.Pod("a").Node("assumed").Requests("cpu", "1").Build()))
	must(t, c.AddPod(objects.Pod("a").Node("actual").Requests("cpu", "2").Build()))
	wantCounts(t, c, 2, 1, 0)
	if view := viewOf(nodeInfo(t, c, "assumed")); len(view.Pods) != 0 || view.Requested.MilliCPU != 0 {
		t.Errorf("the node where the pod was assumed still has %v", view)
	}
	if view := viewOf(nodeInfo(t, c, "actual")); len(view.Pods) != 1 || view.Requested.MilliCPU != 2000 {
		t.Errorf("the node where the pod is has %v", view)
	}
	pod, err := c.Pod(objects.Pod("a").Build())
	must(t, err)
	if pod.Spec.NodeName != "actual" {
		t.Errorf("the cached pod is on %q", pod.Spec.NodeName)
	}
}

func TestUpdatePodBeforeAndAfterConfirmation(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	first := objects.Pod("a").Node("node").Requests("cpu", "1").Build()
	second := objects.Pod("a").Node("node").Requests("cpu", "2").Build()
	wantError(t, c.UpdatePod(first, second), "pod default/a(default/a) is not added to scheduler cache, so cannot be updated")
	must(t, c.AssumePod(first))
	wantError(t, c.UpdatePod(first, second), "assumed pod default/a(default/a) should not be updated")
	must(t, c.AddPod(first))
	must(t, c.UpdatePod(first, second))
	wantCounts(t, c, 1, 1, 0)
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 2000 {
		t.Errorf("requested %dm CPU after the update, want 2000m", got)
	}
}

func TestUpdatePodRefreshesPodInfoOfNode(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	before := objects.Pod("a").Node("node").Build()
	after := objects.Pod("a").Node("node").Label("color", "red").PodAntiAffinity(v1.LabelHostname, "").HostPort(80).Build()
	must(t, c.AddPod(before))
	must(t, c.UpdatePod(before, after))
	info := nodeInfo(t, c, "node")
	pods := info.GetPods()
	if len(pods) != 1 || pods[0].GetPod() != after || len(pods[0].GetRequiredAntiAffinityTerms()) != 1 {
		t.Errorf("node has %v, want the updated pod with its anti-affinity term", info)
	}
	if info.GetUsedPorts().Len() != 1 || len(info.GetPodsWithRequiredAntiAffinity()) != 1 {
		t.Errorf("the aggregates of %v are not those of the updated pod", info)
	}
}

func TestUpdatePodWithAnotherUID(t *testing.T) {
	old := objects.Pod("a").Node("first").UID("old").Build()
	replacement := objects.Pod("a").Node("second").UID("new").Build()
	tests := map[string]func(t *testing.T, c *Cache){
		"replacement unknown": func(*testing.T, *Cache) {},
		"replacement assumed": func(t *testing.T, c *Cache) { must(t, c.AssumePod(replacement)) },
		"replacement assumed elsewhere": func(t *testing.T, c *Cache) {
			must(t, c.AssumePod(objects.Pod("a").Node("first").UID("new").Build()))
		},
		"replacement already added": func(t *testing.T, c *Cache) { must(t, c.AddPod(replacement)) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(objects.Node("first").Build()))
			must(t, c.AddNode(objects.Node("second").Build()))
			must(t, c.AddPod(old))
			prepare(t, c)
			must(t, c.UpdatePod(old, replacement))
			wantCounts(t, c, 2, 1, 0)
			if pods := nodeInfo(t, c, "second").GetPods(); len(pods) != 1 || pods[0].GetPod() != replacement {
				t.Errorf("second node has %v, want the replacement", pods)
			}
			if pods := nodeInfo(t, c, "first").GetPods(); len(pods) != 0 {
				t.Errorf("first node has %v, want nothing", pods)
			}
		})
	}
}

func TestRemovePod(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	pod := objects.Pod("a").Node("node").Requests("cpu", "1").Build()
	must(t, c.AddPod(pod))
	must(t, c.RemovePod(pod))
	wantCounts(t, c, 1, 0, 0)
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 0 {
		t.Errorf("requested %dm CPU after the removal, want 0", got)
	}
	wantError(t, c.RemovePod(pod), "pod default/a(default/a) is not found in scheduler cache, so cannot be removed from it")
	_, err := c.Pod(pod)
	wantError(t, err, "pod default/a(default/a) does not exist in scheduler cache")
}

func TestRemovePodTakesOutTheCachedVersion(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	must(t, c.AddPod(objects.Pod("a").Node("node").Requests("cpu", "1").Build()))
	must(t, c.RemovePod(objects.Pod("a").Node("node").Requests("cpu", "7").Build()))
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 0 {
		t.Errorf("requested %dm CPU after the removal, want 0", got)
	}
}

func TestRemovePodWithoutNodeName(t *testing.T) {
	c := New(Options{})
	must(t, c.AddPod(objects.Pod("a").Node("node").Build()))
	must(t, c.RemovePod(objects.Pod("a").Build()))
	wantCounts(t, c, 0, 0, 0)
}

func TestRemoveAssumedPod(t *testing.T) {
	remove := map[string]func(*Cache, *v1.Pod) error{
		"RemovePod":        (*Cache).RemovePod,
		"RemoveAssumedPod": (*Cache).RemoveAssumedPod,
		"ForgetPod":        (*Cache).ForgetPod,
	}
	for name, remove := range remove {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			pod := objects.Pod("a").Node("node").Build()
			must(t, c.AssumePod(pod))
			must(t, remove(c, pod))
			wantCounts(t, c, 0, 0, 0)
		})
	}
}

func TestTakingBackAnAssumptionFails(t *testing.T) {
	take := map[string]func(*Cache, *v1.Pod) error{
		"ForgetPod":        (*Cache).ForgetPod,
		"RemoveAssumedPod": (*Cache).RemoveAssumedPod,
	}
	for name, take := range take {
		t.Run(name+"/unknown pod is no error", func(t *testing.T) {
			must(t, take(New(Options{}), objects.Pod("a").Node("node").Build()))
		})
		t.Run(name+"/after confirmation", func(t *testing.T) {
			c := New(Options{})
			pod := objects.Pod("a").Node("node").Build()
			must(t, c.AssumePod(pod))
			must(t, c.AddPod(pod))
			wantError(t, take(c, pod), "pod default/a(default/a) is not assumed, so it cannot be removed or forgotten")
			wantCounts(t, c, 1, 1, 0)
		})
		t.Run(name+"/wrong node name", func(t *testing.T) {
			c := New(Options{})
			must(t, c.AssumePod(objects.Pod("a").Node("node").Build()))
			wantError(t, take(c, objects.Pod("a").Node("other").Build()), "pod default/a(default/a) was assumed on other but assigned to node")
			wantCounts(t, c, 1, 1, 1)
		})
	}
}

func TestPodsWithoutUID(t *testing.T) {
	pod, good := objects.Pod("a").Node("node").Build(), objects.Pod("b").Node("node").Build()
	pod.UID = ""
	operations := map[string]func(*Cache, *v1.Pod) error{
		"AssumePod":        (*Cache).AssumePod,
		"ForgetPod":        (*Cache).ForgetPod,
		"RemoveAssumedPod": (*Cache).RemoveAssumedPod,
		"AddPod":           (*Cache).AddPod,
		"RemovePod":        (*Cache).RemovePod,
		"UpdatePod, old":   func(c *Cache, pod *v1.Pod) error { return c.UpdatePod(pod, good) },
		"UpdatePod, new":   func(c *Cache, pod *v1.Pod) error { return c.UpdatePod(good, pod) },
		"Pod":              func(c *Cache, pod *v1.Pod) error { _, err := c.Pod(pod); return err },
		"IsAssumed":        func(c *Cache, pod *v1.Pod) error { _, err := c.IsAssumed(pod); return err },
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			if err := operation(c, pod); err == nil || !containsText(err, "cannot get cache key for pod with empty UID") {
				t.Errorf("pod without UID: got error %v", err)
			}
			if err := operation(c, nil); err == nil || !containsText(err, "cannot get cache key for nil pod") {
				t.Errorf("nil pod: got error %v", err)
			}
			wantCounts(t, c, 0, 0, 0)
		})
	}
}

func TestPodsWithoutNodeName(t *testing.T) {
	c := New(Options{})
	wantError(t, c.AssumePod(objects.Pod("a").Build()), "assuming a pod in the scheduler cache: pod default/a(default/a) has no node name")
	wantError(t, c.AddPod(objects.Pod("a").Build()), "adding a pod to the scheduler cache: pod default/a(default/a) has no node name")
	wantCounts(t, c, 0, 0, 0)
}

func TestContradictingNodeIsReportedAndFollowed(t *testing.T) {
	known := objects.Pod("a").Node("known").Build()
	tests := []struct {
		name     string
		do       func(*Cache) error
		want     CorruptedError
		wantPods int
	}{
		{
			name:     "update",
			do:       func(c *Cache) error { return c.UpdatePod(known, objects.Pod("a").Node("reported").Build()) },
			want:     CorruptedError{Operation: "updated", ReportedNode: "reported"},
			wantPods: 1,
		},
		{
			name: "update without a node",
			do:   func(c *Cache) error { return c.UpdatePod(known, objects.Pod("a").Build()) },
			want: CorruptedError{Operation: "updated"},
		},
		{
			name: "remove",
			do:   func(c *Cache) error { return c.RemovePod(objects.Pod("a").Node("reported").Build()) },
			want: CorruptedError{Operation: "removed", ReportedNode: "reported"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(objects.Node("known").Build()))
			must(t, c.AddNode(objects.Node("reported").Build()))
			must(t, c.AddPod(known))
			err := test.do(c)
			var corrupted *CorruptedError
			if !errors.As(err, &corrupted) {
				t.Fatalf("got error %v, want a CorruptedError", err)
			}
			test.want.Pod = klog.ObjectRef{Namespace: "default", Name: "a"}
			test.want.UID = types.UID("default/a")
			test.want.KnownNode = "known"
			if diff := cmp.Diff(test.want, *corrupted); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if !containsText(err, "scheduler cache is corrupted and can badly affect scheduling decisions") {
				t.Errorf("error text is %q", err)
			}
			wantCounts(t, c, 2, test.wantPods, 0)
			if got := len(nodeInfo(t, c, "known").GetPods()); got != 0 {
				t.Errorf("the pod is still on the node where it is not")
			}
			if got := len(nodeInfo(t, c, "reported").GetPods()); got != test.wantPods {
				t.Errorf("%d pods on the reported node, want %d", got, test.wantPods)
			}
			must(t, c.AssumePod(objects.Pod("b").Node("known").Build()))
		})
	}
}

func TestObjectChangedBehindTheCachesBackLeavesNothing(t *testing.T) {
	c := New(Options{})
	pod := objects.Pod("a").Node("node").Requests("cpu", "1").Build()
	must(t, c.AddPod(pod))
	pod.UID, pod.Spec.NodeName = "other", "other"
	pod.Spec.Containers[0].Resources.Requests = objects.Resources("cpu", "7")
	must(t, c.RemovePod(objects.Pod("a").Node("node").Build()))
	wantCounts(t, c, 0, 0, 0)
}

func TestPodWithAffinityThatDoesNotParseStillCounts(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	pod := objects.Pod("a").Node("node").Requests("cpu", "1").PodAntiAffinity(v1.LabelHostname, "").Build()
	term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "nonsense"}}}
	must(t, c.AddPod(pod))
	info := nodeInfo(t, c, "node")
	if len(info.GetPods()) != 1 || info.GetRequested().GetMilliCPU() != 1000 || len(info.GetPodsWithRequiredAntiAffinity()) != 0 {
		t.Errorf("node has %v, want the pod without its term", info)
	}
	must(t, c.RemovePod(pod))
	wantCounts(t, c, 1, 0, 0)
}

func TestEphemeralStorageAccounting(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	pod := objects.Pod("a").Node("node").Requests("ephemeral-storage", "500").Build()
	must(t, c.AddPod(pod))
	want := amounts{EphemeralStorage: 500}
	view := viewOf(nodeInfo(t, c, "node"))
	if diff := cmp.Diff(want, view.Requested); diff != "" {
		t.Errorf("requested (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(amounts{MilliCPU: defaultMilliCPU, Memory: defaultMemory}, view.NonZero); diff != "" {
		t.Errorf("non-zero requested (-want +got):\n%s", diff)
	}
	must(t, c.RemovePod(pod))
	if diff := cmp.Diff(amounts{}, viewOf(nodeInfo(t, c, "node")).Requested); diff != "" {
		t.Errorf("requested after the removal (-want +got):\n%s", diff)
	}
}

func TestAssumedPodsDoNotExpireByDefault(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	c := New(Options{Clock: clock})
	must(t, c.AssumePod(objects.Pod("a").Node("node").Build()))
	clock.SetTime(time.Unix(1<<40, 0))
	if expired := c.ExpireAssumed(); len(expired) != 0 {
		t.Errorf("expired %v, want nothing", expired)
	}
	wantCounts(t, c, 1, 1, 1)
}

func TestExpireAssumed(t *testing.T) {
	start := time.Unix(1000, 0)
	clock := clocktesting.NewFakePassiveClock(start)
	c := New(Options{Clock: clock, AssumedPodTTL: 30 * time.Second})
	must(t, c.AddNode(objects.Node("node").Build()))
	assume := func(name string, after time.Duration) *v1.Pod {
		clock.SetTime(start.Add(after))
		pod := objects.Pod(name).Node("node").Requests("cpu", "1").Build()
		must(t, c.AssumePod(pod))
		return pod
	}
	second := assume("b", 0)
	first := assume("c", -time.Second)
	confirmed := assume("confirmed", 0)
	assume("late", 20*time.Second)
	must(t, c.AddPod(confirmed))

	clock.SetTime(start.Add(30*time.Second - 1))
	if diff := cmp.Diff([]*v1.Pod{first}, c.ExpireAssumed()); diff != "" {
		t.Errorf("expired before the time of all but one (-want +got):\n%s", diff)
	}
	clock.SetTime(start.Add(30 * time.Second))
	if diff := cmp.Diff([]*v1.Pod{second}, c.ExpireAssumed()); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	wantCounts(t, c, 1, 2, 1)
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 2000 {
		t.Errorf("requested %dm CPU, want 2000m", got)
	}
	must(t, c.AddPod(second))
	wantCounts(t, c, 1, 3, 1)
}
