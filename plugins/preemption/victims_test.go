// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

// hostPort adds a container that takes a port of the node.
func hostPort(number int32) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: "port", Ports: []v1.ContainerPort{{ContainerPort: number, HostPort: number, Protocol: v1.ProtocolTCP}},
		})
	}
}

// awayFrom gives a pod required anti-affinity to pods with app=value, on the same node or in the same zone.
func awayFrom(value, topologyKey string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
				TopologyKey:   topologyKey,
			}},
		}}
	}
}

// nearTo gives a pod required affinity to pods with app=value on the same node.
func nearTo(value string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
				TopologyKey:   "kubernetes.io/hostname",
			}},
		}}
	}
}

// spread has pods with app=value spread over a topology, with a skew of one at most.
func spread(value, topologyKey string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topologyKey, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}},
		})
	}
}

func zone(name string) func(*v1.Node) {
	return func(node *v1.Node) { node.Labels["zone"] = name }
}

// TestVictimsOfEveryNode is about the dry run: which pods would have to go, node by node, the most important first.
func TestVictimsOfEveryNode(t *testing.T) {
	tests := []struct {
		name    string
		pod     *v1.Pod
		cluster list
		want    []string
	}{
		{
			"a lower priority gives way", pod("p", 10, "2"),
			list{node("a", "2"), pod("v", 9, "2", on("a"))},
			[]string{"a: v"},
		},
		{
			"a higher or equal priority does not", pod("p", 10, "2"),
			list{node("a", "2"), pod("v", 10, "2", on("a")), node("b", "2"), pod("w", 11, "2", on("b"))},
			nil,
		},
		{
			"a pod without priority counts as zero", pod("p", 1, "2"),
			list{node("a", "2"), pod("v", 0, "2", on("a"), func(p *v1.Pod) { p.Spec.Priority = nil })},
			[]string{"a: v"},
		},
		{
			"a victim that is not needed stays", pod("p", 10, "2"),
			list{node("a", "4"), pod("v", 1, "2", on("a")), pod("w", 1, "1", on("a")), pod("x", 20, "1", on("a"))},
			[]string{"a: v"},
		},
		{
			"the more important pod is spared first", pod("p", 10, "1"),
			list{node("a", "2"), pod("low", 1, "1", on("a")), pod("high", 2, "1", on("a"))},
			[]string{"a: low"},
		},
		{
			"of equal priority, the pod that started earlier is spared first", pod("p", 10, "1"),
			list{node("a", "2"), pod("late", 1, "1", on("a"), started(2)), pod("early", 1, "1", on("a"), started(1))},
			[]string{"a: late"},
		},
		{
			"a pod that has not started counts as starting now", pod("p", 10, "1"),
			list{node("a", "2"), pod("new", 1, "1", on("a")), pod("old", 1, "1", on("a"), started(1))},
			[]string{"a: new"},
		},
		{
			"a big important pod goes when the small ones leave no room for it", pod("p", 10, "2"),
			list{node("a", "4"), pod("big", 5, "3", on("a")), pod("small", 1, "1", on("a"))},
			[]string{"a: big"},
		},
		{
			"victims are listed by importance", pod("p", 10, "3"),
			list{node("a", "3"), pod("v1", 1, "1", on("a")), pod("v3", 3, "1", on("a")), pod("v2", 2, "1", on("a"))},
			[]string{"a: v3 v2 v1"},
		},
		{
			"a node that is too small even when empty is no candidate", pod("p", 10, "3"),
			list{node("a", "2"), pod("v", 1, "2", on("a"))},
			nil,
		},
		{
			"a host port", pod("p", 10, "1", hostPort(80)),
			list{node("a", "9"), pod("v", 1, "1", hostPort(80), on("a")), pod("w", 1, "1", hostPort(81), on("a"))},
			[]string{"a: v"},
		},
		{
			"anti-affinity of the preemptor", pod("p", 10, "1", awayFrom("web", "kubernetes.io/hostname")),
			list{node("a", "9"), pod("v", 1, "1", labelled("web"), on("a")), pod("w", 1, "1", labelled("db"), on("a"))},
			[]string{"a: v"},
		},
		{
			"anti-affinity of a pod on the node", pod("p", 10, "1", labelled("web")),
			list{
				node("a", "9"), pod("v", 1, "1", awayFrom("web", "kubernetes.io/hostname"), on("a")),
				pod("w", 1, "1", on("a")),
			},
			[]string{"a: v"},
		},
		{
			"anti-affinity to a pod of higher priority can't be helped", pod("p", 10, "1", awayFrom("web", "kubernetes.io/hostname")),
			list{node("a", "9"), pod("v", 11, "1", labelled("web"), on("a")), pod("w", 1, "1", on("a"))},
			nil,
		},
		{
			"affinity to a pod that may be evicted", pod("p", 10, "1", nearTo("web")),
			list{node("a", "2"), pod("v", 1, "1", labelled("web"), on("a")), pod("w", 2, "1", on("a"))},
			nil, // without v the pod does not fit at all, so that there is no candidate to begin with
		},
		{
			"topology spread over nodes", pod("p", 10, "1", labelled("web"), spread("web", "kubernetes.io/hostname")),
			list{
				node("a", "9"), pod("v1", 1, "1", labelled("web"), on("a")), pod("v2", 2, "1", labelled("web"), on("a")),
				node("b", "1"), pod("x", 11, "1", on("b")),
			},
			[]string{"a: v2 v1"},
		},
		{
			"topology spread over zones, with a victim that is one pod too many",
			pod("p", 10, "1", labelled("web"), spread("web", "zone")),
			list{
				node("a", "9", zone("z1")), pod("v1", 1, "1", labelled("web"), on("a")), pod("v2", 2, "1", labelled("web"), on("a")),
				node("b", "1", zone("z2")), pod("x", 11, "1", labelled("web"), on("b")),
			},
			[]string{"a: v1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := in(t, append(tt.cluster, tt.pod))
			s.preempt(t, tt.pod)
			got := s.hooks.found()
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("candidates differ (-want +got):\n%s", diff)
			}
		})
	}
}

// What plugins are told in the dry run on one node must not reach the next, wherever the search begins: the evictions of v
// would make room in the whole zone, but on b they are not what happens.
func TestDryRunsAreIndependent(t *testing.T) {
	for seed := range uint64(8) {
		preemptor := pod("p", 10, "1", awayFrom("web", "zone"))
		s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{Seed: seed, Objects: list{
			preemptor, node("a", "1", zone("z")), pod("v", 1, "1", labelled("web"), on("a")),
			node("b", "1", zone("z")), pod("w", 1, "1", on("b")),
		}}})
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", "v")
		if got := s.hooks.found(); !slices.Equal(got, []string{"a: v"}) {
			t.Errorf("seed %d: found %q", seed, got)
		}
	}
}

// A pod that is nominated for a node takes its room before anybody is spared, unless it is less important itself.
func TestVictimsBesideANominatedPod(t *testing.T) {
	for priority, victims := range map[int32]string{9: "v", 10: "v w", 11: "v w"} {
		preemptor := pod("p", 10, "2")
		s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
			Objects:   list{preemptor, node("a", "4"), pod("v", 1, "2", on("a")), pod("w", 2, "2", on("a"))},
			Nominated: map[string][]*v1.Pod{"a": {pod("other", priority, "2")}},
		}})
		result, status := s.preempt(t, preemptor)
		s.checkPreempted(t, result, status, "a", victims)
	}
}

func TestCustomIsEligiblePod(t *testing.T) {
	preemptor := pod("p", 10, "1")
	spared := func(node fwk.NodeInfo, victim fwk.PodInfo, preemptor *v1.Pod) bool {
		if preemptor.Name != "p" {
			t.Errorf("the preemptor is %s", preemptor.Name)
		}
		return node.Node().Name != "a" && victim.GetPod().Name != "v"
	}
	s := newSetup(t, setupOptions{
		ClusterOptions: fixture.ClusterOptions{Objects: list{
			preemptor, node("a", "1"), pod("u", 1, "1", on("a")), node("b", "2"), pod("v", 1, "1", on("b")), pod("w", 2, "1", on("b")),
		}},
		hooks: preemption.HooksOptions{IsEligiblePod: spared},
	})
	result, status := s.preempt(t, preemptor)
	s.checkPreempted(t, result, status, "b", "w")
}

func TestCustomMoreImportantVictim(t *testing.T) {
	preemptor := pod("p", 10, "1")
	byName := func(a, b fwk.PodInfo) bool { return a.GetPod().Name > b.GetPod().Name }
	s := newSetup(t, setupOptions{
		ClusterOptions: fixture.ClusterOptions{Objects: list{
			preemptor, node("a", "3"), pod("v1", 3, "1", on("a")), pod("v2", 2, "1", on("a")), pod("v3", 1, "1", on("a")),
		}},
		hooks: preemption.HooksOptions{MoreImportantVictim: byName},
	})
	result, status := s.preempt(t, preemptor)
	s.checkPreempted(t, result, status, "a", "v1")
}

func TestMoreImportantPod(t *testing.T) {
	now := time.Date(2020, time.May, 1, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		name   string
		a, b   *v1.Pod
		aFirst bool
	}{
		{"higher priority", pod("a", 2, "1", started(2)), pod("b", 1, "1", started(1)), true},
		{"earlier start", pod("a", 1, "1", started(1)), pod("b", 1, "1", started(2)), true},
		{"no start counts as now", pod("a", 1, "1", started(29)), pod("b", 1, "1"), true},
		{"a start in the future is later than none", pod("a", 1, "1"), pod("b", 1, "1", started(31)), true},
		{"equal", pod("a", 1, "1", started(1)), pod("b", 1, "1", started(1)), false},
		{"neither has started", pod("a", 1, "1"), pod("b", 1, "1"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := preemption.MoreImportantPod(tt.a, tt.b, now); got != tt.aFirst {
				t.Errorf("a before b: %t", got)
			}
			if preemption.MoreImportantPod(tt.b, tt.a, now) {
				t.Error("b is more important than a")
			}
		})
	}
}

// misplacedPod is a node info that shows a pod which it does not have.
type misplacedPod struct {
	fwk.NodeInfo
	pod fwk.PodInfo
}

func (n misplacedPod) GetPods() []fwk.PodInfo { return []fwk.PodInfo{n.pod} }

func (n misplacedPod) Snapshot() fwk.NodeInfo { return n }

// A pod that can't be removed from its node makes the dry run there an error.
func TestPodThatIsNotOnTheNode(t *testing.T) {
	preemptor := pod("p", 10, "1")
	s := in(t, list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))})
	state, _ := s.Filter(t, preemptor)
	info := s.Nodes.Infos[0]
	ghost := misplacedPod{info.Snapshot(), fixture.NodeInfo(node("x", "1"), pod("ghost", 1, "1")).GetPods()[0]}
	_, _, status := s.hooks.SelectVictimsOnNode(t.Context(), state, preemptor, ghost, nil)
	if !status.IsError() || !strings.Contains(status.Message(), "ghost") {
		t.Errorf("got status %v %q, want an Error about the pod", status.Code(), status.Message())
	}
}

// brokenExtension is a PreFilter plugin that can't take part in dry runs: it fails for one pod.
type brokenExtension struct{ onRemove, onAdd string }

func (b *brokenExtension) Name() string { return "Broken" }

func (b *brokenExtension) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

func (b *brokenExtension) PreFilterExtensions() fwk.PreFilterExtensions { return b }

func (b *brokenExtension) AddPod(_ context.Context, _ fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return failFor(added, b.onAdd)
}

func (b *brokenExtension) RemovePod(_ context.Context, _ fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return failFor(removed, b.onRemove)
}

func failFor(pod fwk.PodInfo, name string) *fwk.Status {
	if pod.GetPod().Name == name {
		return fwk.NewStatus(fwk.Error, "broken")
	}
	return nil
}

func TestFailingPreFilterExtensions(t *testing.T) {
	preemptor := pod("p", 10, "1")
	tests := []struct {
		name   string
		broken *brokenExtension
		node   string // where the pod goes; empty if nowhere
		want   string
	}{
		{
			"the dry run fails on one node, which is passed over", &brokenExtension{onRemove: "v"}, "b",
			"found a potential placement for pod on node b, preempting 1 victims",
		},
		{
			"it fails when a pod is put back", &brokenExtension{onAdd: "v"}, "b",
			"found a potential placement for pod on node b, preempting 1 victims",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			factories := registry()
			if err := factories.Register("Broken", factoryOf(tt.broken)); err != nil {
				t.Fatal(err)
			}
			s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
				Registry: factories, Plugins: append(filters(), "Broken"),
				Objects: list{preemptor, node("a", "1"), pod("v", 1, "1", on("a")), node("b", "1"), pod("w", 2, "1", on("b"))},
			}})
			result, status := s.preempt(t, preemptor)
			if got := nominated(result); got != tt.node || status.Message() != tt.want {
				t.Errorf("nomination %s, message %q; want %s, %q", got, status.Message(), tt.node, tt.want)
			}
		})
	}
	t.Run("all dry runs fail", func(t *testing.T) {
		factories := registry()
		if err := factories.Register("Broken", factoryOf(&brokenExtension{onRemove: "v"})); err != nil {
			t.Fatal(err)
		}
		s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
			Registry: factories, Plugins: append(filters(), "Broken"),
			Objects: list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))},
		}})
		state, statuses := s.Filter(t, preemptor)
		result, status := s.evaluator.Preempt(silent(t), state, preemptor, statuses)
		if want := `running RemovePod on PreFilter plugin "Broken": broken`; !status.IsError() || status.Message() != want || result != nil {
			t.Errorf("got status %v %q, want Error %q", status.Code(), status.Message(), want)
		}
		if got := framework.DryRunRejectors(state); !got.Has("Broken") {
			t.Errorf("the pod waits for %v, want also for the plugin that failed", sets.List(got))
		}
	})
}

// A skipped plugin is left out of dry runs too.
func TestSkippedPluginsAreLeftOutOfDryRuns(t *testing.T) {
	preemptor := pod("p", 10, "1")
	broken := &skippingExtension{brokenExtension{onRemove: "v", onAdd: "v"}}
	factories := registry()
	if err := factories.Register("Broken", factoryOf(broken)); err != nil {
		t.Fatal(err)
	}
	s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
		Registry: factories, Plugins: append(filters(), "Broken"),
		Objects: list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))},
	}})
	result, status := s.preempt(t, preemptor)
	s.checkPreempted(t, result, status, "a", "v")
}

type skippingExtension struct{ brokenExtension }

func (s *skippingExtension) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Skip)
}

// noVictims is a hook that says the pod fits though no pod goes.
type noVictims struct{ preemption.Hooks }

func (noVictims) SelectVictimsOnNode(
	context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo, []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	return nil, 0, nil
}

func TestCandidateWithoutVictims(t *testing.T) {
	preemptor := pod("p", 10, "1")
	s := newSetup(t, setupOptions{
		ClusterOptions: fixture.ClusterOptions{Objects: list{preemptor, node("a", "1"), pod("v", 1, "1", on("a"))}},
		override:       func(defaults preemption.Hooks) preemption.Hooks { return noVictims{defaults} },
	})
	_, status := s.preempt(t, preemptor)
	if want := `expected at least one victim pod on node "a"`; !status.IsError() || status.Message() != want {
		t.Errorf("got status %v %q, want Error %q", status.Code(), status.Message(), want)
	}
}
