// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

const (
	honor, ignore = v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
	allOK         = "n1=ok n2=ok n3=ok n4=ok"
	firstZoneFull = "n1=skew n2=skew n3=ok n4=ok"
)

type filterTest struct {
	name  string
	pod   *v1.Pod
	nodes []*framework.NodeInfo
	want  string
}

func runFilterTests(t *testing.T, tests []filterTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, list(), nil), framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, asLister(tt.nodes))
			fixture.CheckStatus(t, status, nil)
			if result != nil {
				t.Errorf("got result %v, want none", result)
			}
			if got := verdicts(t, pl, state, tt.pod, tt.nodes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFilter(t *testing.T) {
	runFilterTests(t, []filterTest{
		{"clean cluster", web(constraintOn(1, zone, hard)), fourNodes("|||"), allOK},
		{"one constraint on zones", web(constraintOn(1, zone, hard)), fourNodes("web web | web | web |"), firstZoneFull},
		{"one constraint on zones, two too many", web(constraintOn(2, zone, hard)), fourNodes("web web | web | web |"), firstZoneFull},
		{"one constraint on zones, larger skew", web(constraintOn(3, zone, hard)), fourNodes("web web | web | web |"), allOK},
		{"one constraint on zones, as many in each", web(constraintOn(1, zone, hard)), fourNodes("web |web | web| web "), allOK},
		{"one constraint on nodes", web(constraintOn(1, host, hard)), fourNodes("web web | web | | web web web"), "n1=skew n2=skew n3=ok n4=skew"},
		{"other pods don't count", web(constraintOn(1, zone, hard)), fourNodes("web db db | db | | "), "n1=skew n2=skew n3=ok n4=ok"},
		{
			"the pod itself is not selected: it does not count", web(constraintOn(1, zone, hard, selecting("app", "db"))),
			fourNodes("db |||"), allOK,
		},
		{
			"the pod itself is not selected, but too many others are", web(constraintOn(1, zone, hard, selecting("app", "db"))),
			fourNodes("db | db ||"), firstZoneFull,
		},
		{
			"two constraints: both must be met", web(constraintOn(1, zone, hard), constraintOn(1, host, hard)),
			fourNodes("web web | web | web web |"), "n1=skew n2=skew n3=skew n4=ok",
		},
		{
			"two constraints: no node meets both", web(constraintOn(1, zone, hard), constraintOn(1, host, hard)),
			fourNodes("web web || web | web web "), "n1=skew n2=ok n3=skew n4=skew",
		},
		{
			"two constraints with different selectors", web(constraintOn(1, zone, hard), constraintOn(1, host, hard, selecting("app", "db"))),
			fourNodes("web db db | | db | web"), "n1=skew n2=ok n3=ok n4=ok",
		},
		{
			"two constraints with the same key", web(constraintOn(1, zone, hard), constraintOn(1, zone, hard, selecting("app", "db"))),
			fourNodes("db db ||| web"), "n1=skew n2=skew n3=skew n4=skew",
		},
		{"null selector: matches nothing", web(constraintOn(1, zone, hard, selectingNothing)), fourNodes("web web | web ||"), allOK},
		{"empty selector: matches everything, counts nothing", web(constraintOn(1, zone, hard, selecting())), fourNodes("web web | web ||"), allOK},
		{"soft constraints don't filter", web(constraintOn(3, zone, hard), constraintOn(1, host, soft)), fourNodes("web web |||"), allOK},
	})
}

func TestFilterCountsOnlySomePods(t *testing.T) {
	crowded := func(changes ...func(*v1.Pod)) []*framework.NodeInfo {
		nodes := fourNodes("|||")
		for _, name := range []string{"a", "b"} {
			nodes[0].AddPod(with(labelled(name, "app", "web"), changes...))
		}
		return nodes
	}
	terminating := func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	pod := web(constraintOn(1, zone, hard))
	runFilterTests(t, []filterTest{
		{"same namespace", pod, crowded(), firstZoneFull},
		{"namespace mismatch", pod, crowded(inNamespace("other")), allOK},
		{"terminating pods", pod, crowded(terminating), allOK},
	})
}

func TestFilterMissingLabels(t *testing.T) {
	noZone := func(apps ...string) *framework.NodeInfo { return node("n9", "", apps...) }
	noHost := func(apps ...string) *framework.NodeInfo {
		return nodeWith("n9", labelMap(zone, "z1"), apps...)
	}
	emptyZone := func(apps ...string) *framework.NodeInfo {
		return nodeWith("n9", labelMap(host, "n9", zone, ""), apps...)
	}
	runFilterTests(t, []filterTest{
		{
			"a node without the label", web(constraintOn(1, zone, hard)), append(fourNodes("web |||"), noZone("web")),
			"n1=skew n2=skew n3=ok n4=ok n9=label",
		},
		{
			"a node without the second label counts for neither", web(constraintOn(1, zone, hard), constraintOn(5, host, hard)),
			append(fourNodes("|||"), noHost("web", "web")), allOK + " n9=label",
		},
		{
			"too many pods are found before a missing second label", web(constraintOn(1, zone, hard), constraintOn(5, host, hard)),
			append(fourNodes("web |||"), noHost()), "n1=skew n2=skew n3=ok n4=ok n9=skew",
		},
		{
			"an empty value is a domain", web(constraintOn(1, zone, hard)), append(fourNodes("|||"), emptyZone("web")),
			allOK + " n9=skew",
		},
		{"no node has the label", web(constraintOn(1, "rack", hard)), fourNodes("|||"), "n1=label n2=label n3=label n4=label"},
		{"no nodes", web(constraintOn(1, zone, hard)), nil, ""},
	})
}

func TestFilterNodeInclusionPolicies(t *testing.T) {
	zoneConstraint := func(changes ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		return web(constraintOn(1, zone, hard, changes...))
	}
	inFirst := nodeSelector(zone, "z1")
	noSuchNode := func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}},
		}}}
	}
	// secondZone changes the nodes of the second zone, which has no pods while the first has two.
	secondZone := func(change func(*v1.Node)) []*framework.NodeInfo {
		nodes := fourNodes("web | web ||")
		changed(nodes[2], change)
		changed(nodes[3], change)
		return nodes
	}
	tainted := func(effect v1.TaintEffect) []*framework.NodeInfo {
		return secondZone(tainted(v1.Taint{Key: "k", Value: "5", Effect: effect}))
	}
	tolerating := tolerates(v1.Toleration{Key: "k", Operator: v1.TolerationOpExists})
	greater := tolerates(v1.Toleration{Key: "k", Operator: v1.TolerationOpGt, Value: "1"})

	runFilterTests(t, []filterTest{
		{"node affinity: honored by default", with(zoneConstraint(), inFirst), fourNodes("web | web ||"), allOK},
		{"node affinity: Honor", with(zoneConstraint(affinityPolicy(honor)), inFirst), fourNodes("web | web ||"), allOK},
		{"node affinity: Ignore", with(zoneConstraint(affinityPolicy(ignore)), inFirst), fourNodes("web | web ||"), firstZoneFull},
		{"node affinity: no node matches, so that there are no domains", with(zoneConstraint(), noSuchNode), fourNodes("web | web ||"), allOK},
		{"node taints: ignored by default", zoneConstraint(), tainted(v1.TaintEffectNoSchedule), firstZoneFull},
		{"node taints: Ignore", zoneConstraint(taintsPolicy(ignore)), tainted(v1.TaintEffectNoSchedule), firstZoneFull},
		{"node taints: Honor", zoneConstraint(taintsPolicy(honor)), tainted(v1.TaintEffectNoSchedule), allOK},
		{"node taints: Honor, NoExecute", zoneConstraint(taintsPolicy(honor)), tainted(v1.TaintEffectNoExecute), allOK},
		{"node taints: Honor, PreferNoSchedule", zoneConstraint(taintsPolicy(honor)), tainted(v1.TaintEffectPreferNoSchedule), firstZoneFull},
		{"node taints: Honor, tolerated", with(zoneConstraint(taintsPolicy(honor)), tolerating), tainted(v1.TaintEffectNoSchedule), firstZoneFull},
		{"node taints: Honor, comparison operators are off", with(zoneConstraint(taintsPolicy(honor)), greater), tainted(v1.TaintEffectNoSchedule), allOK},
		{"node taints: Honor, cordoned without a taint", zoneConstraint(taintsPolicy(honor)), secondZone(cordoned), firstZoneFull},
		{
			"policies are those of each constraint", with(web(constraintOn(1, zone, hard, affinityPolicy(ignore)), constraintOn(2, host, hard)), inFirst),
			fourNodes("web web web ||| web"), "n1=skew n2=skew n3=ok n4=ok",
		},
	})
}

func TestFilterMinDomains(t *testing.T) {
	const noneOK = "n1=skew n2=skew n3=skew n4=skew"
	pod := func(n int32) *v1.Pod { return web(constraintOn(1, zone, hard, minDomains(n))) }
	runFilterTests(t, []filterTest{
		{"minDomains not set", web(constraintOn(1, zone, hard)), fourNodes("web || web |"), allOK},
		{"minDomains below the number of domains", pod(1), fourNodes("web || web |"), allOK},
		{"minDomains equal to the number of domains", pod(2), fourNodes("web || web |"), allOK},
		{"minDomains above the number of domains", pod(3), fourNodes("web || web |"), noneOK},
		{"minDomains above the number of domains, larger skew", web(constraintOn(2, zone, hard, minDomains(3))), fourNodes("web || web |"), allOK},
		{"minDomains above the number of domains, no pods", pod(3), fourNodes("|||"), allOK},
		{
			"minDomains counts included domains only", with(pod(2), nodeSelector(zone, "z1")),
			fourNodes("web | web ||"), firstZoneFull,
		},
		{"minDomains on nodes", web(constraintOn(1, host, hard, minDomains(5))), fourNodes("web |||"), "n1=skew n2=ok n3=ok n4=ok"},
	})
}

func TestFilterMatchLabelKeys(t *testing.T) {
	pod := func(changes ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		pod := web(constraintOn(1, zone, hard, changes...))
		pod.Labels = labelMap("app", "web", "version", "2")
		return pod
	}
	// The first zone has two pods of each version, the second one of version 1.
	nodes := func() []*framework.NodeInfo {
		nodes := fourNodes("|||")
		for i, version := range []string{"1", "1", "2", "2"} {
			nodes[0].AddPod(labelled(string(rune('a'+i)), "app", "web", "version", version))
		}
		nodes[2].AddPod(labelled("x", "app", "web", "version", "1"))
		return nodes
	}
	sameVersion := func() []*framework.NodeInfo {
		nodes := nodes()
		nodes[2].AddPod(labelled("y", "app", "db", "version", "2"))
		nodes[2].AddPod(labelled("z", "app", "db", "version", "2"))
		return nodes
	}
	runFilterTests(t, []filterTest{
		{"matchLabelKeys: nil selector stays nothing", pod(selectingNothing, matchingKeys("version")), nodes(), allOK},
		{"matchLabelKeys: empty selector becomes one of the keys", pod(selecting(), matchingKeys("version")), nodes(), firstZoneFull},
		{"matchLabelKeys: empty selector, all pods with the value count", pod(selecting(), matchingKeys("version")), sameVersion(), allOK},
		{"matchLabelKeys: non-empty selector is narrowed", pod(matchingKeys("version")), sameVersion(), firstZoneFull},
		{"matchLabelKeys: keys that the pod does not have are ignored", pod(selecting(), matchingKeys("color")), nodes(), allOK},
		{"matchLabelKeys: merged into the selector already", pod(selecting("app", "web", "version", "2"), matchingKeys("version")), nodes(), firstZoneFull},
	})
}

func TestPreFilter(t *testing.T) {
	tests := []struct {
		name string
		pod  *v1.Pod
		want fwk.Code
	}{
		{"no constraints: skip", web(), fwk.Skip},
		{"only soft constraints: skip", web(constraintOn(1, zone, soft)), fwk.Skip},
		{"a hard constraint", web(constraintOn(1, zone, soft), constraintOn(1, host, hard)), fwk.Success},
		{"a selector that does not parse", web(constraintOn(1, zone, hard, selectingInvalid)), fwk.Error},
		{"a selector of a soft constraint that does not parse", web(constraintOn(1, zone, soft, selectingInvalid), constraintOn(1, zone, hard)), fwk.Success},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, nil, nil), framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, tt.pod, asLister(fourNodes("|||")))
			if status.Code() != tt.want {
				t.Errorf("got %v %q, want %v", status.Code(), status.Message(), tt.want)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		pod := web(constraintOn(1, zone, hard))
		if _, status := newPlugin(t, nil, nil).PreFilter(ctx, framework.NewCycleState(), pod, asLister(fourNodes("|||"))); !status.IsError() {
			t.Errorf("got %v, want Error rather than counts of some nodes", status.Code())
		}
	})
}

func TestPreFilterStateMissing(t *testing.T) {
	pl, state, pod := newPlugin(t, nil, nil), framework.NewCycleState(), web(constraintOn(1, zone, hard))
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]*fwk.Status{
		"Filter":    pl.Filter(t.Context(), state, pod, node("n1", "z1")),
		"AddPod":    pl.AddPod(t.Context(), state, pod, info, node("n1", "z1")),
		"RemovePod": pl.RemovePod(t.Context(), state, pod, info, node("n1", "z1")),
	} {
		if !status.IsError() {
			t.Errorf("%s: got %v, want Error", name, status.Code())
		}
	}
}

func TestAddAndRemovePod(t *testing.T) {
	const add, remove = 1, -1
	other := func(name string, changes ...func(*v1.Pod)) *v1.Pod {
		return with(labelled(name, "app", "web"), changes...)
	}
	zones := func() *v1.Pod { return web(constraintOn(1, zone, hard)) }
	type change struct {
		delta int
		node  int
		pod   *v1.Pod
	}
	tests := []struct {
		name    string
		pod     *v1.Pod
		nodes   []*framework.NodeInfo
		changes []change
		want    string
	}{
		{"AddPod raises the minimum", zones(), fourNodes("web |||"), []change{{add, 2, other("a")}}, allOK},
		{"AddPod to the fuller domain", zones(), fourNodes("web || web |"), []change{{add, 1, other("a")}}, firstZoneFull},
		{"RemovePod lowers the minimum", zones(), fourNodes("web || web |"), []change{{remove, 2, other("n3-0")}}, firstZoneFull},
		{"RemovePod from the fuller domain", zones(), fourNodes("web web || web |"), []change{{remove, 0, other("n1-0")}}, allOK},
		{
			"AddPod to domain after domain", web(constraintOn(1, host, hard)), fourNodes("|||"),
			[]change{{add, 0, other("a")}, {add, 1, other("b")}, {add, 2, other("c")}}, "n1=skew n2=skew n3=skew n4=ok",
		},
		{
			"the minimum is right after changes of several domains", web(constraintOn(1, host, hard)), fourNodes("| web | web | web web"),
			[]change{{add, 0, other("a")}, {add, 0, other("b")}, {add, 1, other("c")}}, "n1=skew n2=skew n3=ok n4=skew",
		},
		{
			// The second constraint is about the same zones, and its changes are in another one.
			"the minimum is that of the domains that changed for another constraint",
			web(constraintOn(1, zone, hard), constraintOn(9, zone, hard, selecting("app", "db"))),
			[]*framework.NodeInfo{node("n1", "z1"), node("n2", "z2", "web"), node("n3", "z3", "web", "web")},
			[]change{{add, 0, other("a")}, {add, 0, other("b")}, {add, 0, other("c")}, {add, 1, labelled("d", "app", "db")}},
			"n1=skew n2=ok n3=skew",
		},
		{"namespace mismatch", zones(), fourNodes("|||"), []change{{add, 0, other("a", inNamespace("other"))}}, allOK},
		{"other labels", zones(), fourNodes("|||"), []change{{add, 0, labelled("a", "app", "db")}}, allOK},
		{
			"a node without a label", web(constraintOn(1, zone, hard), constraintOn(9, host, hard)),
			append(fourNodes("|||"), nodeWith("n9", labelMap(zone, "z1"))), []change{{add, 4, other("a")}}, allOK + " n9=label",
		},
		{
			"a node that is not included", with(zones(), nodeSelector(zone, "z2")), fourNodes("|||"),
			[]change{{add, 0, other("a")}, {add, 0, other("b")}}, allOK,
		},
		{
			"terminating pods count when they are added", zones(), fourNodes("|||"),
			[]change{{add, 0, other("a", func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{} })}}, firstZoneFull,
		},
		{
			"an empty selector counts when pods are added", web(constraintOn(1, zone, hard, selecting())), fourNodes("|||"),
			[]change{{add, 0, other("a")}}, firstZoneFull,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, original := newPlugin(t, list(), nil), framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), original, tt.pod, asLister(tt.nodes))
			fixture.CheckStatus(t, status, nil)
			before := verdicts(t, pl, original, tt.pod, tt.nodes)
			for _, inClone := range []bool{true, false} {
				var state, other fwk.CycleState = original.Clone(), original
				if !inClone {
					state, other = other, state
				}
				for _, change := range tt.changes {
					info, err := framework.NewPodInfo(change.pod)
					if err != nil {
						t.Fatal(err)
					}
					apply := pl.PreFilterExtensions().AddPod
					if change.delta == remove {
						apply = pl.PreFilterExtensions().RemovePod
					}
					fixture.CheckStatus(t, apply(t.Context(), state, tt.pod, info, tt.nodes[change.node]), nil)
				}
				if got := verdicts(t, pl, state, tt.pod, tt.nodes); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if after := verdicts(t, pl, other, tt.pod, tt.nodes); after != before {
					t.Errorf("changes show elsewhere: got %s, was %s", after, before)
				}
			}
		})
	}
}

// TestAddPodToNewDomain adds pods to a node that PreFilter did not see.
func TestAddPodToNewDomain(t *testing.T) {
	nodes := append(fourNodes("|||"), node("n9", "z9"))
	pl, original, pod := newPlugin(t, list(), nil), framework.NewCycleState(), web(constraintOn(1, zone, hard))
	pl.PreFilter(t.Context(), original, pod, asLister(nodes[:4]))
	clone := original.Clone()
	for _, state := range []fwk.CycleState{original, clone} {
		if got, want := verdicts(t, pl, state, pod, nodes), allOK+" n9=ok"; got != want {
			t.Errorf("before: got %s, want %s", got, want)
		}
		info, err := framework.NewPodInfo(labelled("a", "app", "web"))
		if err != nil {
			t.Fatal(err)
		}
		fixture.CheckStatus(t, pl.AddPod(t.Context(), state, pod, info, nodes[4]), nil)
		if got, want := verdicts(t, pl, state, pod, nodes), allOK+" n9=skew"; got != want {
			t.Errorf("after: got %s, want %s", got, want)
		}
	}
}

// TestAddPodToNewDomainCountsForMinDomains has a third zone come with a pod that is added, as many as there must be.
func TestAddPodToNewDomainCountsForMinDomains(t *testing.T) {
	nodes := append(fourNodes("web || web |"), node("n9", "z9"))
	pl, state, pod := newPlugin(t, list(), nil), framework.NewCycleState(), web(constraintOn(1, zone, hard, minDomains(3)))
	pl.PreFilter(t.Context(), state, pod, asLister(nodes[:4]))
	if got, want := verdicts(t, pl, state, pod, nodes), "n1=skew n2=skew n3=skew n4=skew n9=ok"; got != want {
		t.Errorf("before: got %s, want %s", got, want)
	}
	info, err := framework.NewPodInfo(labelled("a", "app", "web"))
	if err != nil {
		t.Fatal(err)
	}
	fixture.CheckStatus(t, pl.AddPod(t.Context(), state, pod, info, nodes[4]), nil)
	if got, want := verdicts(t, pl, state, pod, nodes), allOK+" n9=ok"; got != want {
		t.Errorf("after: got %s, want %s", got, want)
	}
}

// TestFilterBatchAfterChanges asks about all nodes at once after a pod was added to one.
func TestFilterBatchAfterChanges(t *testing.T) {
	nodes, pod := fourNodes("|||"), web(constraintOn(1, zone, hard))
	var snapshot fixture.IndexedNodes
	snapshot.Fill(nodes)
	built, err := New(t.Context(), list(), &fixture.Handle{Snapshot: &snapshot})
	if err != nil {
		t.Fatal(err)
	}
	pl, state := built.(*plugin), framework.NewCycleState()
	list, _ := snapshot.List()
	_, status := pl.PreFilter(t.Context(), state, pod, list)
	fixture.CheckStatus(t, status, nil)
	info, err := framework.NewPodInfo(labelled("a", "app", "web"))
	if err != nil {
		t.Fatal(err)
	}
	fixture.CheckStatus(t, pl.AddPod(t.Context(), state, pod, info, nodes[0]), nil)
	statuses := make([]*fwk.Status, len(nodes))
	fixture.CheckStatus(t, pl.FilterBatch(t.Context(), state, pod, &snapshot, snapshot.ListOrder(), statuses), nil)
	full := fwk.NewStatus(fwk.Unschedulable, reasonSkew)
	for i, want := range []*fwk.Status{full, full, nil, nil} {
		fixture.CheckStatus(t, statuses[i], want)
	}
}

func TestAddPodWithoutNode(t *testing.T) {
	pl, state, pod := newPlugin(t, list(), nil), framework.NewCycleState(), web(constraintOn(1, zone, hard))
	pl.PreFilter(t.Context(), state, pod, asLister(fourNodes("|||")))
	info, err := framework.NewPodInfo(labelled("a", "app", "web"))
	if err != nil {
		t.Fatal(err)
	}
	fixture.CheckStatus(t, pl.AddPod(t.Context(), state, pod, info, framework.NewNodeInfo()), nil)
	if got := verdicts(t, pl, state, pod, fourNodes("|||")); got != allOK {
		t.Errorf("got %s", got)
	}
}
