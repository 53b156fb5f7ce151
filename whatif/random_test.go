// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/informer"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/whatif"
)

func number(t *testing.T, name string, byDefault int) int {
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

func now() time.Time { return time.Unix(10, 0) }

// TestRandomForks asks random questions about random forks, and compares the answers with those of a scheduler that is built of the
// objects of the fork alone, and asks every plugin about every node. N is how many questions are asked, SEED says which.
func TestRandomForks(t *testing.T) {
	seed, questions := number(t, "SEED", 1), number(t, "N", 600)
	const atATime = 2
	cluster := newCluster(t, whatif.Options{Clock: testclock.NewFakeClock(now()), Concurrency: atATime})
	var group sync.WaitGroup
	asked := make([]int, 2*atATime)
	for worker := range asked {
		group.Go(func() {
			c := &comparison{t: t, root: cluster.Fork(), randomObjects: randomObjects{Rand: rand.New(rand.NewPCG(uint64(seed), uint64(worker)))}}
			for c.asked < questions/len(asked) && !t.Failed() {
				c.round()
			}
			asked[worker] = c.asked
		})
	}
	group.Wait()
	t.Logf("asked %v questions", asked)
}

// comparison is a tree of forks, and questions to them.
type comparison struct {
	randomObjects
	t     *testing.T
	root  *whatif.Cluster
	asked int
}

// round makes a path of nested forks, each with changes of its own, and asks about them in any order.
func (c *comparison) round() {
	if c.often(1) { // begin again
		c.root = c.root.Fork()
		for _, o := range c.root.Objects() {
			c.check(c.root.Remove(o))
		}
	}
	for range 10 {
		c.check(c.change(c.root))
	}
	before := dump(c.t, c.root)
	forks := []*whatif.Cluster{c.root}
	for range 1 + c.IntN(5) {
		fork := forks[c.IntN(len(forks))].Fork()
		for range c.IntN(8) {
			c.check(c.change(fork))
		}
		forks = append(forks, fork)
	}
	for range 4 {
		c.ask(forks[c.IntN(len(forks))])
	}
	if after := dump(c.t, c.root); after != before {
		c.t.Errorf("forks changed what they were made of (-before +after):\n%s", gocmp.Diff(before, after))
	}
	if c.often(3) {
		c.check(forks[1].Commit())
	}
}

func (c *comparison) check(err error) {
	if err != nil {
		c.t.Error(err)
	}
}

// ask asks a few questions about one fork.
func (c *comparison) ask(fork *whatif.Cluster) {
	known := c.fresh(fork)
	defer known.close()
	if known.failed != nil {
		c.check(known.failed)
		return
	}
	if c.often(3) {
		c.askDrain(fork)
	}
	for range 3 {
		pod := c.pod()
		if c.often(2) {
			if there := c.anyPod(fork); there != nil && there.Spec.NodeName == "" {
				pod = there
			}
		}
		c.askAbout(fork, known, pod)
	}
}

// askDrain drains a node, and compares where its pods go with where schedulers put them of which each has seen nothing but the
// objects that are left, with the pods that went before.
func (c *comparison) askDrain(fork *whatif.Cluster) {
	var nodes []*v1.Node
	for _, o := range fork.Objects() {
		if node, isNode := o.(*v1.Node); isNode {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) == 0 {
		return
	}
	node, drained := nodes[c.IntN(len(nodes))].DeepCopy(), fork.Fork()
	placements, err := drained.Drain(context.Background(), node.Name)
	if c.check(err); err != nil {
		return
	}
	c.asked++
	left := fork.Fork()
	node.Spec.Unschedulable = true
	c.check(left.Update(node))
	var moved []*v1.Pod
	for _, o := range fork.Objects() {
		if pod, isPod := o.(*v1.Pod); isPod && pod.Spec.NodeName == node.Name && pod.Status.Phase != v1.PodSucceeded && pod.DeletionTimestamp == nil {
			moved = append(moved, pod)
			c.check(left.Remove(pod))
		}
	}
	for _, o := range left.Objects() {
		if claim, isClaim := o.(*resourceapi.ResourceClaim); isClaim {
			c.check(release(left, claim.DeepCopy(), moved))
		}
	}
	if len(moved) != len(placements) {
		c.t.Errorf("draining %s moved %d pods, want %d", node.Name, len(placements), len(moved))
		return
	}
	for _, placement := range placements {
		pod := fork.Get(placement.Pod).(*v1.Pod).DeepCopy()
		pod.Spec.NodeName, pod.Status = "", v1.PodStatus{Phase: v1.PodPending, ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
		known := c.fresh(left)
		if c.check(known.failed); known.failed != nil {
			return
		}
		want := known.answer(pod)
		known.close()
		if placement.Node != want.node && !failedToBind(placement) {
			c.t.Errorf("draining %s: pod %s goes to %q (%v), want %q", node.Name, write(pod), placement.Node, placement.Reason, want.node)
		}
		if _, err := left.Place(context.Background(), pod); err != nil {
			c.t.Error(err)
		}
	}
	versions := regexp.MustCompile(`"resourceVersion":"[0-9]+"`) // those of writes are given out as they come
	if got, want := versions.ReplaceAllString(dump(c.t, drained), ""), versions.ReplaceAllString(dump(c.t, left), ""); got != want {
		c.t.Errorf("a drained cluster is not what is left (-want +got):\n%s", gocmp.Diff(want, got))
	}
}

// release takes pods from those that a claim is reserved for, and frees its devices if none is left.
func release(of *whatif.Cluster, claim *resourceapi.ResourceClaim, gone []*v1.Pod) error {
	before := len(claim.Status.ReservedFor)
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(r resourceapi.ResourceClaimConsumerReference) bool {
		return slices.ContainsFunc(gone, func(pod *v1.Pod) bool { return pod.UID == r.UID })
	})
	if len(claim.Status.ReservedFor) == before {
		return nil
	}
	if len(claim.Status.ReservedFor) == 0 {
		claim.Status.ReservedFor, claim.Status.Allocation = nil, nil
	}
	return of.Update(claim)
}

// askAbout asks all questions about a pod.
func (c *comparison) askAbout(fork *whatif.Cluster, known *fresh, pod *v1.Pod) {
	ctx := context.Background()
	want := known.answer(pod)
	c.asked++
	fit, err := fork.Fits(ctx, pod)
	if failed := c.sameFailure("Fits", pod, want, err); failed {
		return
	}
	if diff := gocmp.Diff(want.feasible, fit.Nodes); diff != "" {
		c.t.Errorf("pod %s: other nodes take it (-want +got):\n%s", write(pod), diff)
	}
	if want.reason != fmt.Sprint(fit.Reason) {
		c.t.Errorf("pod %s: the reason is %v, want %v", write(pod), fit.Reason, want.reason)
	}
	if diff := gocmp.Diff(want.rejections, rejections(known.names, fit.Reason)); diff != "" && len(want.feasible) == 0 {
		c.t.Errorf("pod %s: other verdicts (-want +got):\n%s", write(pod), diff)
	}
	best, err := fork.Best(ctx, pod)
	if failed := c.sameFailure("Best", pod, want, err); failed {
		return
	}
	if diff := gocmp.Diff(want.scores, best.Scores); diff != "" || best.Node != want.node {
		c.t.Errorf("pod %s: got node %s, want %s; scores (-want +got):\n%s", write(pod), best.Node, want.node, diff)
	}
	preemption, err := fork.Preempt(ctx, pod)
	if c.check(err); err == nil {
		if got := describe(preemption); got != want.preemption {
			c.t.Errorf("pod %s: got preemption %s, want %s; rejections %v", write(pod), got, want.preemption, want.rejections)
		}
	}
	placed, err := fork.Fork().Place(ctx, pod)
	if c.check(err); err == nil && placed[0].Node != want.node && !failedToBind(placed[0]) {
		c.t.Errorf("pod %s is placed on %q (%v), want %q of %v", write(pod), placed[0].Node, placed[0].Reason, want.node, want.scores)
	}
}

// write writes a pod as a manifest has it.
func write(pod *v1.Pod) string {
	data, _ := json.Marshal(pod)
	return string(data)
}

// failedToBind reports whether a pod was rejected after its node had been chosen.
func failedToBind(placed whatif.Placement) bool {
	fit, ok := placed.Reason.(*framework.FitError)
	return ok && fit.NumAllNodes == 1 && fit.Diagnosis.NodeToStatus.Len() == 1
}

func (c *comparison) sameFailure(question string, pod *v1.Pod, want answer, err error) (failed bool) {
	if (err != nil) != (want.failure != "") || err != nil && !strings.Contains(err.Error(), want.failure) {
		c.t.Errorf("%s of pod %s: got error %v, want %q", question, write(pod), err, want.failure)
	}
	return err != nil
}

func describe(p *whatif.Preemption) string {
	if p.Node == "" {
		return fmt.Sprint("none: ", p.Reason)
	}
	var victims []string
	for _, victim := range p.Victims {
		victims = append(victims, victim.Namespace+"/"+victim.Name)
	}
	sort.Strings(victims)
	return fmt.Sprint("on ", p.Node, " without ", victims)
}

// fresh is a scheduler that has seen nothing but the objects of one fork.
type fresh struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	snapshot  *cache.Snapshot
	profile   *runtime.Framework
	names     []string
	deletions deletions
	tasks     []func()
	pods      *informer.Informer
	failed    error
}

// deletions is an API that notes which pods are deleted, and agrees to everything.
type deletions struct {
	mu   sync.Mutex
	pods []string
}

func (d *deletions) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if parts := strings.Split(r.URL.Path, "/"); r.Method == http.MethodDelete {
		d.pods = append(d.pods, parts[4]+"/"+parts[6])
	}
	body := `{"kind":"Pod","apiVersion":"v1"}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (c *comparison) fresh(fork *whatif.Cluster) *fresh {
	f := &fresh{ctx: context.Background(), snapshot: &cache.Snapshot{}}
	config := &restclient.Config{Host: "http://none.invalid", Transport: &f.deletions, QPS: -1}
	config.ContentType = "application/json"
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return &fresh{failed: err}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	byType := map[string]*informer.Informer{}
	for _, typed := range kindsInUse() {
		shared := informer.New(nil)
		byType[fmt.Sprintf("%T", typed)] = shared
		factory.InformerFor(typed, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return shared })
	}
	f.pods = byType["*v1.Pod"]
	for i, o := range fork.Objects() {
		if pod, isPod := o.(*v1.Pod); isPod && pod.Status.Phase == v1.PodSucceeded {
			continue
		}
		copied := o.DeepCopyObject()
		accessor, err := meta.Accessor(copied)
		if err != nil {
			return &fresh{failed: err}
		}
		accessor.SetResourceVersion(strconv.Itoa(i + 1))
		key, _ := clientcache.MetaNamespaceKeyFunc(o)
		byType[fmt.Sprintf("%T", o)].Deliver(key, copied)
	}
	f.scheduler, f.failed = scheduler.New(f.ctx, scheduler.Options{
		Client: client, Informers: factory, Features: scheduler.Features{DisableVerdictCaches: true},
		Execution: runtime.Execution{Clock: testclock.NewFakeClock(now())},
	})
	if f.failed != nil {
		return f
	}
	f.failed = f.scheduler.Cache().UpdateSnapshot(f.snapshot)
	if f.failed == nil {
		var built runtime.Profiles
		handle := f.scheduler.Profiles()[v1.DefaultSchedulerName]
		built, f.failed = runtime.NewProfiles(f.ctx, f.scheduler.Configuration(), plugins.NewInTreeRegistry(), runtime.Options{
			Clients:   runtime.Clients{ClientSet: client, InformerFactory: factory},
			Snapshot:  f.snapshot,
			Nominator: handle,
			Managers:  runtime.Managers{DRA: handle.SharedDRAManager(), CSI: handle.SharedCSIManager(), PodGroup: cache.NoPodGroups{}},
			Execution: runtime.Execution{
				Clock: testclock.NewFakeClock(now()), Exhaustive: true, Go: func(task func()) { f.tasks = append(f.tasks, task) },
			},
		})
		f.profile = built[v1.DefaultSchedulerName]
	}
	nodes, _ := f.snapshot.List()
	for _, node := range nodes {
		f.names = append(f.names, node.Node().Name)
	}
	slices.Sort(f.names)
	return f
}

func kindsInUse() []apiruntime.Object {
	return []apiruntime.Object{
		&v1.Pod{}, &v1.Node{}, &v1.Namespace{}, &v1.Service{}, &v1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{},
		&v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &storagev1.StorageClass{}, &storagev1.CSINode{}, &storagev1.CSIDriver{},
		&storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{}, &policyv1.PodDisruptionBudget{}, &schedulingv1.PriorityClass{},
		&resourceapi.ResourceSlice{}, &resourceapi.ResourceClaim{}, &resourceapi.DeviceClass{}, &resourceapi.DeviceTaintRule{},
	}
}

func (f *fresh) close() {
	if f.scheduler != nil {
		_ = f.scheduler.Close()
		f.scheduler.Queue().Close()
	}
}

// answer is what a scheduler says about a pod.
type answer struct {
	failure    string
	feasible   []string
	reason     string
	rejections map[string]string // by node, of a pod that fits nowhere
	node       string
	scores     []fwk.NodePluginScores
	preemption string
}

// answer asks every plugin about every node.
func (f *fresh) answer(pod *v1.Pod) answer {
	a := answer{reason: "<nil>"}
	if len(f.names) == 0 {
		a.reason = framework.ErrNoNodesAvailable.Error()
		a.preemption = "none: " + a.reason
		return a
	}
	waiting := *pod
	if waiting.Spec.NodeName = ""; pod.Status.Phase == v1.PodSucceeded {
		waiting.Status.Phase = v1.PodPending
	}
	pod = &waiting
	state := framework.NewCycleState()
	fit := &framework.FitError{Pod: pod, NumAllNodes: len(f.names), Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}}
	for _, plugin := range f.profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(f.ctx, pod); !status.IsSuccess() {
			fit.Diagnosis.NodeToStatus.SetAbsentNodesStatus(status.Clone().WithPlugin(plugin.Name()))
			fit.Diagnosis.PreFilterMsg = status.Message()
			a.reason, a.rejections = fit.Error(), rejections(f.names, fit)
			a.preemption = "none: " + a.reason
			return a
		}
	}
	result, status, narrowing := f.profile.RunPreFilterPlugins(f.ctx, state, pod)
	switch {
	case status.IsRejected():
		fit.Diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		fit.Diagnosis.PreFilterMsg = status.Message()
	case !status.IsSuccess():
		a.failure = status.AsError().Error()
		return a
	default:
		if a.failure = f.filter(&a, state, pod, result, narrowing, fit); a.failure != "" {
			return a
		}
	}
	if len(a.feasible) == 0 {
		a.reason = fit.Error()
		a.rejections = rejections(f.names, fit)
		f.preempt(&a, state, pod, fit)
		return a
	}
	f.score(&a, state, pod)
	a.preemption = "on " + a.node + " without []"
	return a
}

func (f *fresh) filter(a *answer, state fwk.CycleState, pod *v1.Pod, result *fwk.PreFilterResult, narrowing sets.Set[string], fit *framework.FitError) (failure string) {
	if !result.AllNodes() {
		fit.Diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", strings.Join(sets.List(narrowing), " "))))
	}
	for _, name := range f.names {
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			continue
		}
		node, _ := f.snapshot.Get(name)
		status := f.profile.RunFilterPluginsWithNominatedPods(f.ctx, state, pod, node)
		switch {
		case status.IsSuccess():
			a.feasible = append(a.feasible, name)
		case status.IsRejected():
			fit.Diagnosis.NodeToStatus.Set(name, status)
		default:
			return status.AsError().Error()
		}
	}
	return ""
}

// rejections writes the verdict on every node.
func rejections(names []string, reason error) map[string]string {
	var fit *framework.FitError
	if !errors.As(reason, &fit) {
		return nil
	}
	statuses := map[string]string{}
	for _, name := range names {
		status := fit.Diagnosis.NodeToStatus.Get(name)
		statuses[name] = fmt.Sprint(status.Code(), " ", status.Plugin(), " ", status.Reasons())
	}
	return statuses
}

func (f *fresh) score(a *answer, state fwk.CycleState, pod *v1.Pod) {
	names := a.feasible
	if nominated := pod.Status.NominatedNodeName; slices.Contains(names, nominated) {
		names = []string{nominated}
	}
	var nodes []fwk.NodeInfo
	for _, name := range names {
		node, _ := f.snapshot.Get(name)
		nodes = append(nodes, node)
	}
	status := f.profile.RunPreScorePlugins(f.ctx, state, pod, nodes)
	if status.IsSuccess() {
		a.scores, status = f.profile.RunScorePlugins(f.ctx, state, pod, nodes)
	}
	if !status.IsSuccess() {
		a.failure = status.AsError().Error()
		return
	}
	slices.SortFunc(a.scores, func(a, b fwk.NodePluginScores) int {
		return cmp.Or(cmp.Compare(b.TotalScore, a.TotalScore), strings.Compare(a.Name, b.Name))
	})
	a.node = a.scores[0].Name
}

// preempt runs the PostFilter plugins, and notes which pods they delete.
func (f *fresh) preempt(a *answer, state fwk.CycleState, pod *v1.Pod, fit *framework.FitError) {
	key, _ := clientcache.MetaNamespaceKeyFunc(pod)
	if _, there, _ := f.pods.Known().GetByKey(key); !there {
		f.pods.Deliver(key, pod)
		defer f.pods.Deliver(key, nil)
	}
	f.deletions.pods = nil
	result, status := f.profile.RunPostFilterPlugins(f.ctx, state, pod, fit.Diagnosis.NodeToStatus)
	for len(f.tasks) > 0 {
		task := f.tasks[0]
		f.tasks = f.tasks[1:]
		task()
	}
	if !status.IsSuccess() || result == nil || result.NominatingInfo == nil || result.NominatedNodeName == "" {
		fit.Diagnosis.PostFilterMsg = status.Message()
		a.preemption = "none: " + fit.Error()
		return
	}
	sort.Strings(f.deletions.pods)
	a.preemption = fmt.Sprint("on ", result.NominatedNodeName, " without ", f.deletions.pods)
}
