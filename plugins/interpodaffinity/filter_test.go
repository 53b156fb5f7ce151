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
	db := nodes(pod("e", "db"))
	incoming := func(change func(*v1.PodAffinityTerm)) *v1.Pod { return pod("p", "web", to(term("zone", "", change))) }
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
	both := pod("e", "db", fixture.Labelled(labelMap("app", "db", "tier", "back")))
	tier := func(key string) v1.PodAffinityTerm {
		return term(key, "", matching("tier", metav1.LabelSelectorOpIn, "back"))
	}
	fromWebAndX := from(term("zone", "", matching("app", metav1.LabelSelectorOpIn, "web", "x")))
	runFilterTests(t, []filterTest{
		{"nothing required: skip", pod("p", "web"), nodes(pod("e", "db")), ""},
		{"only preferences: skip", pod("p", "web", rather(weighted(1, term("zone", "db"))), rarely(weighted(1, term("zone", "db")))), nodes(pod("e", "db")), ""},
		{"affinity of pods on nodes only: skip", pod("p", "web"), nodes(pod("e", "db", to(term("zone", "x")))), ""},
		{"affinity", pod("p", "web", to(term("zone", "db"))), nodes(pod("e", "db")), "n1=ok n2=affinity"},
		{"anti-affinity", pod("p", "web", from(term("zone", "db"))), nodes(pod("e", "db")), "n1=anti n2=ok"},
		{"affinity and anti-affinity", pod("p", "web", to(term("zone", "db")), from(term("host", "db"))),
			[]*framework.NodeInfo{
				node("n1", "zone=z1 host=n1", pod("e", "db")), node("n2", "zone=z1 host=n2"), node("n3", "zone=z2 host=n3"),
			}, "n1=anti n2=ok n3=affinity"},
		{"multiple terms are ANDed: one pod matches all", pod("p", "web", to(term("zone", "db"), tier("zone"))), nodes(both), "n1=ok n2=affinity"},
		{"multiple terms are ANDed: only one matches", pod("p", "web", to(term("zone", "db"), term("zone", "x"))), nodes(both), "n1=affinity n2=affinity"},
		{"multiple terms are ANDed: two pods match one each", pod("p", "web", to(term("zone", "db"), tier("zone"))),
			nodes(pod("e", "db"), pod("f", "x", fixture.Labelled(labelMap("tier", "back")))), "n1=affinity n2=affinity"},
		{"multiple terms: different pods for different keys, if each matches all", pod("p", "web", to(term("zone", "db"), tier("rack"))),
			[]*framework.NodeInfo{
				node("n1", "zone=z1 rack=r1", both), node("n2", "zone=z2 rack=r2", both), node("n3", "zone=z1 rack=r2"), node("n4", "zone=z1 rack=r3"),
			}, "n1=ok n2=ok n3=ok n4=affinity"},
		{"any anti-affinity term keeps away", pod("p", "web", from(term("zone", "x"), term("zone", "db"))), nodes(pod("e", "db")), "n1=anti n2=ok"},
		{"terminating pods count", pod("p", "web", from(term("zone", "db"))),
			nodes(pod("e", "db", func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })), "n1=anti n2=ok"},
		{"existing anti-affinity to two values, the one", pod("p", "web"), nodes(pod("e", "db", fromWebAndX)), "n1=existing n2=ok"},
		{"existing anti-affinity to two values, the other", pod("p", "x"), nodes(pod("e", "db", fromWebAndX)), "n1=existing n2=ok"},
		{"multi-node domain: affinity", pod("p", "web", to(term("zone", "db"))),
			[]*framework.NodeInfo{node("n1", "zone=z1", pod("e", "db")), node("n2", "zone=z1"), node("n3", "zone=z2")}, "n1=ok n2=ok n3=affinity"},
		{"multi-node domain: anti-affinity", pod("p", "web", from(term("zone", "db"))),
			[]*framework.NodeInfo{node("n1", "zone=z1", pod("e", "db")), node("n2", "zone=z1"), node("n3", "zone=z2")}, "n1=anti n2=anti n3=ok"},
		{"matchLabelKeys are the API server's business", pod("p", "web", from(term("zone", "db", func(t *v1.PodAffinityTerm) { t.MatchLabelKeys = []string{"app"} }))),
			nodes(pod("e", "db")), "n1=anti n2=ok"},
	})
}

func TestFilterTopologyKeys(t *testing.T) {
	noZone := func(pods ...*v1.Pod) *framework.NodeInfo { return node("n9", "", pods...) }
	runFilterTests(t, []filterTest{
		{"affinity: a node without the key", pod("p", "web", to(term("zone", "db"))), append(nodes(pod("e", "db")), noZone()), "n1=ok n2=affinity n9=affinity"},
		{"affinity: the pod is on a node without the key", pod("p", "web", to(term("zone", "db"))), append(nodes(), noZone(pod("e", "db"))), "n1=affinity n2=affinity n9=affinity"},
		{"affinity: a node without one of two keys", pod("p", "web", to(term("zone", "db"), term("host", "db"))), nodes(pod("e", "db")), "n1=affinity n2=affinity"},
		{"anti-affinity: a node without the key", pod("p", "web", from(term("zone", "db"))), append(nodes(pod("e", "db")), noZone()), "n1=anti n2=ok n9=ok"},
		{"anti-affinity: the pod is on a node without the key", pod("p", "web", from(term("zone", "db"))), append(nodes(), noZone(pod("e", "db"))), "n1=ok n2=ok n9=ok"},
		{"existing anti-affinity: a node without the key", pod("p", "web"), append(nodes(pod("e", "db", from(term("zone", "web")))), noZone()), "n1=existing n2=ok n9=ok"},
		{"existing anti-affinity: the pod is on a node without the key: skip", pod("p", "web"), append(nodes(), noZone(pod("e", "db", from(term("zone", "web"))))), ""},
		{"invalid topology key: affinity", pod("p", "web", to(term("", "db"))), nodes(pod("e", "db")), "n1=affinity n2=affinity"},
		{"invalid topology key: anti-affinity", pod("p", "web", from(term("", "db"))), nodes(pod("e", "db")), "n1=ok n2=ok"},
		{"an empty value is a domain", pod("p", "web", to(term("zone", "db"))), []*framework.NodeInfo{node("n1", "zone=", pod("e", "db")), node("n2", "zone=z")}, "n1=ok n2=affinity"},
	})
}

func TestFilterFirstPod(t *testing.T) {
	noZone := node("n9", "")
	oneKey := pod("p", "web", to(term("zone", "web")))
	runFilterTests(t, []filterTest{
		{"the first of a collection", oneKey, nodes(pod("e", "db")), "n1=ok n2=ok"},
		{"not the first", oneKey, nodes(pod("e", "web")), "n1=ok n2=affinity"},
		{"not the first, of another namespace", oneKey, nodes(pod("e", "web", inNamespace("a1"))), "n1=ok n2=ok"},
		{"does not match its own term", pod("p", "web", to(term("zone", "db"))), nodes(), "n1=affinity n2=affinity"},
		{"its term is about another namespace", pod("p", "web", to(term("zone", "web", of("a1")))), nodes(), "n1=affinity n2=affinity"},
		{"its term is about a selected namespace that it is in", pod("p", "web", inNamespace("a1"), to(term("zone", "web", ofTeam("a")))), nodes(), "n1=ok n2=ok"},
		{"its term is about all namespaces", pod("p", "web", to(term("zone", "web", ofAll))), nodes(), "n1=ok n2=ok"},
		{"matches only one of its terms", pod("p", "web", to(term("zone", "web"), term("zone", "db"))), nodes(), "n1=affinity n2=affinity"},
		{"not on a node without the key", oneKey, append(nodes(), noZone), "n1=ok n2=ok n9=affinity"},
		{"not on a node without one of the keys", pod("p", "web", to(term("zone", "web"), term("host", "web"))), []*framework.NodeInfo{
			node("n1", "zone=z1 host=n1"), node("n2", "zone=z1"),
		}, "n1=ok n2=affinity"},
		{"pods on nodes without the key don't stand in the way", oneKey, append(nodes(), node("n8", "", pod("e", "web"))), "n1=ok n2=ok n8=affinity"},
		{"pods on nodes with one of the keys do", pod("p", "web", to(term("zone", "web"), term("host", "web"))), []*framework.NodeInfo{
			node("n1", "zone=z1 host=n1"), node("n2", "zone=z2", pod("e", "web")),
		}, "n1=affinity n2=affinity"},
	})
}

// TestFilterSymmetry has two pods, each of which may want to stay away from the other.
func TestFilterSymmetry(t *testing.T) {
	fromWeb, fromDB := from(term("zone", "web")), from(term("zone", "db"))
	runFilterTests(t, []filterTest{
		{"the existing pod keeps away", pod("p", "web"), nodes(pod("e", "db", fromWeb)), "n1=existing n2=ok"},
		{"the incoming pod keeps away", pod("p", "web", fromDB), nodes(pod("e", "db")), "n1=anti n2=ok"},
		{"both keep away: its own reason comes first", pod("p", "web", fromDB), nodes(pod("e", "db", fromWeb)), "n1=anti n2=ok"},
		{"the existing pod keeps away from others: skip", pod("p", "web"), nodes(pod("e", "db", from(term("zone", "cache")))), ""},
		{"affinity comes before anti-affinity", pod("p", "web", to(term("zone", "x")), fromDB), nodes(pod("e", "db", fromWeb)), "n1=affinity n2=affinity"},
		{"the incoming pod has affinity, the existing one keeps away", pod("p", "web", to(term("zone", "db"))), nodes(pod("e", "db", fromWeb)), "n1=existing n2=affinity"},
		{"one of several terms of the existing pod", pod("p", "web"), nodes(pod("e", "db", from(term("zone", "cache"), term("zone", "web")))), "n1=existing n2=ok"},
		{"terms with different keys", pod("p", "web"), []*framework.NodeInfo{
			node("n1", "zone=z1 rack=r1", pod("e", "db", from(term("zone", "web"), term("rack", "web")))),
			node("n2", "zone=z2 rack=r1"), node("n3", "zone=z1 rack=r2"), node("n4", "zone=z2 rack=r2"),
		}, "n1=existing n2=existing n3=existing n4=ok"},
		{"replicas that keep away from each other", pod("p", "web", fromWeb), nodes(pod("e", "web", fromWeb)), "n1=anti n2=ok"},
		{"existing pods whose terms do not parse don't count", pod("p", "web"), nodes(pod("e", "db", from(term("zone", "web", badSelector)))), ""},
	})
}

func TestFilterNamespaces(t *testing.T) {
	inA1, inA2, inB1 := inNamespace("a1"), inNamespace("a2"), inNamespace("b1")
	anti := func(changes ...func(*v1.PodAffinityTerm)) func(*v1.Pod) { return from(term("zone", "db", changes...)) }
	existing := func(changes ...func(*v1.PodAffinityTerm)) func(*v1.Pod) { return from(term("zone", "web", changes...)) }
	runFilterTests(t, []filterTest{
		{"own namespace by default", pod("p", "web", anti()), nodes(pod("e", "db")), "n1=anti n2=ok"},
		{"unmatched namespace", pod("p", "web", anti()), nodes(pod("e", "db", inA1)), "n1=ok n2=ok"},
		{"a named namespace", pod("p", "web", anti(of("a1", "a2"))), nodes(pod("e", "db", inA2)), "n1=anti n2=ok"},
		{"named namespaces replace the own one", pod("p", "web", anti(of("a1"))), nodes(pod("e", "db")), "n1=ok n2=ok"},
		{"namespaceSelector: matching", pod("p", "web", anti(ofTeam("a"))), nodes(pod("e", "db", inA2)), "n1=anti n2=ok"},
		{"namespaceSelector: not matching", pod("p", "web", anti(ofTeam("a"))), nodes(pod("e", "db", inB1)), "n1=ok n2=ok"},
		{"namespaceSelector: replaces the own namespace", pod("p", "web", anti(ofTeam("a"))), nodes(pod("e", "db")), "n1=ok n2=ok"},
		{"namespaceSelector: all", pod("p", "web", anti(ofAll)), nodes(pod("e", "db", inB1)), "n1=anti n2=ok"},
		{"namespaceSelector: all, and named ones", pod("p", "web", anti(ofAll, of("a1"))), nodes(pod("e", "db", inB1)), "n1=anti n2=ok"},
		{"namespaceSelector: without a label, not matching", pod("p", "web", anti(ofNoTeam)), nodes(pod("e", "db", inA1)), "n1=ok n2=ok"},
		{"namespaceSelector: without a label, namespace not known", pod("p", "web", anti(ofNoTeam)), nodes(pod("e", "db", inNamespace("new"))), "n1=ok n2=ok"},
		{"namespaceSelector: or named ones", pod("p", "web", anti(ofTeam("a"), of("b1"))), nodes(pod("e", "db", inB1)), "n1=anti n2=ok"},
		{"namespaceSelector: affinity", pod("p", "web", to(term("zone", "db", ofTeam("b")))), nodes(pod("e", "db", inB1)), "n1=ok n2=affinity"},
		{"of an existing pod: own namespace by default", pod("p", "web", inA1), nodes(pod("e", "db", inA1, existing())), "n1=existing n2=ok"},
		{"of an existing pod: unmatched namespace: skip", pod("p", "web"), nodes(pod("e", "db", inA1, existing())), ""},
		{"of an existing pod: a named namespace", pod("p", "web"), nodes(pod("e", "db", inA1, existing(of("default")))), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector matching", pod("p", "web", inA2), nodes(pod("e", "db", inB1, existing(ofTeam("a")))), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector not matching: skip", pod("p", "web", inB1), nodes(pod("e", "db", inB1, existing(ofTeam("a")))), ""},
		{"of an existing pod: namespaceSelector all", pod("p", "web"), nodes(pod("e", "db", inB1, existing(ofAll))), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector without a label, namespace not known", pod("p", "web", inNamespace("new")), nodes(pod("e", "db", existing(ofNoTeam))), "n1=existing n2=ok"},
		{"of an existing pod: namespaceSelector, namespace not known: skip", pod("p", "web", inNamespace("new")), nodes(pod("e", "db", existing(ofTeam("a")))), ""},
	})
}

func TestPreFilterFailures(t *testing.T) {
	for name, invalid := range map[string]*v1.Pod{
		"affinity":                pod("p", "web", to(term("zone", "db", badSelector))),
		"anti-affinity":           pod("p", "web", from(term("zone", "db", badSelector))),
		"preferred affinity":      pod("p", "web", rather(weighted(1, term("zone", "db", badSelector)))),
		"preferred anti-affinity": pod("p", "web", rarely(weighted(1, term("zone", "db", badSelector)))),
		"namespaces": pod("p", "web", to(term("zone", "db", func(t *v1.PodAffinityTerm) {
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labelMap("in valid", "x")}
		}))),
	} {
		t.Run("invalid selector: "+name, func(t *testing.T) {
			_, status := newPlugin(t, nil, nil).PreFilter(t.Context(), framework.NewCycleState(), invalid, nil)
			if status.Code() != fwk.UnschedulableAndUnresolvable || !strings.HasPrefix(status.Message(), "parsing pod: ") {
				t.Errorf("got %v %q", status.Code(), status.Message())
			}
		})
	}
	incoming := pod("p", "web", from(term("zone", "db")))
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
		some := nodes(pod("e", "db"))
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
	incoming := pod("p", "web", to(term("zone", "db", ofTeam("a"))))
	before := incoming.DeepCopy()
	newPlugin(t, nil, nil, namespaces()...).PreFilter(t.Context(), framework.NewCycleState(), incoming, nil)
	if incoming.String() != before.String() {
		t.Errorf("the pod was changed to %v", incoming)
	}
}
