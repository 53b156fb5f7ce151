// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// truth knows which nodes would take which pods, by running PreFilter, Filter and the dry runs of preemption as an
// attempt would. Hints have no part in it. Pods that plugins cannot tell apart share an answer, and a plugin that judges a
// node by nothing but the pod and the node itself is not asked again while the node stays as it is.
type truth struct {
	ctx     context.Context
	cluster *simulate.Cluster
	classes map[string]*class

	// round counts the changes, and upheavals those of anything but pods and nodes, on which any verdict may hang.
	round, upheavals int
	// snapshot is that of the cluster as of its generation, and names are the nodes in it. The names are another slice
	// when a node has come or gone.
	snapshot   *cache.Snapshot
	generation int64
	names      []string
	// faults say what could not be asked, each once; failures are those of plugins.
	faults   sets.Set[string]
	failures *failures
}

// class is pods that plugins cannot tell apart.
type class struct {
	profile *runtime.Framework
	// hooks decide about preemption; nil if the profile has none that can be asked.
	hooks  preemption.Hooks
	pod    *v1.Pod
	latest *judgement
	// verdicts and trials, one for each node, are those that latest is made of; round and upheavals are of when the pods
	// were judged.
	verdicts         []verdict
	trials           []trial
	round, upheavals int
}

// verdict is who keeps pods off a node.
type verdict struct {
	// plugin is empty if the node takes the pods.
	plugin string
	// resolvable tells that it may help to evict other pods.
	resolvable bool
	// lasts tells that the verdict stands while the generation of the node is the same.
	lasts      bool
	generation int64
}

// judgement says who keeps the pods of a class off which node. It does not change, and is replaced when another answer
// is found.
type judgement struct {
	// names are the nodes, in the order of the snapshot; judgements share them while no node comes or goes.
	names []string
	// rejectedBy is the first plugin that rejects the pod on each node, and empty where it fits.
	rejectedBy []string
	fits       int
	// room is where preemption helps. Nobody looks for that while the pods fit.
	room room
}

// hopeless tells that an attempt would come to nothing.
func (j *judgement) hopeless() bool { return j.fits == 0 && j.room.node == "" }

// equal compares judgements on the same nodes.
func (j *judgement) equal(other *judgement) bool {
	return sameNames(j.names, other.names) && slices.Equal(j.rejectedBy, other.rejectedBy) && j.room.equal(other.room)
}

func newTruth(ctx context.Context, cluster *simulate.Cluster) *truth {
	return &truth{ctx: ctx, cluster: cluster, classes: map[string]*class{}, faults: sets.New[string](), failures: newFailures()}
}

// changes notes that something has changed; everything tells that it was neither a pod nor a node.
func (t *truth) changes(everything bool) {
	t.round++
	if everything {
		t.upheavals++
	}
}

// refresh brings the snapshot up to date. The round is another one if that makes a difference.
func (t *truth) refresh() error {
	snapshot, err := t.cluster.Snapshot()
	if err != nil {
		return err
	}
	if t.snapshot == nil || snapshot.Generation() != t.generation {
		t.round++
		t.snapshot, t.generation = snapshot, snapshot.Generation()
		t.refreshNames()
	}
	return nil
}

func (t *truth) refreshNames() {
	nodes := t.nodes()
	same := func(node fwk.NodeInfo, name string) bool { return node.Node().Name == name }
	if slices.EqualFunc(nodes, t.names, same) {
		return
	}
	t.names = make([]string, len(nodes))
	for i, node := range nodes {
		t.names[i] = node.Node().Name
	}
}

func (t *truth) nodes() []fwk.NodeInfo {
	nodes, _ := t.snapshot.List() // never fails
	return nodes
}

// classOf returns the class of a pod; nil if no profile is responsible for it.
func (t *truth) classOf(pod *v1.Pod) *class {
	profile := t.cluster.Scheduler().Profiles()[pod.Spec.SchedulerName]
	if profile == nil {
		return nil
	}
	key := classKey(pod)
	found := t.classes[key]
	if found == nil {
		found = &class{profile: profile, hooks: hooksOf(profile), pod: pod}
		t.classes[key] = found
	}
	return found
}

// classKey is everything about a pod that plugins may go by. The name counts where other objects are named after the pod.
func classKey(pod *v1.Pod) string {
	key := struct {
		Namespace   string
		UID         types.UID
		Labels      map[string]string
		Annotations map[string]string
		Owners      []metav1.OwnerReference
		Spec        *v1.PodSpec
		Nominated   string
	}{
		Namespace: pod.Namespace, Labels: pod.Labels, Annotations: pod.Annotations, Owners: pod.OwnerReferences,
		Spec: &pod.Spec, Nominated: pod.Status.NominatedNodeName,
	}
	ephemeral := func(volume v1.Volume) bool { return volume.Ephemeral != nil }
	if slices.ContainsFunc(pod.Spec.Volumes, ephemeral) || len(pod.Spec.ResourceClaims) > 0 {
		key.UID = pod.UID
	}
	text, err := json.Marshal(key)
	if err != nil { // it came out of JSON
		return string(pod.UID)
	}
	return string(text)
}

// forget drops the classes that are not among the given ones.
func (t *truth) forget(except map[*class]bool) {
	for key, class := range t.classes {
		if !except[class] {
			delete(t.classes, key)
		}
	}
}

// judge returns who keeps the pods of a class off which node at this moment.
func (t *truth) judge(c *class) (*judgement, error) {
	if err := t.refresh(); err != nil {
		return nil, err
	}
	if c.latest != nil && c.round == t.round {
		return c.latest, nil
	}
	before := c.latest
	if before != nil && (c.upheavals != t.upheavals || !sameNames(before.names, t.names)) {
		c.verdicts, c.trials = nil, nil
	}
	q := t.ask(c)
	c.verdicts = q.all(c.verdicts)
	c.latest = judgementOf(t.names, c.verdicts)
	if c.latest.fits == 0 {
		c.latest.room = q.preempt(before)
	}
	if before != nil && before.equal(c.latest) {
		c.latest = before
	}
	c.round, c.upheavals = t.round, t.upheavals
	return c.latest, nil
}

func judgementOf(names []string, verdicts []verdict) *judgement {
	j := &judgement{names: names, rejectedBy: make([]string, len(verdicts))}
	for i := range verdicts {
		j.rejectedBy[i] = verdicts[i].plugin
		if verdicts[i].plugin == "" {
			j.fits++
		}
	}
	return j
}

// sameNames tells whether two judgements share their list of nodes.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// question is the state of asking the plugins about a class.
type question struct {
	*truth
	class *class
	state *framework.CycleState
	// everywhere is the verdict on all nodes if PreFilter rejected the pods.
	everywhere verdict
	// left are the nodes that PreFilter left, and narrowing is a plugin that left others out.
	left      *fwk.PreFilterResult
	narrowing string
}

func (t *truth) ask(c *class) *question {
	q := &question{truth: t, class: c, state: framework.NewCycleState()}
	left, status, narrowing := c.profile.RunPreFilterPlugins(t.ctx, q.state, c.pod)
	if !status.IsSuccess() {
		q.everywhere = verdict{plugin: q.rejecter(status), resolvable: status.Code() == fwk.Unschedulable}
		return q
	}
	q.left = left
	if len(narrowing) > 0 {
		q.narrowing = sets.List(narrowing)[0]
	}
	return q
}

// rejecter returns the plugin of a status, and remembers failures.
func (q *question) rejecter(status *fwk.Status) string {
	if !status.IsRejected() {
		q.noteFailedVerdict(q.class.pod, status)
	}
	if status.Plugin() == "" {
		return "PreFilter" // it was a combination of plugins
	}
	return status.Plugin()
}

// all returns the verdicts on all nodes. Those of before are kept that last; there are none, or one for each node.
func (q *question) all(before []verdict) []verdict {
	nodes := q.nodes()
	verdicts := make([]verdict, len(nodes))
	for i, node := range nodes {
		if before != nil && before[i].lasts && before[i].generation == node.GetGeneration() && q.everywhere.plugin == "" {
			verdicts[i] = before[i]
			continue
		}
		verdicts[i] = q.about(node)
	}
	return verdicts
}

// about asks about one node.
func (q *question) about(node fwk.NodeInfo) verdict {
	name := node.Node().Name
	if q.everywhere.plugin != "" {
		return q.everywhere
	}
	if !q.left.AllNodes() && !q.left.NodeNames.Has(name) {
		return verdict{plugin: q.narrowing}
	}
	status := q.class.profile.RunFilterPluginsWithNominatedPods(q.ctx, q.state, q.class.pod, node)
	if status.IsSuccess() {
		return verdict{}
	}
	plugin := q.rejecter(status)
	return verdict{
		plugin: plugin, resolvable: status.Code() == fwk.Unschedulable,
		lasts: q.judgesForLong(plugin, node), generation: node.GetGeneration(),
	}
}

// judgesForLong tells whether what a plugin says about a node can only change with the node.
func (q *question) judgesForLong(plugin string, node fwk.NodeInfo) bool {
	return judgesNodesAlone(q.class.profile.Plugin(plugin)) && len(q.class.profile.NominatedPodsForNode(node.Node().Name)) == 0
}

// judgesNodesAlone tells whether the verdict of a plugin on a node can only change with the node, with an object that is
// neither a pod nor a node, or with a nomination.
func judgesNodesAlone(plugin fwk.Plugin) bool {
	switch plugin.(type) {
	case *nodeaffinity.Plugin, *nodename.Plugin, *nodeports.Plugin, *noderesourcesfit.Plugin, *nodeunschedulable.Plugin,
		*tainttoleration.Plugin:
		return true
	}
	return false
}

// bestNode returns where a pod of the class would go, by the scores; empty if it fits nowhere. Of several nodes that are
// as good it is the first.
func (t *truth) bestNode(c *class) (string, error) {
	judgement, err := t.judge(c)
	if err != nil || judgement.fits == 0 {
		return "", err
	}
	q := t.ask(c)
	var feasible []fwk.NodeInfo
	for i, node := range t.nodes() {
		if judgement.rejectedBy[i] == "" {
			feasible = append(feasible, node)
		}
	}
	best := feasible[0].Node().Name
	if status := c.profile.RunPreScorePlugins(t.ctx, q.state, c.pod, feasible); !status.IsSuccess() {
		return best, nil
	}
	scores, status := c.profile.RunScorePlugins(t.ctx, q.state, c.pod, feasible)
	if !status.IsSuccess() {
		return best, nil
	}
	highest := slices.MaxFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) })
	return highest.Name, nil
}
