// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamscheduler "k8s.io/kubernetes/pkg/scheduler"
	upstreamcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// schedulerName is that of the only profile.
const schedulerName = "default-scheduler"

// recordingFramework asks about all nodes in every cycle, and remembers the total scores of the last one.
type recordingFramework struct {
	upstream.Framework
	totals map[string]int64
}

func (f *recordingFramework) GetNodeHint(context.Context, *v1.Pod, fwk.PodSignature, fwk.CycleState, int64) string {
	return ""
}

func (f *recordingFramework) StoreScheduleResults(context.Context, fwk.PodSignature, string, string, upstream.SortedScoredNodes, int64) {
}

func (f *recordingFramework) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	f.record(scores)
	return scores, status
}

func (f *recordingFramework) NormalizeScores(ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores []fwk.NodePluginScores) *fwk.Status {
	status := f.Framework.NormalizeScores(ctx, state, pod, scores)
	f.record(scores)
	return status
}

func (f *recordingFramework) record(scores []fwk.NodePluginScores) {
	f.totals = map[string]int64{}
	for _, score := range scores {
		f.totals[score.Name] = score.TotalScore
	}
}

// theirScheduler is a kube-scheduler whose cycles are run by hand. Its queue is never popped.
type theirScheduler struct {
	*upstreamscheduler.Scheduler
	snapshot *upstreamcache.Snapshot
	world    world
	server   *claimServer // nil in histories without devices
	// state, best and totals are those of the last cycle that found a node.
	state  fwk.CycleState
	best   string
	totals map[string]int64
	// failed says that, in the last cycle, some node could not be asked about.
	failed bool
}

func newTheirScheduler(ctx context.Context, h history) (*theirScheduler, error) {
	client := fake.NewClientset()
	world, err := newWorld(client, h.everything())
	if err != nil {
		return nil, err
	}
	own := theirProfile(h.profile)
	for i := range own.PluginConfig {
		if own.PluginConfig[i].Args, err = kubescheduler.Arguments(own.PluginConfig[i].Args); err != nil {
			return nil, err
		}
	}
	s := &theirScheduler{snapshot: upstreamcache.NewEmptySnapshot(), world: world, server: h.serve(client, world)}
	s.Scheduler, err = upstreamscheduler.New(ctx, client, world, nil, noEvents, upstreamscheduler.WithProfiles(*own),
		upstreamscheduler.WithParallelism(1), upstreamscheduler.WithNodeInfoSnapshot(s.snapshot))
	return s, err
}

func (s *theirScheduler) framework() upstream.Framework { return s.Profiles[schedulerName] }

// try runs a cycle, and says what came of it and what the framework thinks of every node.
func (s *theirScheduler) try(ctx context.Context, pod *v1.Pod, about string, v verdicts) {
	podInfo, _ := upstream.NewPodInfo(pod) // as in the queue, terms that can't be parsed are left out
	s.state, s.best = upstream.NewCycleState(), ""
	s.state.Write(upstream.PodsToActivateKey, upstream.NewPodsToActivate())
	if err := s.Cache.UpdateSnapshot(discard, s.snapshot); err != nil {
		v[outcome(about)] = "no snapshot: " + err.Error()
		return
	}
	recording := &recordingFramework{Framework: s.framework()}
	result, err := s.SchedulePod(ctx, recording, s.state, &upstream.QueuedPodInfo{PodInfo: podInfo})
	var fit *upstream.FitError
	switch {
	case errors.As(err, &fit):
		d := fit.Diagnosis
		v[outcome(about)] = diagnosis(d.NodeToStatus, s.framework(), d.UnschedulablePlugins, d.PendingPlugins, d.PreFilterMsg)
	case errors.Is(err, upstreamscheduler.ErrNoNodesAvailable):
		v[outcome(about)] = "no nodes"
	case err != nil:
		v[outcome(about)] = "an error"
	default:
		v[outcome(about)] = "a node"
		s.best, s.totals = result.SuggestedHost, recording.totals
	}
	s.judge(ctx, pod, about, v)
}

// judge asks about every node, one by one.
func (s *theirScheduler) judge(ctx context.Context, pod *v1.Pod, about string, v verdicts) {
	f, state := s.framework(), upstream.NewCycleState()
	s.failed = false
	if _, status, _ := f.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		return
	}
	nodes, _ := f.SnapshotSharedLister().NodeInfos().List()
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status := f.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		v[verdictOf(about, node.Node().Name)] = describe(status)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		}
		s.failed = s.failed || status.IsError() // with which the cycle ends
	}
	if s.failed || len(feasible) == 0 || !f.RunPreScorePlugins(ctx, state, pod, feasible).IsSuccess() {
		return
	}
	scores, _ := f.RunScorePlugins(ctx, state, pod, feasible)
	for _, score := range scores {
		v[totalOf(about, score.Name)] = fmt.Sprint(score.TotalScore)
	}
}

// place does to a pod what the rest of the cycle does.
func (s *theirScheduler) place(ctx context.Context, pod *v1.Pod, node string) *fwk.Status {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := s.Cache.AssumePod(discard, assumed); err != nil {
		return fwk.AsStatus(err)
	}
	s.framework().DeleteNominatedPodIfExists(assumed)
	status := s.framework().RunReservePluginsReserve(ctx, s.state, assumed, node)
	if !status.IsSuccess() {
		s.release(ctx, assumed, s.state)
	}
	return status
}

func (s *theirScheduler) release(ctx context.Context, assumed *v1.Pod, state fwk.CycleState) {
	s.framework().RunReservePluginsUnreserve(ctx, state, assumed, assumed.Spec.NodeName)
	_ = s.Cache.ForgetPod(discard, assumed)
}

func outcome(about string) subject {
	return subject{kind: kind{what: "history: outcome of a cycle"}, pod: about}
}

func verdictOf(about, node string) subject {
	return subject{kind: kind{what: "history: verdict of a node"}, pod: about, node: node}
}

func totalOf(about, node string) subject {
	return subject{kind: kind{what: "history: total score"}, pod: about, node: node}
}

// diagnosis describes why no node takes a pod.
func diagnosis(statuses interface{ Get(node string) *fwk.Status }, handle fwk.Handle, rejectors, pending sets.Set[string], message string) string {
	nodes, err := handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return err.Error()
	}
	all := sets.New[string]()
	for _, node := range nodes {
		all.Insert(node.Node().Name + ": " + describe(statuses.Get(node.Node().Name)))
	}
	return fmt.Sprintf("rejected by %v pending %v %q %v", sets.List(rejectors), sets.List(pending), message, sets.List(all))
}

// ourScheduler is a scheduler of Rouse over the same history. It leads: the other one is asked about every pod that this
// one takes from its queue.
type ourScheduler struct {
	*scheduler.Scheduler
	scheduler.NopObserver
	ctx    context.Context
	world  world
	server *claimServer // nil in histories without devices
	their  *theirScheduler
	tasks  []func() // the bindings that were not carried out
	cycles int
	// reserved are the pods with claims that were given a node and are not bound yet.
	reserved map[types.UID]reservedPod
	binding  bool // whether bindings succeed
	written  int  // how many claims were written when the cycle began
	// What the two say, and the pod of the last cycle with the failure it ended with, if any.
	want, got verdicts
	pod       *v1.Pod
	failure   *scheduler.Failure
	about     string
}

func newOurScheduler(ctx context.Context, h history, their *theirScheduler) (*ourScheduler, error) {
	client := fake.NewClientset()
	world, err := newWorld(client, h.everything())
	if err != nil {
		return nil, err
	}
	s := &ourScheduler{
		ctx: ctx, world: world, server: h.serve(client, world), their: their,
		reserved: map[types.UID]reservedPod{}, want: verdicts{}, got: verdicts{},
	}
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		if s.binding {
			return true, action.(clienttesting.CreateAction).GetObject(), nil
		}
		return true, nil, errors.New("bindings are refused here")
	})
	configuration := profiles.Default()
	configuration.Profiles = []profiles.Profile{*ourProfile(h.profile)}
	s.Scheduler, err = scheduler.New(ctx, scheduler.Options{
		Configuration: configuration, Client: client, Informers: world, Observers: scheduler.Observers{Scheduler: s},
		Execution: runtime.Execution{Go: func(task func()) { s.tasks = append(s.tasks, task) }},
	})
	return s, err
}

func (s *ourScheduler) framework() *runtime.Framework { return s.Profiles()[schedulerName] }

// AttemptStarted asks kube-scheduler about the same pod.
func (s *ourScheduler) AttemptStarted(pod *v1.Pod, _ int) {
	s.cycles++
	s.pod, s.failure, s.about = pod, nil, fmt.Sprintf("cycle %d, pod %s/%s", s.cycles, pod.Namespace, pod.Name)
	s.written = s.server.writes()
	s.their.try(s.ctx, pod, s.about, s.want)
}

// SearchEnded asks about every node again, before the pod is assumed on one of them: through what the framework keeps from
// cycle to cycle.
func (s *ourScheduler) SearchEnded(pod *v1.Pod, _ time.Duration) {
	if s.server.writes() > s.written { // by PostFilter, after which nodes may fit
		maps.DeleteFunc(s.want, func(of subject, _ string) bool { return of.pod == s.about && of.node != "" })
		return
	}
	state := framework.NewCycleState()
	if _, status, _ := s.framework().RunPreFilterPlugins(s.ctx, state, pod); !status.IsSuccess() {
		return
	}
	nodes, _ := s.framework().SnapshotSharedLister().NodeInfos().List()
	totals, rejections, status := s.framework().Totals(s.ctx, state, pod)
	if !status.IsSuccess() { // a node could not be asked about, or scored
		for _, node := range nodes {
			s.got[verdictOf(s.about, node.Node().Name)] = describe(s.framework().RunFilterPluginsWithNominatedPods(s.ctx, state, pod, node))
		}
		return
	}
	for _, node := range nodes {
		name := node.Node().Name
		total, feasible := totals[name]
		if !feasible {
			s.got[verdictOf(s.about, name)] = describe(rejections.Get(name))
			continue
		}
		s.got[verdictOf(s.about, name)] = describe(nil)
		s.got[totalOf(s.about, name)] = fmt.Sprint(total)
	}
}

// AttemptFailed implements scheduler.Observer.
func (s *ourScheduler) AttemptFailed(failure scheduler.Failure) { s.failure = &failure }

// byChance reports whether the outcome of a cycle depends on which node was asked about first: if the first that takes the pod
// will do, it may come before or after one that fails. From then on the two clusters differ.
func (s *ourScheduler) byChance() bool {
	return s.their.failed && !s.their.framework().HasScorePlugins()
}

// tryAll runs cycles until no pod is ready. It returns false where the history must end: if the two sides don't agree, or if
// chance decided what they did.
func (s *ourScheduler) tryAll(failBinding bool) bool {
	s.Queue().FlushBackoff()
	for range 12 {
		s.pod = nil
		if !s.TryScheduleOne(s.ctx) || s.pod == nil {
			return true
		}
		s.settle(failBinding)
		failBinding = false
		if s.byChance() {
			delete(s.want, outcome(s.about))
			delete(s.got, outcome(s.about))
			return false
		}
		if difference(s.want, s.got) != "" {
			return false
		}
	}
	return true
}

// settle says what came of a cycle, and has kube-scheduler do the same to the pod.
func (s *ourScheduler) settle(failBinding bool) {
	pod, key := s.pod, outcome(s.about)
	if s.failure != nil && s.failure.Node == "" {
		switch d := s.failure.Diagnosis; {
		case d != nil:
			s.got[key] = diagnosis(d.NodeToStatus, s.framework(), d.UnschedulablePlugins, d.PendingPlugins, d.PreFilterMsg)
		case errors.Is(s.failure.Status.AsError(), framework.ErrNoNodesAvailable):
			s.got[key] = "no nodes"
		default:
			s.got[key] = "an error"
		}
		s.withdrawNomination(pod)
		s.giveBack()
		return
	}
	s.got[key] = "a node"
	if s.their.best == "" {
		return // which shows in the outcomes
	}
	node := ""
	if assumed, err := s.Cache().Pod(pod); err == nil {
		node = assumed.Spec.NodeName
	} else if s.failure != nil {
		node = s.failure.Node
	}
	if !s.asGood(node) {
		s.got[key] = fmt.Sprintf("node %s", node)
		s.want[key] = fmt.Sprintf("node %s with %v", s.their.best, s.their.totals)
		return
	}
	reserved := subject{kind: kind{what: "history: reservation"}, pod: s.about}
	s.want[reserved] = s.their.place(s.ctx, pod, node).Code().String()
	s.got[reserved] = fwk.Success.String()
	if s.failure != nil {
		s.got[reserved] = s.failure.Status.Code().String()
		s.withdrawNomination(pod)
		return
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if s.wantsDevices(pod) {
		s.reserved[pod.UID] = reservedPod{assumed, s.their.state, s.tasks[len(s.tasks)-1]}
		s.compareAllocations(pod)
		if failBinding {
			s.bind(pod.UID, false)
		}
		return
	}
	if failBinding && len(pod.Spec.Volumes) == 0 {
		s.tasks[len(s.tasks)-1]()
		s.their.release(s.ctx, assumed, s.their.state)
		s.withdrawNomination(pod)
	}
}

// asGood reports whether a node is as good as the one that kube-scheduler took, for it chooses at random between equals.
func (s *ourScheduler) asGood(node string) bool {
	switch {
	case len(s.their.totals) > 0:
		return s.their.totals[node] == s.their.totals[s.their.best]
	case s.their.framework().HasScorePlugins():
		return node == s.their.best
	default: // the search ends with the first node that takes the pod
		return s.want[verdictOf(s.about, node)] == describe(nil)
	}
}

// withdrawNomination does what the API server would make of an attempt that failed and withdrew the nomination.
func (s *ourScheduler) withdrawNomination(pod *v1.Pod) {
	node := pod.Status.NominatedNodeName
	still := func(other fwk.PodInfo) bool { return other.GetPod().UID == pod.UID }
	if node == "" || slices.ContainsFunc(s.framework().NominatedPodsForNode(node), still) {
		return
	}
	changed := pod.DeepCopy()
	changed.Status.NominatedNodeName = ""
	s.change(changed, false)
	s.their.framework().DeleteNominatedPodIfExists(changed)
}

// change changes an object for both schedulers.
func (s *ourScheduler) change(object apiruntime.Object, removed bool) {
	for _, world := range []world{s.their.world, s.world} {
		_ = world.change(object, removed)
	}
}

// confirm shows all assumed pods bound.
func (s *ourScheduler) confirm() {
	informer, _ := s.world.of(&v1.Pod{})
	for _, object := range informer.GetIndexer().List() {
		pod := object.(*v1.Pod)
		assumed, err := s.Cache().Pod(pod)
		if err == nil && pod.Spec.NodeName == "" && s.bind(pod.UID, true) {
			bound := pod.DeepCopy()
			bound.Spec.NodeName, bound.Status.NominatedNodeName = assumed.Spec.NodeName, ""
			s.change(bound, false)
		}
	}
}

// apply makes the change of a step.
func (s *ourScheduler) apply(step step) {
	time.Sleep(step.Later)
	pod, isPod := step.Object.(*v1.Pod)
	node, isNode := step.Object.(*v1.Node)
	if step.Bound || isPod && step.Removed || isNode && step.Removed && s.server != nil {
		s.confirm()
	}
	if isPod {
		s.change(s.feasible(pod), step.Removed)
		return
	}
	if isNode && step.Removed && s.claimsOn(node.Name) {
		return
	}
	if _, ok := step.Object.(*resourceapi.ResourceClaim); ok {
		s.changeClaim(step)
		return
	}
	s.change(step.Object, step.Removed)
}

// feasible returns a pod as it can be: pods don't move, and those on unknown nodes have no volumes; see claimsOn.
func (s *ourScheduler) feasible(pod *v1.Pod) *v1.Pod {
	changed := pod.DeepCopy()
	if old, found := s.world.get(pod).(*v1.Pod); found {
		changed.UID, changed.Spec.NodeName = old.UID, old.Spec.NodeName
	}
	name := changed.Spec.NodeName
	if name != "" && s.world.get(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}) == nil {
		changed.Spec.Volumes = nil
	}
	return changed
}

// claimsOn reports whether a pod on a node has volumes. Whether the claims of pods on unknown nodes are in use depends, in
// kube-scheduler, on what else has changed since; see docs/differences.md.
func (s *ourScheduler) claimsOn(node string) bool {
	informer, _ := s.world.of(&v1.Pod{})
	for _, object := range informer.GetIndexer().List() {
		pod := object.(*v1.Pod)
		if assumed, err := s.Cache().Pod(pod); err == nil && assumed.Spec.NodeName == node && len(pod.Spec.Volumes) > 0 {
			return true
		}
	}
	return false
}

// everything returns the objects of the beginning.
func (h history) everything() []apiruntime.Object {
	all := append([]apiruntime.Object{}, h.objects...)
	for _, node := range h.nodes {
		all = append(all, node)
	}
	for _, pod := range h.pods {
		all = append(all, pod)
	}
	return all
}

// run plays a history to its end, or to the first difference.
func (h history) run(ctx context.Context) (diff string, done counts, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	their, err := newTheirScheduler(ctx, h)
	if err != nil {
		return "", nil, fmt.Errorf("building kube-scheduler: %w", err)
	}
	our, err := newOurScheduler(ctx, h, their)
	if err != nil {
		return "", nil, fmt.Errorf("building Rouse: %w", err)
	}
	for _, step := range h.steps {
		our.apply(step)
		if !our.tryAll(step.FailBinding) {
			break
		}
	}
	return difference(our.want, our.got), our.want.count(), nil
}

// compareHistories compares schedulers over histories of a cluster. One framework of each project lives through all of a
// history, so that what it keeps from earlier cycles must still be right. The time is that of a bubble, for both.
func (m *machine) compareHistories(r round) {
	// kube-scheduler listens to a signal. The first who does starts goroutines that never end, which must not be in a bubble.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGUSR2)
	signal.Stop(ignored)
	synctest.Test(r.T, func(t *testing.T) { m.compareHistory(round{t, t.Context(), r.seed}) })
}

func (m *machine) compareHistory(t round) {
	g := newGenerator(t.seed)
	start := trial{cluster: g.easyCluster(), profile: all(defaultPlugins())}
	devices := g.oneIn(2)
	switch {
	case devices:
		start.cluster = g.withDevices(start.cluster)
		if g.oneIn(2) {
			g.scoreDevices(start.profile)
		}
	case g.oneIn(2):
		start.profile = g.profile(m.available)
	}
	h := g.history(start, devices)
	diff, done, err := h.run(t.Context())
	if err != nil {
		t.mismatch("%v", err)
	}
	if diff != "" {
		h = shrink(h, smallerHistories, func(h history) bool { diff, _, err := h.run(t.Context()); return err == nil && diff != "" })
		diff, _, _ = h.run(t.Context())
		t.mismatch("cycles with plugins %v (-kube-scheduler +rouse):\n%s\n%s", pluginNames(h.profile), diff, h.text())
	}
	m.add(done)
}

// smallerHistories yields histories with fewer steps, and smaller beginnings.
func smallerHistories(h history) iter.Seq[history] {
	return func(yield func(history) bool) {
		_ = each(without(h.steps), yield, func(l []step) history { s := h; s.steps = l; return s }) &&
			each(smallerTrials(h.trial), yield, func(t trial) history { s := h; s.trial = t; return s }) &&
			each(simplerSteps(h.steps), yield, func(l []step) history { s := h; s.steps = l; return s })
	}
}

func simplerSteps(steps []step) iter.Seq[[]step] {
	return func(yield func([]step) bool) {
		for i := range steps {
			for object := range simpler(steps[i].Object) {
				changed := append([]step{}, steps...)
				changed[i].Object = object
				if !yield(changed) {
					return
				}
			}
		}
	}
}

func (h history) text() string {
	var text strings.Builder
	text.WriteString(caseText(h.trial))
	for _, step := range h.steps {
		object, _ := yaml.Marshal(step.Object)
		fmt.Fprintf(&text, "--- %s\n%s", step, object)
	}
	return text.String()
}
