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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// decisions is how many decisions each history has; VERDICT_DECISIONS asks for more, and SEED for other histories.
func decisions(t *testing.T) int {
	return number(t, "VERDICT_DECISIONS", 6000)
}

func number(t *testing.T, name string, byDefault int) int {
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n
}

// Whether verdicts come from caches or from asking every plugin about every node can't be seen in a decision: statuses,
// feasible nodes and total scores are the same, while nodes, pods and what plugins look up come, change, go, and come again
// under the same name. Nor can it be seen whether the plugins have been asked before.
func TestVerdictCachesDecideAsPluginsDo(t *testing.T) {
	tests := []struct {
		name   string
		budget int
		extra  []fwk.Plugin
		only   bool // TaintToleration, of the in-tree plugins
		// neighbours says that most pods look at others, in every way that there is.
		neighbours bool
		// volumes has most pods use volumes, and most of what changes concern these.
		volumes bool
	}{
		{name: "default profile"},
		{name: "caches are dropped all the time", budget: 1},
		{name: "caches are dropped often", budget: 16 << 10},
		{name: "plugins without keys", extra: withoutKeys()},
		{name: "plugins without keys, and caches are dropped all the time", extra: withoutKeys(), budget: 1},
		{name: "one plugin that filters and scores", only: true},
		{name: "pods that look at others", neighbours: true},
		{name: "pods that look at others, and caches are dropped all the time", neighbours: true, budget: 1},
		{name: "volumes", volumes: true},
		{name: "a plugin that groups nodes", extra: []fwk.Plugin{zoned{}}},
		{name: "a plugin that groups nodes, and caches are dropped often", extra: []fwk.Plugin{zoned{}}, budget: 16 << 10},
	}
	for seed, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newComparison(t, uint64(seed)+uint64(number(t, "SEED", 0))<<8, test.budget, test.only, append(test.extra, leveled{})...)
			c.neighbours = test.neighbours
			c.volumes = test.volumes
			for range decisions(t) {
				c.step()
				c.decide()
				if t.Failed() {
					t.Fatalf("after %d decisions", c.decided)
				}
			}
			t.Logf("%d decisions, %d of them without a feasible node, %d with an error; %d also by new plugins", c.decided, c.hopeless, c.failed, c.afresh)
			enough := decisions(t) * 9 / 10
			if test.volumes { // which often are not fit for use
				enough = decisions(t) / 2
			}
			if c.decided < enough || c.hopeless > c.decided*8/10 || c.afresh == 0 {
				t.Error("too little was compared")
			}
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
	pods      []*v1.Pod // seen on nodes
	assumed   []assumption
	nominated map[*v1.Pod]string // the node
	objects   *directObjects
	devices   *devices.Manager
	// another builds a framework of the same profile on a snapshot, which has seen nothing yet.
	another func(fwk.SharedLister) *runtime.Framework
	made    int
	// neighbours says that most pods look at others.
	neighbours bool
	volumes    bool // matter more than anything else
	// How many decisions were compared, how many of them found no node or failed, and how many were made by new plugins too.
	decided, hopeless, failed, afresh int
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
	client := fake.NewClientset()
	c.objects = newDirectObjects(client)
	var err error
	c.devices, err = devices.New(t.Context(), devices.Options{Informers: c.objects, Touched: c.cache.TouchNode})
	c.check(err)
	volumes := csi.New(c.objects)
	c.another = func(snapshot fwk.SharedLister) *runtime.Framework {
		profiles, err := runtime.NewProfiles(t.Context(), configuration, registry, runtime.Options{
			Clients:           runtime.Clients{ClientSet: client, InformerFactory: c.objects},
			Snapshot:          snapshot,
			Nominator:         c.nominator,
			Managers:          runtime.Managers{DRA: c.devices, CSI: volumes, PodGroup: cache.NoPodGroups{}},
			Parallelism:       1,
			VerdictCacheBytes: budget,
		})
		c.check(err)
		return profiles["default-scheduler"]
	}
	c.profile = c.another(c.snapshot)
	c.objects.follow(volumes)
	for range 8 {
		c.changeNode(c.random.IntN(14))
	}
	for range 40 {
		c.changeObject()
		c.changeDevice()
	}
	return c
}

func (c *comparison) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// pod returns a new pod of one of not too many kinds.
func (c *comparison) pod() *v1.Pod {
	r := c.random
	c.made++
	pod := objects.Pod(fmt.Sprintf("p%d", c.made)).Requests("cpu", []string{"0", "100m", "500m", "1500m"}[r.IntN(4)]).Priority(int32(r.IntN(3))).Build()
	pod.Labels = map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
	pod.Namespace = c.someNamespace()
	if c.neighbours && r.IntN(4) > 0 {
		c.lookAtOthers(pod)
		return pod
	}
	if r.IntN(4) == 0 {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("r%d", r.IntN(2)), Controller: ptr.To(true),
		}}
	}
	if c.volumes && r.IntN(8) > 0 {
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{}
		pod.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
		c.addVolumes(pod)
		return pod
	}
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
	if r.IntN(6) == 0 {
		c.addVolumes(pod)
	}
	if r.IntN(8) == 0 {
		pod.Spec.HostNetwork, pod.Spec.HostUsers = r.IntN(2) == 0, ptr.To(r.IntN(3) == 0)
	}
	c.preferences(pod)
	if r.IntN(3) == 0 {
		c.wantDevices(pod)
	}
	return pod
}

func (c *comparison) addVolumes(pod *v1.Pod) {
	for i := range 1 + c.random.IntN(2)*c.random.IntN(3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, c.podVolume(pod, i))
	}
}

func (c *comparison) podVolume(pod *v1.Pod, i int) v1.Volume {
	r := c.random
	volume := v1.Volume{Name: fmt.Sprintf("data%d", i)}
	switch r.IntN(10) {
	case 0, 1:
		volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprintf("disk-%d", r.IntN(3)), ReadOnly: r.IntN(2) == 0}
	case 2: // the claim for it may be there
		volume.Ephemeral = &v1.EphemeralVolumeSource{}
		if r.IntN(3) > 0 {
			claim := c.claim(pod.Namespace)
			claim.Name = pod.Name + "-" + volume.Name
			claim.UID, claim.Annotations, claim.Spec.VolumeName, claim.Status.Phase = types.UID(claim.Name), nil, "", v1.ClaimPending
			claim.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
			c.put(claim, false)
		}
	default:
		volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", r.IntN(claimCount))}
	}
	return volume
}

// preferences adds what concerns other nodes and pods.
func (c *comparison) preferences(pod *v1.Pod) {
	r := c.random
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}}
	topology := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}[r.IntN(2)]
	near := v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: topology}
	switch r.IntN(4) {
	case 0:
		near.Namespaces = []string{c.someNamespace()}
	case 1:
		near.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": []string{"a", "b"}[r.IntN(2)]}}
	}
	affinity := &v1.Affinity{}
	switch r.IntN(8) {
	case 0:
		affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight:     int32(1 + r.IntN(5)),
			Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}},
		}}}
	case 1:
		affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{near}}
	case 2:
		affinity.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: int32(1 + r.IntN(5)), PodAffinityTerm: near,
		}}}
	case 3:
		affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{near}}
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
	c.decided++
	got := decision{statuses: map[string]string{}}
	totals, rejections, status := c.profile.Totals(ctx, state, pod)
	if got.failed = !status.IsSuccess(); !got.failed {
		got.totals = totals
		rejections.ForEachExplicitNode(func(name string, status *fwk.Status) { got.statuses[name] = render(status) })
	}
	compare := func(who string, want decision) {
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(decision{})); diff != "" {
			c.t.Errorf("decision %d, pod %v: verdicts (-%s +caches):\n%s", c.decided, pod, who, diff)
		}
	}
	compare("plugins", c.ask(c.profile, c.snapshot, pod))
	// What volumes a pod will get depends on what others were promised, which new plugins don't know.
	if c.decided%20 == 0 && len(pod.Spec.Volumes) == 0 {
		c.afresh++
		lister := c.freshSnapshotFor(pod)
		other := c.another(lister)
		compare("new plugins", c.ask(other, lister, pod))
		c.check(other.Close())
	}
	switch {
	case got.failed:
		c.failed++
	case len(totals) == 0:
		c.hopeless++
		got.statuses = map[string]string{}
		choice := c.search(pod, runtime.SearchOptions{Limit: 1 + c.random.IntN(4)})
		choice.Rejections.ForEachExplicitNode(func(name string, status *fwk.Status) { got.statuses[name] = render(status) })
		compare("plugins, when few nodes are asked about,", c.ask(c.profile, c.snapshot, pod))
	default:
		c.place(pod, totals)
	}
}

// decision is what came of a decision.
type decision struct {
	failed   bool
	totals   map[string]int64
	statuses map[string]string
}

// freshSnapshotFor returns a snapshot of which nothing is known yet, or one of which nothing can be kept. How many nodes have an
// image is as of the last change of the node, so that it depends on the history of a snapshot.
func (c *comparison) freshSnapshotFor(pod *v1.Pod) fwk.SharedLister {
	if strings.HasPrefix(pod.Spec.Containers[0].Image, "image") {
		return c.snapshot
	}
	snapshot := &cache.Snapshot{}
	c.check(c.cache.UpdateSnapshot(snapshot))
	if c.random.IntN(2) == 0 {
		return struct{ fwk.SharedLister }{snapshot}
	}
	return snapshot
}

// ask asks every plugin about every node.
func (c *comparison) ask(profile *runtime.Framework, snapshot fwk.SharedLister, pod *v1.Pod) decision {
	ctx, state := c.t.Context(), framework.NewCycleState()
	failed := decision{failed: true, statuses: map[string]string{}}
	if _, status, _ := profile.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		c.t.Fatalf("PreFilter, which succeeded before: %v", status)
	}
	answer := decision{totals: map[string]int64{}, statuses: map[string]string{}}
	all, _ := snapshot.NodeInfos().List()
	var feasible []fwk.NodeInfo
	for _, node := range all {
		status := profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
		case status.IsError():
			return failed
		default:
			answer.statuses[node.Node().Name] = render(status)
		}
	}
	if len(feasible) == 0 {
		return answer
	}
	if status := profile.RunPreScorePlugins(ctx, state, pod, feasible); !status.IsSuccess() {
		return failed
	}
	scores, status := profile.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return failed
	}
	for i := range scores {
		answer.totals[scores[i].Name] = scores[i].TotalScore
	}
	return answer
}

// ordered checks the choice of Search where it is not left to chance, and that Feasible knows all nodes that take the pod.
func (c *comparison) ordered(pod *v1.Pod, totals map[string]int64) {
	c.t.Helper()
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	snapshot := c.profile.SnapshotSharedLister().(framework.IndexedSnapshot)
	names := slices.Sorted(maps.Keys(totals))
	want, order := names[0], make([]int, snapshot.IndexCount())
	for i, name := range slices.Backward(names) {
		if totals[name] > totals[want] || totals[name] == totals[want] && name > want {
			want = name
		}
		nodeIndex, _ := snapshot.NodeIndex(name)
		order[nodeIndex] = -i // the last by name is the first
	}
	choice, status := c.profile.Search(ctx, state, pod, runtime.SearchOptions{Order: order})
	if !status.IsSuccess() || choice.Node != want {
		c.t.Errorf("pod %v: the choice is %+v (%v), want node %s of %v", pod, choice, status, want, totals)
	}
	nodeIndexes, _, status := c.profile.Feasible(ctx, state, pod, nil)
	var found []string
	for _, nodeIndex := range nodeIndexes {
		found = append(found, snapshot.NodeAt(nodeIndex).Node().Name)
	}
	slices.Sort(found)
	if diff := cmp.Diff(names, found); diff != "" || !status.IsSuccess() {
		c.t.Errorf("pod %v: other nodes are feasible (%v) (-want +got):\n%s", pod, status, diff)
	}
}

// place checks the choice of Search, and follows it.
func (c *comparison) place(pod *v1.Pod, totals map[string]int64) {
	c.t.Helper()
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	ties := 1
	choice, status := c.profile.Search(ctx, state, pod, runtime.SearchOptions{Pick: func(count int) int {
		ties = count
		return c.random.IntN(count)
	}})
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
	if ties == equals && c.decided%10 == 0 {
		c.checkPicks(pod, totals, best, ties)
	}
	// It may know of fewer nodes that take the pod, and then picks among some that don't.
	if choice.Feasible == 0 || choice.Feasible > len(totals) || totals[choice.Node] != best || ties < equals {
		c.t.Errorf("pod %v: the choice is %+v of %d with total %d, want one of %d nodes with total %d of %v",
			pod, choice, ties, totals[choice.Node], equals, best, totals)
	}
	c.sample(pod, totals)
	c.ordered(pod, totals)
	if !c.profile.RunReservePluginsReserve(ctx, state, pod, choice.Node).IsSuccess() {
		c.profile.RunReservePluginsUnreserve(ctx, state, pod, choice.Node)
		return
	}
	if _, asked := pod.Spec.Containers[0].Resources.Requests[servedGPU]; asked {
		c.profile.RunReservePluginsUnreserve(ctx, state, pod, choice.Node) // no claim for it is written
	}
	c.writeClaims(pod)
	pod.Spec.NodeName = choice.Node
	if c.random.IntN(3) == 0 {
		c.check(c.cache.AssumePod(pod))
		c.assumed = append(c.assumed, assumption{pod, state})
		return
	}
	c.check(c.cache.AddPod(pod))
	c.pods = append(c.pods, pod)
}

// checkPicks checks that each of the best nodes is chosen for one result of Pick.
func (c *comparison) checkPicks(pod *v1.Pod, totals map[string]int64, best int64, ties int) {
	c.t.Helper()
	chosen, once := map[string]bool{}, true
	for pick := range ties {
		picks := 0
		ctx, state := c.t.Context(), framework.NewCycleState()
		c.profile.RunPreFilterPlugins(ctx, state, pod)
		choice, status := c.profile.Search(ctx, state, pod, runtime.SearchOptions{Pick: func(count int) int {
			picks++
			if count != ties || picks > 1 { // a node that was chosen before does not take the pod
				once = false
				return c.random.IntN(count)
			}
			return pick
		}})
		if !status.IsSuccess() || totals[choice.Node] != best {
			c.t.Errorf("pod %v: the choice for %d is %+v with total %d, want one with total %d of %v; status %v", pod, pick, choice, totals[choice.Node], best, totals, status)
		}
		chosen[choice.Node] = true
	}
	if once && len(chosen) != ties {
		c.t.Errorf("pod %v: %d different choices among %d equals: %v", pod, len(chosen), ties, chosen)
	}
}

func render(status *fwk.Status) string {
	return fmt.Sprintf("%s by %s: %v", status.Code(), status.Plugin(), status.Reasons())
}

// The same plugin filters and scores, and reads of some pods the same both times: nothing. What is kept of its verdicts
// must not be taken for its scores.
func TestCachesOfVerdictsAndScoresAreSeparate(t *testing.T) {
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: "TaintToleration"})
	})
	f.nodeAdded(objects.Node("free").Capacity("cpu", "64", "memory", "8Gi").Build())
	f.add(objects.Pod("alone").Requests("cpu", "0").Build())
	f.attempt()
	for _, name := range []string{"tainted", "tainted-too"} {
		f.nodeAdded(objects.Node(name).Capacity("cpu", "64", "memory", "8Gi").With(func(node *v1.Node) {
			node.Spec.Taints = []v1.Taint{{Key: "t", Effect: v1.TaintEffectPreferNoSchedule}}
		}).Build())
	}
	f.add(objects.Pod("plain").Requests("cpu", "0").Build())
	f.attempt()
	for i := range 10 {
		name := fmt.Sprintf("tolerant-%d", i)
		f.add(objects.Pod(name).Requests("cpu", "0").With(func(pod *v1.Pod) {
			pod.Spec.Tolerations = []v1.Toleration{{Key: name, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		}).Build())
		f.attempt()
		if got := f.seen.bound[name]; got != "free" {
			t.Errorf("pod %s is bound to %q, want the node without taints", name, got)
		}
	}
}
