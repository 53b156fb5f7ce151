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
			pods: []*v1.Pod{makePod("a", "node", requests("cpu", "100m", "memory", "500"), hostPort("127.0.0.1", 80, v1.ProtocolTCP))},
			want: aggregates{
				Requested: amounts{MilliCPU: 100, Memory: 500},
				NonZero:   amounts{MilliCPU: 100, Memory: 500},
				Ports:     fwk.HostPortInfo{"127.0.0.1": port("TCP", 80)},
			},
		},
		{
			name: "two pods with ports",
			pods: []*v1.Pod{
				makePod("a", "node", requests("cpu", "100m", "memory", "500"), hostPort("127.0.0.1", 80, v1.ProtocolTCP)),
				makePod("b", "node", requests("cpu", "200m", "memory", "1Ki"), hostPort("", 8080, "")),
			},
			want: aggregates{
				Requested: amounts{MilliCPU: 300, Memory: 1524},
				NonZero:   amounts{MilliCPU: 300, Memory: 1524},
				Ports:     fwk.HostPortInfo{"127.0.0.1": port("TCP", 80), "0.0.0.0": port("TCP", 8080)},
			},
		},
		{
			name: "without requests",
			pods: []*v1.Pod{makePod("a", "node", hostPort("127.0.0.1", 80, v1.ProtocolUDP))},
			want: aggregates{
				NonZero: amounts{MilliCPU: defaultMilliCPU, Memory: defaultMemory},
				Ports:   fwk.HostPortInfo{"127.0.0.1": port("UDP", 80)},
			},
		},
		{
			name: "extended resources",
			pods: []*v1.Pod{
				makePod("a", "node", requests("cpu", "100m", "memory", "500", "example.com/foo", "3")),
				makePod("b", "node", requests("cpu", "200m", "memory", "1Ki", "example.com/foo", "5")),
			},
			want: aggregates{
				Requested: amounts{MilliCPU: 300, Memory: 1524, Scalars: map[v1.ResourceName]int64{"example.com/foo": 8}},
				NonZero:   amounts{MilliCPU: 300, Memory: 1524},
				Ports:     fwk.HostPortInfo{},
			},
		},
		{
			name: "a resource that the scheduler does not know is ignored",
			pods: []*v1.Pod{makePod("a", "node", requests("cpu", "100m", "memory", "500", "unknown", "3"))},
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
			must(t, c.AddNode(makeNode("node")))
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
	pod := makePod("a", "nowhere")
	must(t, c.AssumePod(pod))
	wantCounts(t, c, 1, 1, 1)
	must(t, c.ForgetPod(pod))
	wantCounts(t, c, 0, 0, 0)
}

func TestAssumePodTwiceFails(t *testing.T) {
	c := New(Options{})
	pod := makePod("a", "node")
	must(t, c.AssumePod(pod))
	wantError(t, c.AssumePod(pod), "pod a(default/a) is in the cache, so can't be assumed")
	wantCounts(t, c, 1, 1, 1)
}

func TestAddPodConfirmsAssumed(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("node")))
	assumed := makePod("a", "node", requests("cpu", "1"))
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
	if view.Pods["a"] != confirmed || view.Requested.MilliCPU != 1000 {
		t.Errorf("node has pods %v and %dm CPU requested, want the confirmed pod once", view.Pods, view.Requested.MilliCPU)
	}
	wantError(t, c.AddPod(confirmed), "pod a(default/a) was already in added state")
}

func TestAddPodReplacesAssumedOnOtherNode(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("assumed")))
	must(t, c.AddNode(makeNode("actual")))
	must(t, c.AssumePod(makePod("a", "assumed", requests("cpu", "1"))))
	must(t, c.AddPod(makePod("a", "actual", requests("cpu", "2"))))
	wantCounts(t, c, 2, 1, 0)
	if view := viewOf(nodeInfo(t, c, "assumed")); len(view.Pods) != 0 || view.Requested.MilliCPU != 0 {
		t.Errorf("the node where the pod was assumed still has %v", view)
	}
	if view := viewOf(nodeInfo(t, c, "actual")); len(view.Pods) != 1 || view.Requested.MilliCPU != 2000 {
		t.Errorf("the node where the pod is has %v", view)
	}
	pod, err := c.Pod(makePod("a", ""))
	must(t, err)
	if pod.Spec.NodeName != "actual" {
		t.Errorf("the cached pod is on %q", pod.Spec.NodeName)
	}
}

func TestUpdatePodBeforeAndAfterConfirmation(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("node")))
	first := makePod("a", "node", requests("cpu", "1"))
	second := makePod("a", "node", requests("cpu", "2"))
	wantError(t, c.UpdatePod(first, second), "pod a(default/a) is not added to scheduler cache, so cannot be updated")
	must(t, c.AssumePod(first))
	wantError(t, c.UpdatePod(first, second), "assumed pod a(default/a) should not be updated")
	must(t, c.AddPod(first))
	must(t, c.UpdatePod(first, second))
	wantCounts(t, c, 1, 1, 0)
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 2000 {
		t.Errorf("requested %dm CPU after the update, want 2000m", got)
	}
}

func TestUpdatePodRefreshesPodInfoOfNode(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("node")))
	before := makePod("a", "node")
	after := makePod("a", "node", podLabel("color", "red"), requiredAntiAffinity, hostPort("", 80, ""))
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
	old := makePod("a", "first", uid("old"))
	replacement := makePod("a", "second", uid("new"))
	tests := map[string]func(t *testing.T, c *Cache){
		"replacement unknown": func(*testing.T, *Cache) {},
		"replacement assumed": func(t *testing.T, c *Cache) { must(t, c.AssumePod(replacement)) },
		"replacement assumed elsewhere": func(t *testing.T, c *Cache) {
			must(t, c.AssumePod(makePod("a", "first", uid("new"))))
		},
		"replacement already added": func(t *testing.T, c *Cache) { must(t, c.AddPod(replacement)) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(makeNode("first")))
			must(t, c.AddNode(makeNode("second")))
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
	must(t, c.AddNode(makeNode("node")))
	pod := makePod("a", "node", requests("cpu", "1"))
	must(t, c.AddPod(pod))
	must(t, c.RemovePod(pod))
	wantCounts(t, c, 1, 0, 0)
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 0 {
		t.Errorf("requested %dm CPU after the removal, want 0", got)
	}
	wantError(t, c.RemovePod(pod), "pod a(default/a) is not found in scheduler cache, so cannot be removed from it")
	_, err := c.Pod(pod)
	wantError(t, err, "pod a(default/a) does not exist in scheduler cache")
}

func TestRemovePodTakesOutTheCachedVersion(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("node")))
	must(t, c.AddPod(makePod("a", "node", requests("cpu", "1"))))
	must(t, c.RemovePod(makePod("a", "node", requests("cpu", "7"))))
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 0 {
		t.Errorf("requested %dm CPU after the removal, want 0", got)
	}
}

func TestRemovePodWithoutNodeName(t *testing.T) {
	c := New(Options{})
	must(t, c.AddPod(makePod("a", "node")))
	must(t, c.RemovePod(makePod("a", "")))
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
			pod := makePod("a", "node")
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
			must(t, take(New(Options{}), makePod("a", "node")))
		})
		t.Run(name+"/after confirmation", func(t *testing.T) {
			c := New(Options{})
			pod := makePod("a", "node")
			must(t, c.AssumePod(pod))
			must(t, c.AddPod(pod))
			wantError(t, take(c, pod), "pod a(default/a) is not assumed, so it cannot be removed or forgotten")
			wantCounts(t, c, 1, 1, 0)
		})
		t.Run(name+"/wrong node name", func(t *testing.T) {
			c := New(Options{})
			must(t, c.AssumePod(makePod("a", "node")))
			wantError(t, take(c, makePod("a", "other")), "pod a(default/a) was assumed on other but assigned to node")
			wantCounts(t, c, 1, 1, 1)
		})
	}
}

func TestPodsWithoutUID(t *testing.T) {
	pod, good := makePod("a", "node", uid("")), makePod("b", "node")
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
	wantError(t, c.AssumePod(makePod("a", "")), "assuming a pod in the scheduler cache: pod a(default/a) has no node name")
	wantError(t, c.AddPod(makePod("a", "")), "adding a pod to the scheduler cache: pod a(default/a) has no node name")
	wantCounts(t, c, 0, 0, 0)
}

func TestContradictingNodeIsReportedAndFollowed(t *testing.T) {
	known := makePod("a", "known")
	tests := []struct {
		name     string
		do       func(*Cache) error
		want     CorruptedError
		wantPods int
	}{
		{
			name:     "update",
			do:       func(c *Cache) error { return c.UpdatePod(known, makePod("a", "reported")) },
			want:     CorruptedError{Operation: "updated", ReportedNode: "reported"},
			wantPods: 1,
		},
		{
			name: "update without a node",
			do:   func(c *Cache) error { return c.UpdatePod(known, makePod("a", "")) },
			want: CorruptedError{Operation: "updated"},
		},
		{
			name: "remove",
			do:   func(c *Cache) error { return c.RemovePod(makePod("a", "reported")) },
			want: CorruptedError{Operation: "removed", ReportedNode: "reported"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(makeNode("known")))
			must(t, c.AddNode(makeNode("reported")))
			must(t, c.AddPod(known))
			err := test.do(c)
			var corrupted *CorruptedError
			if !errors.As(err, &corrupted) {
				t.Fatalf("got error %v, want a CorruptedError", err)
			}
			test.want.Pod = klog.ObjectRef{Namespace: "default", Name: "a"}
			test.want.UID = types.UID("a")
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
			must(t, c.AssumePod(makePod("b", "known")))
		})
	}
}

func TestObjectChangedBehindTheCachesBackLeavesNothing(t *testing.T) {
	c := New(Options{})
	pod := makePod("a", "node", requests("cpu", "1"))
	must(t, c.AddPod(pod))
	pod.UID, pod.Spec.NodeName = "other", "other"
	pod.Spec.Containers[0].Resources.Requests = resourceList("cpu", "7")
	must(t, c.RemovePod(makePod("a", "node")))
	wantCounts(t, c, 0, 0, 0)
}

func TestPodWithAffinityThatDoesNotParseStillCounts(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("node")))
	pod := makePod("a", "node", requests("cpu", "1"), requiredAntiAffinity)
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
	must(t, c.AddNode(makeNode("node")))
	pod := makePod("a", "node", requests("ephemeral-storage", "500"))
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
	must(t, c.AssumePod(makePod("a", "node")))
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
	must(t, c.AddNode(makeNode("node")))
	assume := func(name string, after time.Duration) *v1.Pod {
		clock.SetTime(start.Add(after))
		pod := makePod(name, "node", requests("cpu", "1"))
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
