// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

type filterTest struct {
	name  string
	pod   *v1.Pod
	nodes []*framework.NodeInfo
	want  string // empty if PreFilter skips
}

func runFilterTests(t *testing.T, tests []filterTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, nil, tt.nodes, namespaces()...), framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, asLister(tt.nodes))
			if result != nil {
				t.Errorf("got result %v, want none", result)
			}
			if tt.want == "" {
				fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
				return
			}
			fixture.CheckStatus(t, status, nil)
			if got := verdicts(t, pl, state, tt.pod, tt.nodes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// nodes are one node in each of two zones, the first with pods.
func nodes(pods ...*v1.Pod) []*framework.NodeInfo {
	return []*framework.NodeInfo{node("n1", "zone=z1", pods...), node("n2", "zone=z2")}
}

func TestFilterOperators(t *testing.T) {
	db := nodes(objects.Pod("e").Label("app", "db").Build())
	incoming := func(change func(*v1.PodAffinityTerm)) *v1.Pod {
		return objects.Pod("p").Label("app", "web").With(to(term("zone", "", change))).Build()
	}
	runFilterTests(t, []filterTest{
		{"In: match", incoming(matching("app", metav1.LabelSelectorOpIn, "db", "x")), db, "n1=ok n2=affinity"},
		{"In: other value", incoming(matching("app", metav1.LabelSelectorOpIn, "x")), db, "n1=affinity n2=affinity"},
		{"NotIn: other value", incoming(matching("app", metav1.LabelSelectorOpNotIn, "x", "web")), db, "n1=ok n2=affinity"},
		{"NotIn: the value", incoming(matching("app", metav1.LabelSelectorOpNotIn, "db", "web")), db, "n1=affinity n2=affinity"},
		{"Exists: match", incoming(matching("app", metav1.LabelSelectorOpExists)), db, "n1=ok n2=affinity"},
		{"Exists: missing label", incoming(matching("tier", metav1.LabelSelectorOpExists)), db, "n1=affinity n2=affinity"},
		{"DoesNotExist: missing label", incoming(matching("tier", metav1.LabelSelectorOpDoesNotExist)), db, "n1=ok n2=affinity"},
		{"DoesNotExist: label there", incoming(matching("app", metav1.LabelSelectorOpDoesNotExist)), db, "n1=affinity n2=affinity"},
		{"matchLabels", incoming(func(t *v1.PodAffinityTerm) { *t = term("zone", "db") }), db, "n1=ok n2=affinity"},
		{"an empty selector matches all", incoming(matchingAll), db, "n1=ok n2=affinity"},
		{"no selector matches nothing", incoming(matchingNone), db, "n1=affinity n2=affinity"},
	})
}

func TestFilterTerms(t *testing.T) {
	both := objects.Pod("e").Label("app", "db").Label("app", "db").Label("tier", "back").Build()
	tier := func(key string) v1.PodAffinityTerm {
		return term(key, "", matching("tier", metav1.LabelSelectorOpIn, "back"))
	}
	fromWebAndX := from(term("zone", "", matching("app", metav1.LabelSelectorOpIn, "web", "x")))
	runFilterTests(t, []filterTest{
		{"nothing required: skip", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").Build()), ""},
		{"only preferences: skip", objects.Pod("p").Label("app", "web").With(rather(weighted(1, term("zone", "db")))).With(rarely(weighted(1, term("zone", "db")))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), ""},
		{"affinity of pods on nodes only: skip", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(to(term("zone", "x"))).Build()), ""},
		{"affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=ok n2=affinity"},
		{"anti-affinity", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=anti n2=ok"},
		{"affinity and anti-affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).With(from(term("host", "db"))).Build(),
			[]*framework.NodeInfo{
				node("n1", "zone=z1 host=n1", objects.Pod("e").Label("app", "db").Build()), node("n2", "zone=z1 host=n2"), node("n3", "zone=z2 host=n3"),
			}, "n1=anti n2=ok n3=affinity"},
		{"multiple terms are ANDed: one pod matches all", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), tier("zone"))).Build(), nodes(both), "n1=ok n2=affinity"},
		{"multiple terms are ANDed: only one matches", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), term("zone", "x"))).Build(), nodes(both), "n1=affinity n2=affinity"},
		{"multiple terms are ANDed: two pods match one each", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), tier("zone"))).Build(),
			nodes(objects.Pod("e").Label("app", "db").Build(), objects.Pod("f").Label("app", "x").Label("tier", "back").Build()), "n1=affinity n2=affinity"},
		{"multiple terms: different pods for different keys, if each matches all", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), tier("rack"))).Build(),
			[]*framework.NodeInfo{
				node("n1", "zone=z1 rack=r1", both), node("n2", "zone=z2 rack=r2", both), node("n3", "zone=z1 rack=r2"), node("n4", "zone=z1 rack=r3"),
			}, "n1=ok n2=ok n3=ok n4=affinity"},
		{"any anti-affinity term keeps away", objects.Pod("p").Label("app", "web").With(from(term("zone", "x"), term("zone", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=anti n2=ok"},
		{"terminating pods count", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(),
			nodes(objects.Pod("e").Label("app", "db").With(func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }).Build()), "n1=anti n2=ok"},
		{"existing anti-affinity to two values, the one", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWebAndX).Build()), "n1=existing n2=ok"},
		{"existing anti-affinity to two values, the other", objects.Pod("p").Label("app", "x").Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWebAndX).Build()), "n1=existing n2=ok"},
		{"multi-node domain: affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(),
			[]*framework.NodeInfo{node("n1", "zone=z1", objects.Pod("e").Label("app", "db").Build()), node("n2", "zone=z1"), node("n3", "zone=z2")}, "n1=ok n2=ok n3=affinity"},
		{"multi-node domain: anti-affinity", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(),
			[]*framework.NodeInfo{node("n1", "zone=z1", objects.Pod("e").Label("app", "db").Build()), node("n2", "zone=z1"), node("n3", "zone=z2")}, "n1=anti n2=anti n3=ok"},
		{"matchLabelKeys are the API server's business", objects.Pod("p").Label("app", "web").With(from(term("zone", "db", func(t *v1.PodAffinityTerm) { t.MatchLabelKeys = []string{"app"} }))).Build(),
			nodes(objects.Pod("e").Label("app", "db").Build()), "n1=anti n2=ok"},
	})
}

func TestFilterTopologyKeys(t *testing.T) {
	noZone := func(pods ...*v1.Pod) *framework.NodeInfo { return node("n9", "", pods...) }
	runFilterTests(t, []filterTest{
		{"affinity: a node without the key", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), append(nodes(objects.Pod("e").Label("app", "db").Build()), noZone()), "n1=ok n2=affinity n9=affinity"},
		{"affinity: the pod is on a node without the key", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), append(nodes(), noZone(objects.Pod("e").Label("app", "db").Build())), "n1=affinity n2=affinity n9=affinity"},
		{"affinity: a node without one of two keys", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), term("host", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=affinity n2=affinity"},
		{"anti-affinity: a node without the key", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), append(nodes(objects.Pod("e").Label("app", "db").Build()), noZone()), "n1=anti n2=ok n9=ok"},
		{"anti-affinity: the pod is on a node without the key", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), append(nodes(), noZone(objects.Pod("e").Label("app", "db").Build())), "n1=ok n2=ok n9=ok"},
		{"existing anti-affinity: a node without the key", objects.Pod("p").Label("app", "web").Build(), append(nodes(objects.Pod("e").Label("app", "db").With(from(term("zone", "web"))).Build()), noZone()), "n1=existing n2=ok n9=ok"},
		{"existing anti-affinity: the pod is on a node without the key: skip", objects.Pod("p").Label("app", "web").Build(), append(nodes(), noZone(objects.Pod("e").Label("app", "db").With(from(term("zone", "web"))).Build())), ""},
		{"invalid topology key: affinity", objects.Pod("p").Label("app", "web").With(to(term("", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=affinity n2=affinity"},
		{"invalid topology key: anti-affinity", objects.Pod("p").Label("app", "web").With(from(term("", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=ok n2=ok"},
		{"an empty value is a domain", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), []*framework.NodeInfo{node("n1", "zone=", objects.Pod("e").Label("app", "db").Build()), node("n2", "zone=z")}, "n1=ok n2=affinity"},
	})
}

func TestFilterFirstPod(t *testing.T) {
	noZone := node("n9", "")
	oneKey := objects.Pod("p").Label("app", "web").With(to(term("zone", "web"))).Build()
	runFilterTests(t, []filterTest{
		{"the first of a collection", oneKey, nodes(objects.Pod("e").Label("app", "db").Build()), "n1=ok n2=ok"},
		{"not the first", oneKey, nodes(objects.Pod("e").Label("app", "web").Build()), "n1=ok n2=affinity"},
		{"not the first, of another namespace", oneKey, nodes(objects.Pod("e").Label("app", "web").With(inNamespace("a1")).Build()), "n1=ok n2=ok"},
		{"does not match its own term", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nodes(), "n1=affinity n2=affinity"},
		{"its term is about another namespace", objects.Pod("p").Label("app", "web").With(to(term("zone", "web", of("a1")))).Build(), nodes(), "n1=affinity n2=affinity"},
		{"its term is about a selected namespace that it is in", objects.Pod("p").Label("app", "web").With(inNamespace("a1")).With(to(term("zone", "web", ofTeam("a")))).Build(), nodes(), "n1=ok n2=ok"},
		{"its term is about all namespaces", objects.Pod("p").Label("app", "web").With(to(term("zone", "web", ofAll))).Build(), nodes(), "n1=ok n2=ok"},
		{"matches only one of its terms", objects.Pod("p").Label("app", "web").With(to(term("zone", "web"), term("zone", "db"))).Build(), nodes(), "n1=affinity n2=affinity"},
		{"not on a node without the key", oneKey, append(nodes(), noZone), "n1=ok n2=ok n9=affinity"},
		{"not on a node without one of the keys", objects.Pod("p").Label("app", "web").With(to(term("zone", "web"), term("host", "web"))).Build(), []*framework.NodeInfo{
			node("n1", "zone=z1 host=n1"), node("n2", "zone=z1"),
		}, "n1=ok n2=affinity"},
		{"pods on nodes without the key don't stand in the way", oneKey, append(nodes(), node("n8", "", objects.Pod("e").Label("app", "web").Build())), "n1=ok n2=ok n8=affinity"},
		{"pods on nodes with one of the keys do", objects.Pod("p").Label("app", "web").With(to(term("zone", "web"), term("host", "web"))).Build(), []*framework.NodeInfo{
			node("n1", "zone=z1 host=n1"), node("n2", "zone=z2", objects.Pod("e").Label("app", "web").Build()),
		}, "n1=affinity n2=affinity"},
	})
}

// TestFilterSymmetry has two pods, each of which may want to stay away from the other.
func TestFilterSymmetry(t *testing.T) {
	fromWeb, fromDB := from(term("zone", "web")), from(term("zone", "db"))
	runFilterTests(t, []filterTest{
		{"the existing pod keeps away", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWeb).Build()), "n1=existing n2=ok"},
		{"the incoming pod keeps away", objects.Pod("p").Label("app", "web").With(fromDB).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=anti n2=ok"},
		{"both keep away: its own reason comes first", objects.Pod("p").Label("app", "web").With(fromDB).Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWeb).Build()), "n1=anti n2=ok"},
		{"the existing pod keeps away from others: skip", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(from(term("zone", "cache"))).Build()), ""},
		{"affinity comes before anti-affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "x"))).With(fromDB).Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWeb).Build()), "n1=affinity n2=affinity"},
		{"the incoming pod has affinity, the existing one keeps away", objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(fromWeb).Build()), "n1=existing n2=affinity"},
		{"one of several terms of the existing pod", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(from(term("zone", "cache"), term("zone", "web"))).Build()), "n1=existing n2=ok"},
		{"terms with different keys", objects.Pod("p").Label("app", "web").Build(), []*framework.NodeInfo{
			node("n1", "zone=z1 rack=r1", objects.Pod("e").Label("app", "db").With(from(term("zone", "web"), term("rack", "web"))).Build()),
			node("n2", "zone=z2 rack=r1"), node("n3", "zone=z1 rack=r2"), node("n4", "zone=z2 rack=r2"),
		}, "n1=existing n2=existing n3=existing n4=ok"},
		{"replicas that keep away from each other", objects.Pod("p").Label("app", "web").With(fromWeb).Build(), nodes(objects.Pod("e").Label("app", "web").With(fromWeb).Build()), "n1=anti n2=ok"},
		{"existing pods whose terms do not parse don't count", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(from(term("zone", "web", badSelector))).Build()), ""},
	})
}

func TestFilterNamespaces(t *testing.T) {
	inA1, inA2, inB1 := inNamespace("a1"), inNamespace("a2"), inNamespace("b1")
	anti := func(changes ...func(*v1.PodAffinityTerm)) func(*v1.Pod) { return from(term("zone", "db", changes...)) }
	existing := func(changes ...func(*v1.PodAffinityTerm)) func(*v1.Pod) { return from(term("zone", "web", changes...)) }
	runFilterTests(t, []filterTest{
		{"own namespace by default", objects.Pod("p").Label("app", "web").With(anti()).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=anti n2=ok"},
		{"unmatched namespace", objects.Pod("p").Label("app", "web").With(anti()).Build(), nodes(objects.Pod("e").Label("app", "db").With(inA1).Build()), "n1=ok n2=ok"},
		{"a named namespace", objects.Pod("p").Label("app", "web").With(anti(of("a1", "a2"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inA2).Build()), "n1=anti n2=ok"},
		{"named namespaces replace the own one", objects.Pod("p").Label("app", "web").With(anti(of("a1"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=ok n2=ok"},
		{"namespaceSelector: matching", objects.Pod("p").Label("app", "web").With(anti(ofTeam("a"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inA2).Build()), "n1=anti n2=ok"},
		{"namespaceSelector: not matching", objects.Pod("p").Label("app", "web").With(anti(ofTeam("a"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).Build()), "n1=ok n2=ok"},
		{"namespaceSelector: replaces the own namespace", objects.Pod("p").Label("app", "web").With(anti(ofTeam("a"))).Build(), nodes(objects.Pod("e").Label("app", "db").Build()), "n1=ok n2=ok"},
		{"namespaceSelector: all", objects.Pod("p").Label("app", "web").With(anti(ofAll)).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).Build()), "n1=anti n2=ok"},
		{"namespaceSelector: all, and named ones", objects.Pod("p").Label("app", "web").With(anti(ofAll, of("a1"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).Build()), "n1=anti n2=ok"},
		{"namespaceSelector: without a label, not matching", objects.Pod("p").Label("app", "web").With(anti(ofNoTeam)).Build(), nodes(objects.Pod("e").Label("app", "db").With(inA1).Build()), "n1=ok n2=ok"},
		{"namespaceSelector: without a label, namespace not known", objects.Pod("p").Label("app", "web").With(anti(ofNoTeam)).Build(), nodes(objects.Pod("e").Label("app", "db").With(inNamespace("new")).Build()), "n1=ok n2=ok"},
		{"namespaceSelector: or named ones", objects.Pod("p").Label("app", "web").With(anti(ofTeam("a"), of("b1"))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).Build()), "n1=anti n2=ok"},
		{"namespaceSelector: affinity", objects.Pod("p").Label("app", "web").With(to(term("zone", "db", ofTeam("b")))).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).Build()), "n1=ok n2=affinity"},
		{"of an existing pod: own namespace by default", objects.Pod("p").Label("app", "web").With(inA1).Build(), nodes(objects.Pod("e").Label("app", "db").With(inA1).With(existing()).Build()), "n1=existing n2=ok"},
		{"of an existing pod: unmatched namespace: skip", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(inA1).With(existing()).Build()), ""},
		{"of an existing pod: a named namespace", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(inA1).With(existing(of("default"))).Build()), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector matching", objects.Pod("p").Label("app", "web").With(inA2).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).With(existing(ofTeam("a"))).Build()), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector not matching: skip", objects.Pod("p").Label("app", "web").With(inB1).Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).With(existing(ofTeam("a"))).Build()), ""},
		{"of an existing pod: namespaceSelector all", objects.Pod("p").Label("app", "web").Build(), nodes(objects.Pod("e").Label("app", "db").With(inB1).With(existing(ofAll)).Build()), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector without a label, namespace not known", objects.Pod("p").Label("app", "web").With(inNamespace("new")).Build(), nodes(objects.Pod("e").Label("app", "db").With(existing(ofNoTeam)).Build()), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector, namespace not known: skip", objects.Pod("p").Label("app", "web").With(inNamespace("new")).Build(), nodes(objects.Pod("e").Label("app", "db").With(existing(ofTeam("a"))).Build()), ""},
	})
}

func TestPreFilterFailures(t *testing.T) {
	for name, invalid := range map[string]*v1.Pod{
		"affinity":                objects.Pod("p").Label("app", "web").With(to(term("zone", "db", badSelector))).Build(),
		"anti-affinity":           objects.Pod("p").Label("app", "web").With(from(term("zone", "db", badSelector))).Build(),
		"preferred affinity":      objects.Pod("p").Label("app", "web").With(rather(weighted(1, term("zone", "db", badSelector)))).Build(),
		"preferred anti-affinity": objects.Pod("p").Label("app", "web").With(rarely(weighted(1, term("zone", "db", badSelector)))).Build(),
		"namespaces": objects.Pod("p").Label("app", "web").With(to(term("zone", "db", func(t *v1.PodAffinityTerm) {
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labelMap("in valid", "x")}
		}))).Build(),
	} {
		t.Run("invalid selector: "+name, func(t *testing.T) {
			_, status := newPlugin(t, nil, nil).PreFilter(t.Context(), framework.NewCycleState(), invalid, nil)
			if status.Code() != fwk.UnschedulableAndUnresolvable || !strings.HasPrefix(status.Message(), "parsing pod: ") {
				t.Errorf("got %v %q", status.Code(), status.Message())
			}
		})
	}
	incoming := objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build()
	t.Run("snapshot fails", func(t *testing.T) {
		handle := &fixture.Handle{Nodes: fixture.Nodes{Err: errors.New("broken")}, Informers: fixture.Informers(t)}
		built, err := New(t.Context(), nil, handle)
		if err != nil {
			t.Fatal(err)
		}
		if _, status := built.(fwk.PreFilterPlugin).PreFilter(t.Context(), framework.NewCycleState(), incoming, nil); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		some := nodes(objects.Pod("e").Label("app", "db").Build())
		if _, status := newPlugin(t, nil, some).PreFilter(ctx, framework.NewCycleState(), incoming, asLister(some)); !status.IsError() {
			t.Errorf("got %v, want Error rather than counts of some nodes", status.Code())
		}
	})
	t.Run("state missing", func(t *testing.T) {
		pl, state, info := newPlugin(t, nil, nil), framework.NewCycleState(), node("n1", "zone=z1")
		for name, status := range map[string]*fwk.Status{
			"Filter":    pl.Filter(t.Context(), state, incoming, info),
			"AddPod":    pl.AddPod(t.Context(), state, incoming, podInfo(t, incoming), info),
			"RemovePod": pl.RemovePod(t.Context(), state, incoming, podInfo(t, incoming), info),
		} {
			if !status.IsError() {
				t.Errorf("%s: got %v, want Error", name, status.Code())
			}
		}
	})
}

// TestPreFilterLeavesTermsAlone checks that looking up namespaces does not show in what others see of the pod.
func TestPreFilterLeavesTermsAlone(t *testing.T) {
	incoming := objects.Pod("p").Label("app", "web").With(to(term("zone", "db", ofTeam("a")))).Build()
	before := incoming.DeepCopy()
	newPlugin(t, nil, nil, namespaces()...).PreFilter(t.Context(), framework.NewCycleState(), incoming, nil)
	if incoming.String() != before.String() {
		t.Errorf("the pod was changed to %v", incoming)
	}
}
