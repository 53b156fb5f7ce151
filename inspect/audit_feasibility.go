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

// evaluator finds out which nodes are feasible for which pods: it runs PreFilter, Filter and a dry run of preemption as an
// attempt would. Hints are not called. Pods that plugins cannot tell apart share a result, and a plugin whose verdict
// depends on nothing but the pod and the node is not called again while the node does not change.
type evaluator struct {
	ctx     context.Context
	cluster *simulate.Cluster
	classes map[string]*podClass

	// round counts the changes, and otherChanges those of anything but pods and nodes, on which any verdict may depend.
	round, otherChanges int
	// snapshot is that of the cluster as of its generation, and names are the nodes in it. The names are another slice
	// when a node has come or gone.
	snapshot   *cache.Snapshot
	generation int64
	names      []string
	// warnings say what could not be evaluated, each once; failures are those of plugins.
	warnings sets.Set[string]
	failures *failures
}

// podClass stands for pods that plugins cannot tell apart.
type podClass struct {
	profile *runtime.Framework
	// hooks run preemption dry; nil if the profile has no plugin with any.
	hooks  preemption.Hooks
	pod    *v1.Pod
	latest *feasibility
	// verdicts and dryRuns, one for each node, are those that latest is made of; round and otherChanges are of when the pods
	// were evaluated.
	verdicts            []filterVerdict
	dryRuns             []dryRun
	round, otherChanges int
}

// filterVerdict is the verdict of PreFilter and Filter on a node.
type filterVerdict struct {
	// plugin is the one that rejected the pods; empty if the node is feasible.
	plugin string
	// resolvable reports whether preemption may help.
	resolvable bool
	// reusable reports whether the verdict holds as long as the generation of the node is the same.
	reusable   bool
	generation int64
}

// feasibility says which plugin rejects the pods of a class on which node. It is immutable, and replaced when the result
// changes.
type feasibility struct {
	// names are the nodes, in the order of the snapshot; results share them while no node is added or deleted.
	names []string
	// rejectedBy is the first plugin that rejects the pod on each node, and empty where it fits.
	rejectedBy    []string
	feasibleNodes int
	// preemption is where preemption helps; it is only looked for while no node is feasible.
	preemption preemptionResult
}

// unschedulable reports whether an attempt would neither bind nor nominate a pod.
func (j *feasibility) unschedulable() bool { return j.feasibleNodes == 0 && j.preemption.node == "" }

// equal compares results on the same nodes.
func (j *feasibility) equal(other *feasibility) bool {
	return sameNames(j.names, other.names) && slices.Equal(j.rejectedBy, other.rejectedBy) && j.preemption.equal(other.preemption)
}

func newEvaluator(ctx context.Context, cluster *simulate.Cluster) *evaluator {
	return &evaluator{ctx: ctx, cluster: cluster, classes: map[string]*podClass{}, warnings: sets.New[string](), failures: newFailures()}
}

// noteChange notes that something has changed; other reports whether it was neither a pod nor a node.
func (t *evaluator) noteChange(other bool) {
	t.round++
	if other {
		t.otherChanges++
	}
}

// refresh brings the snapshot up to date. The round is another one if that makes a difference.
func (t *evaluator) refresh() error {
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

func (t *evaluator) refreshNames() {
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

func (t *evaluator) nodes() []fwk.NodeInfo {
	nodes, _ := t.snapshot.List() // never fails
	return nodes
}

// classOf returns the class of a pod; nil if no profile is responsible for it.
func (t *evaluator) classOf(pod *v1.Pod) *podClass {
	profile := t.cluster.Scheduler().Profiles()[pod.Spec.SchedulerName]
	if profile == nil {
		return nil
	}
	key := classKey(pod)
	found := t.classes[key]
	if found == nil {
		found = &podClass{profile: profile, hooks: preemptionHooks(profile), pod: pod}
		t.classes[key] = found
	}
	return found
}

// classKey is everything about a pod that verdicts may depend on. The UID counts where other objects are named after the pod.
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

// prune drops the classes that are not used.
func (t *evaluator) prune(used map[*podClass]bool) {
	for key, class := range t.classes {
		if !used[class] {
			delete(t.classes, key)
		}
	}
}

// evaluate returns which plugin rejects the pods of a class on which node at this moment.
func (t *evaluator) evaluate(c *podClass) (*feasibility, error) {
	if err := t.refresh(); err != nil {
		return nil, err
	}
	if c.latest != nil && c.round == t.round {
		return c.latest, nil
	}
	before := c.latest
	if before != nil && (c.otherChanges != t.otherChanges || !sameNames(before.names, t.names)) {
		c.verdicts, c.dryRuns = nil, nil
	}
	status := c.profile.Contain(c.pod, func() *fwk.Status {
		q := t.newEvaluation(c)
		c.verdicts = q.filterNodes(c.verdicts)
		c.latest = feasibilityOf(t.names, c.verdicts)
		if c.latest.feasibleNodes == 0 {
			c.latest.preemption = q.dryRunPreemption(before)
		}
		return nil
	})
	if !status.IsSuccess() {
		t.rejectEverywhere(c, status)
	}
	if before != nil && before.equal(c.latest) {
		c.latest = before
	}
	c.round, c.otherChanges = t.round, t.otherChanges
	return c.latest, nil
}

// rejectEverywhere makes the plugin that ended the goroutine of an evaluation the one that rejects the pods on all nodes.
func (t *evaluator) rejectEverywhere(c *podClass, status *fwk.Status) {
	t.noteFailedVerdict(c.pod, status)
	plugin := cmp.Or(status.Plugin(), "PostFilter") // the framework knows of all calls but those of preemption
	c.verdicts, c.dryRuns = make([]filterVerdict, len(t.names)), nil
	for i := range c.verdicts {
		c.verdicts[i] = filterVerdict{plugin: plugin}
	}
	c.latest = feasibilityOf(t.names, c.verdicts)
}

func feasibilityOf(names []string, verdicts []filterVerdict) *feasibility {
	j := &feasibility{names: names, rejectedBy: make([]string, len(verdicts))}
	for i := range verdicts {
		j.rejectedBy[i] = verdicts[i].plugin
		if verdicts[i].plugin == "" {
			j.feasibleNodes++
		}
	}
	return j
}

// sameNames reports whether two results share their list of nodes.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// evaluation is one evaluation of a class, after PreFilter.
type evaluation struct {
	*evaluator
	class *podClass
	state *framework.CycleState
	// everywhere is the verdict on all nodes if PreFilter rejected the pods.
	everywhere filterVerdict
	// allowed are the nodes that PreFilter returned, and narrowedBy is a plugin that left nodes out.
	allowed    *fwk.PreFilterResult
	narrowedBy string
}

func (t *evaluator) newEvaluation(c *podClass) *evaluation {
	q := &evaluation{evaluator: t, class: c, state: framework.NewCycleState()}
	allowed, status, narrowing := c.profile.RunPreFilterPlugins(t.ctx, q.state, c.pod)
	if !status.IsSuccess() {
		q.everywhere = filterVerdict{plugin: q.rejectingPlugin(status), resolvable: status.Code() == fwk.Unschedulable}
		return q
	}
	q.allowed = allowed
	if len(narrowing) > 0 {
		q.narrowedBy = sets.List(narrowing)[0]
	}
	return q
}

// rejectingPlugin returns the plugin of a status, and remembers failures.
func (q *evaluation) rejectingPlugin(status *fwk.Status) string {
	if !status.IsRejected() {
		q.noteFailedVerdict(q.class.pod, status)
	}
	if status.Plugin() == "" {
		return "PreFilter" // it was a combination of plugins
	}
	return status.Plugin()
}

// filterNodes returns the verdicts on all nodes. It keeps the reusable ones of before, which is nil or has one for each node.
func (q *evaluation) filterNodes(before []filterVerdict) []filterVerdict {
	nodes := q.nodes()
	verdicts := make([]filterVerdict, len(nodes))
	for i, node := range nodes {
		if before != nil && before[i].reusable && before[i].generation == node.GetGeneration() && q.everywhere.plugin == "" {
			verdicts[i] = before[i]
			continue
		}
		verdicts[i] = q.filterNode(node)
	}
	return verdicts
}

// filterNode returns the verdict on one node.
func (q *evaluation) filterNode(node fwk.NodeInfo) filterVerdict {
	name := node.Node().Name
	if q.everywhere.plugin != "" {
		return q.everywhere
	}
	if !q.allowed.AllNodes() && !q.allowed.NodeNames.Has(name) {
		return filterVerdict{plugin: q.narrowedBy}
	}
	status := q.class.profile.RunFilterPluginsWithNominatedPods(q.ctx, q.state, q.class.pod, node)
	if status.IsSuccess() {
		return filterVerdict{}
	}
	plugin := q.rejectingPlugin(status)
	return filterVerdict{
		plugin: plugin, resolvable: status.Code() == fwk.Unschedulable,
		reusable: q.dependsOnNodeOnly(plugin, node), generation: node.GetGeneration(),
	}
}

// dependsOnNodeOnly reports whether the verdict of a plugin on a node can only change with the node.
func (q *evaluation) dependsOnNodeOnly(plugin string, node fwk.NodeInfo) bool {
	return readsNodeOnly(q.class.profile.Plugin(plugin)) && len(q.class.profile.NominatedPodsForNode(node.Node().Name)) == 0
}

// readsNodeOnly reports whether the verdict of a plugin on a node can only change with the node, with an object that is
// neither a pod nor a node, or with a nomination.
func readsNodeOnly(plugin fwk.Plugin) bool {
	switch plugin.(type) {
	case *nodeaffinity.Plugin, *nodename.Plugin, *nodeports.Plugin, *noderesourcesfit.Plugin, *nodeunschedulable.Plugin,
		*tainttoleration.Plugin:
		return true
	}
	return false
}

// bestNode returns the feasible node with the highest score, the first of several; empty if no node is feasible.
func (t *evaluator) bestNode(c *podClass) (string, error) {
	result, err := t.evaluate(c)
	if err != nil || result.feasibleNodes == 0 {
		return "", err
	}
	var feasible []fwk.NodeInfo
	for i, node := range t.nodes() {
		if result.rejectedBy[i] == "" {
			feasible = append(feasible, node)
		}
	}
	best := feasible[0].Node().Name
	var scores []fwk.NodePluginScores
	status := c.profile.Contain(c.pod, func() (status *fwk.Status) {
		q := t.newEvaluation(c)
		if status = c.profile.RunPreScorePlugins(t.ctx, q.state, c.pod, feasible); status.IsSuccess() {
			scores, status = c.profile.RunScorePlugins(t.ctx, q.state, c.pod, feasible)
		}
		return status
	})
	if !status.IsSuccess() {
		return best, nil
	}
	highest := slices.MaxFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) })
	return highest.Name, nil
}
