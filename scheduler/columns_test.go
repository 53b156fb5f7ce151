// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// decisions is how many decisions each test compares; COLUMN_DECISIONS asks for more.
func decisions(t *testing.T) int {
	text := os.Getenv("COLUMN_DECISIONS")
	if text == "" {
		return 600
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("COLUMN_DECISIONS=%s: %v", text, err)
	}
	return n
}

// Whether verdicts come from columns or from asking every plugin about every node can't be seen in a decision: statuses,
// feasible nodes and total scores are the same, while nodes and pods come, change and go.
func TestColumnsDecideAsPluginsDo(t *testing.T) {
	tests := []struct {
		name   string
		budget int
		extra  []fwk.Plugin
		only   bool // TaintToleration, of the in-tree plugins
	}{
		{name: "default profile"},
		{name: "columns are dropped all the time", budget: 1},
		{name: "columns are dropped often", budget: 16 << 10},
		{name: "plugins without keys", extra: []fwk.Plugin{
			&scripted{name: "Odd", filter: func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
				if (len(node.GetPods())+len(pod.Name))%3 == 0 {
					return fwk.NewStatus(fwk.Unschedulable, "odd "+node.Node().Name)
				}
				return nil
			}},
			&crowded{},
		}},
		{name: "one plugin that filters and scores", only: true},
	}
	for seed, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newComparison(t, uint64(seed), test.budget, test.only, append(test.extra, leveled{})...)
			for range decisions(t) {
				c.step()
				c.decide()
				if t.Failed() {
					t.Fatalf("after %d decisions", c.made)
				}
			}
			t.Logf("%d decisions, %d of them without a feasible node", c.made, c.hopeless)
		})
	}
}

// crowded is a Score plugin with a normalisation of its own.
type crowded struct{}

func (*crowded) Name() string { return "Crowded" }

func (*crowded) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return int64(10 * len(node.GetPods())), nil
}

func (c *crowded) ScoreExtensions() fwk.ScoreExtensions { return c }

func (*crowded) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	lowest := scores[0].Score
	for i := range scores {
		lowest = min(lowest, scores[i].Score)
	}
	for i := range scores {
		scores[i].Score = min(scores[i].Score-lowest, fwk.MaxScore)
	}
	return nil
}

// leveled is a Score plugin with a key, whose scores are scaled to the highest.
type leveled struct{}

var _ framework.ScoreKeyPlugin = leveled{}

func (leveled) Name() string { return "Leveled" }

func (leveled) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	level, _ := strconv.ParseInt(node.Node().Labels["level"], 10, 64)
	return level, nil
}

func (l leveled) ScoreExtensions() fwk.ScoreExtensions { return l }

func (leveled) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, false, scores)
}

func (leveled) AppendScoreKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

func (leveled) Scale() framework.Scale { return framework.ScaleToHighest }

// comparison is a cluster with a history, and one framework that lives through all of it.
type comparison struct {
	t         *testing.T
	random    *rand.Rand
	cache     *cache.Cache
	snapshot  *cache.Snapshot
	nominator *queue.Nominator
	profile   *runtime.Framework
	nodes     map[string]*v1.Node
	pods      []*v1.Pod          // on nodes
	nominated map[*v1.Pod]string // the node
	made      int
	hopeless  int
}

func newComparison(t *testing.T, seed uint64, budget int, onlyTaints bool, extra ...fwk.Plugin) *comparison {
	t.Helper()
	f := &fixture{t: t}
	registry, configuration := f.with(extra...)
	if onlyTaints {
		registry, configuration = f.with()
		bare(&Options{Configuration: configuration})
		multiPoint := &configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: "TaintToleration"})
	}
	c := &comparison{
		t:         t,
		random:    rand.New(rand.NewPCG(seed, 1)),
		cache:     cache.New(cache.Options{}),
		snapshot:  &cache.Snapshot{},
		nominator: queue.NewNominator(nil),
		nodes:     map[string]*v1.Node{},
		nominated: map[*v1.Pod]string{},
	}
	client := newFixture(t).client
	profiles, err := runtime.NewProfiles(t.Context(), configuration, registry, runtime.Options{
		ClientSet:       client,
		InformerFactory: NewInformerFactory(client),
		Snapshot:        c.snapshot,
		Nominator:       c.nominator,
		PodGroupManager: cache.NoPodGroups{},
		Parallelism:     1,
		ColumnBudget:    budget,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.profile = profiles["default-scheduler"]
	for range 8 {
		c.changeNode()
	}
	return c
}

// step changes the cluster in some way, or not at all.
func (c *comparison) step() {
	switch c.random.IntN(10) {
	case 0:
		c.changeNode()
	case 1:
		if name := c.someNode(); name != "" && len(c.nodes) > 3 {
			c.check(c.cache.RemoveNode(c.nodes[name]))
			delete(c.nodes, name)
		}
	case 2, 3, 4:
		for len(c.pods) > c.random.IntN(30) {
			i := c.random.IntN(len(c.pods))
			c.check(c.cache.RemovePod(c.pods[i]))
			c.pods = append(c.pods[:i], c.pods[i+1:]...)
		}
	case 5:
		if c.random.IntN(3) > 0 {
			return
		}
		c.nominate(c.someNode())
	case 6:
		for _, pod := range c.nominees() {
			c.withdraw(pod)
		}
	case 7: // others take their place
		for _, pod := range c.nominees() {
			node := c.nominated[pod]
			c.withdraw(pod)
			c.nominate(node)
		}
	}
}

func (c *comparison) nominate(node string) {
	pod := c.pod()
	info, err := framework.NewPodInfo(pod)
	c.check(err)
	c.nominator.AddNominatedPod(klog.Logger{}, info, nominate(node).NominatingInfo)
	c.nominated[pod] = node
}

func (c *comparison) withdraw(pod *v1.Pod) {
	c.nominator.DeleteNominatedPodIfExists(pod)
	delete(c.nominated, pod)
}

// nominees are the nominated pods, in the same order for equal seeds.
func (c *comparison) nominees() []*v1.Pod {
	return slices.SortedFunc(maps.Keys(c.nominated), func(a, b *v1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

func (c *comparison) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// someNode returns the name of a node, the same for equal seeds.
func (c *comparison) someNode() string {
	for range 50 {
		if name := fmt.Sprintf("n%d", c.random.IntN(14)); c.nodes[name] != nil {
			return name
		}
	}
	return ""
}

// changeNode adds or replaces a node.
func (c *comparison) changeNode() {
	r := c.random
	node := makeNode(fmt.Sprintf("n%d", r.IntN(14)), strconv.Itoa(2+r.IntN(8)))
	node.Labels["topology.kubernetes.io/zone"] = fmt.Sprintf("z%d", r.IntN(3))
	if r.IntN(3) == 0 {
		node.Labels["disk"] = []string{"ssd", "hdd"}[r.IntN(2)]
	}
	node.Labels["level"] = strconv.Itoa(r.IntN(6))
	node.Spec.Unschedulable = r.IntN(12) == 0
	if r.IntN(3) == 0 {
		effects := []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}
		for range 1 + r.IntN(2) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: fmt.Sprintf("t%d", r.IntN(2)), Effect: effects[r.IntN(2)]})
		}
	}
	if r.IntN(2) == 0 {
		node.Status.Images = []v1.ContainerImage{{Names: []string{fmt.Sprintf("image%d:1", r.IntN(2))}, SizeBytes: int64(r.IntN(2000)) << 20}}
	}
	node.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(int64(3+r.IntN(12)), resource.DecimalSI)
	c.nodes[node.Name] = node
	c.check(c.cache.UpdateNode(node))
}

// pod returns a new pod of one of not too many kinds.
func (c *comparison) pod() *v1.Pod {
	r := c.random
	c.made++
	pod := makePod(fmt.Sprintf("p%d", c.made), []string{"0", "100m", "500m", "1500m"}[r.IntN(4)], prioritized(int32(r.IntN(3))))
	pod.Labels = map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
	if r.IntN(2) == 0 { // of a kind that comes again and again
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
		pod.Spec.Tolerations = []v1.Toleration{{Key: "t0", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		return pod
	}
	pod.Spec.Containers[0].Image = fmt.Sprintf("image%d:1", r.IntN(3))
	if r.IntN(4) == 0 {
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = *resource.NewQuantity(int64(1+r.IntN(4))<<30, resource.BinarySI)
	}
	if r.IntN(3) == 0 {
		pod.Spec.Tolerations = []v1.Toleration{{Key: fmt.Sprintf("t%d", r.IntN(2)), Operator: v1.TolerationOpExists}}
	}
	if r.IntN(6) == 0 {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	if r.IntN(6) == 0 {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(80 + r.IntN(2))}}
	}
	c.preferences(pod)
	return pod
}

// preferences adds what concerns other nodes and pods.
func (c *comparison) preferences(pod *v1.Pod) {
	r := c.random
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}}
	topology := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}[r.IntN(2)]
	affinity := &v1.Affinity{}
	switch r.IntN(8) {
	case 0:
		affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight:     int32(1 + r.IntN(5)),
			Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}},
		}}}
	case 1:
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: selector, TopologyKey: topology,
		}}}
	case 2:
		affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: int32(1 + r.IntN(5)), PodAffinityTerm: v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: topology},
		}}}
	case 3:
		affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: selector, TopologyKey: topology,
		}}}
	case 4, 5:
		unsatisfiable := []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: unsatisfiable[r.IntN(2)], LabelSelector: selector,
		}}
	}
	pod.Spec.Affinity = affinity
}

// decide makes a decision both ways, compares, and puts the pod on one of the best nodes.
func (c *comparison) decide() {
	c.t.Helper()
	pod := c.pod()
	c.check(c.cache.UpdateSnapshot(c.snapshot))
	ctx := c.t.Context()

	state := framework.NewCycleState()
	result, status, _ := c.profile.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() || !result.AllNodes() {
		return
	}
	totals, rejections, status := c.profile.Totals(ctx, state, pod)
	if !status.IsSuccess() {
		c.t.Fatalf("searching through columns: %v", status)
	}
	statuses := map[string]string{}
	rejections.ForEachExplicitNode(func(name string, status *fwk.Status) { statuses[name] = render(status) })

	wantTotals, wantStatuses := c.ask(pod)
	if diff := cmp.Diff(wantStatuses, statuses); diff != "" {
		c.t.Errorf("pod %v: statuses (-plugins +columns):\n%s", pod, diff)
	}
	if diff := cmp.Diff(wantTotals, totals); diff != "" {
		c.t.Errorf("pod %v: totals (-plugins +columns):\n%s", pod, diff)
	}
	if len(totals) == 0 {
		c.hopeless++
		return
	}
	c.place(pod, totals)
}

// ask asks every plugin about every node.
func (c *comparison) ask(pod *v1.Pod) (map[string]int64, map[string]string) {
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	totals, statuses := map[string]int64{}, map[string]string{}
	all, _ := c.snapshot.NodeInfos().List()
	var feasible []fwk.NodeInfo
	for _, node := range all {
		if status := c.profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			statuses[node.Node().Name] = render(status)
		}
	}
	if len(feasible) == 0 {
		return totals, statuses
	}
	if status := c.profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		c.t.Fatal(status)
	}
	scores, status := c.profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	for i := range scores {
		totals[scores[i].Name] = scores[i].TotalScore
	}
	return totals, statuses
}

// place checks the choice of Search, and follows it.
func (c *comparison) place(pod *v1.Pod, totals map[string]int64) {
	c.t.Helper()
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	ties := 1
	choice, status := c.profile.Search(ctx, state, pod, func(count int) int {
		ties = count
		return c.random.IntN(count)
	})
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	best, equals := int64(-1), 0
	for _, total := range totals {
		if total > best {
			best, equals = total, 0
		}
		if total == best {
			equals++
		}
	}
	if choice.Feasible != len(totals) || totals[choice.Node] != best || ties != equals {
		c.t.Errorf("pod %v: the choice is %+v of %d with total %d, want one of %d nodes with total %d of %v",
			pod, choice, ties, totals[choice.Node], equals, best, totals)
	}
	pod.Spec.NodeName = choice.Node
	c.check(c.cache.AddPod(pod))
	c.pods = append(c.pods, pod)
}

func render(status *fwk.Status) string {
	return fmt.Sprintf("%s by %s: %v", status.Code(), status.Plugin(), status.Reasons())
}

// The same plugin filters and scores, and reads of some pods the same both times: nothing. What is kept of its verdicts
// must not be taken for its scores.
func TestColumnsOfVerdictsAndScoresAreToldApart(t *testing.T) {
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: "TaintToleration"})
	})
	f.nodeAdded(makeNode("free", "64"))
	f.add(makePod("alone", "0"))
	f.attempt()
	for _, name := range []string{"tainted", "tainted-too"} {
		f.nodeAdded(makeNode(name, "64", func(node *v1.Node) {
			node.Spec.Taints = []v1.Taint{{Key: "t", Effect: v1.TaintEffectPreferNoSchedule}}
		}))
	}
	f.add(makePod("plain", "0"))
	f.attempt()
	for i := range 10 {
		name := fmt.Sprintf("tolerant-%d", i)
		f.add(makePod(name, "0", func(pod *v1.Pod) {
			pod.Spec.Tolerations = []v1.Toleration{{Key: name, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		}))
		f.attempt()
		if got := f.seen.bound[name]; got != "free" {
			t.Errorf("pod %s is bound to %q, want the node without taints", name, got)
		}
	}
}
