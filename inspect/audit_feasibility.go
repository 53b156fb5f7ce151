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
	"github.com/rouse-scheduler/rouse/plugins/preemption"
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
	// snapshot is that of the cluster as of its generation, brought up to date in round refreshed. names are the nodes in it,
	// and positions their indexes; both are replaced when a node has come or gone. order is the list of node indexes when
	// they were made.
	snapshot   *cache.Snapshot
	generation int64
	refreshed  int
	names      []string
	positions  map[string]int
	order      []int
	// changed are the positions of the nodes that changed between two generations of the snapshot.
	changed struct {
		from, to  int64
		positions []int
	}
	plugins pluginNames
	// warnings say what could not be evaluated, each once; failures are those of plugins.
	warnings sets.Set[string]
	failures *failures
}

// podClass stands for pods that plugins cannot tell apart.
type podClass struct {
	profile *runtime.Framework
	// outOfTree are the plugins of the profile that are not of this module. They may have the name of one that is.
	outOfTree sets.Set[string]
	// hooks run preemption dry; nil if the profile has no plugin with any.
	hooks preemption.Hooks
	pod   *v1.Pod
	// latest is nil before the first evaluation.
	latest *feasibility
	// round, otherChanges and generation are of when the pods were evaluated.
	round, otherChanges int
	generation          int64
	preFiltered         *preFiltered

	// verdicts are those that latest is made of, one for each node, and refilter are the nodes whose verdict does not hold
	// until the next evaluation. everywhere is the verdict on all nodes if PreFilter rejected the pods.
	verdicts      []filterVerdict
	feasibleNodes int
	refilter      nodeSet
	everywhere    filterVerdict
	// differ is true if the verdicts may differ from those of latest.
	differ bool
	// dryRuns are the results of preemption, one for each node, and blockedBy what follows from them and the verdicts. rerun
	// are the nodes for which that may be different at the next evaluation. sharedBlockedBy is a copy of blockedBy, nil
	// once it differs.
	dryRuns                    []dryRun
	rerun                      nodeSet
	blockedBy, sharedBlockedBy []pluginNumber

	// waiting are the pods of the class that the auditor follows. All of them were last evaluated as evaluated, unless it
	// is nil.
	waiting   map[*waitingPod]bool
	evaluated *feasibility
}

// filterVerdict is the verdict of PreFilter and Filter on a node. The zero value is that of a feasible node.
type filterVerdict struct {
	// plugin is the one that rejected the pods; noPlugin if the node is feasible.
	plugin pluginNumber
	// resolvable reports whether preemption may help.
	resolvable bool
}

// feasibility says which plugin rejects the pods of a class on which node. It is immutable, and replaced when the result
// changes.
type feasibility struct {
	plugins *pluginNames
	// names are the nodes, in the order of the snapshot; results share them while no node is added or deleted.
	names []string
	// rejectedBy is the first plugin that rejects the pod on each node, and noPlugin where it fits.
	rejectedBy    []pluginNumber
	feasibleNodes int
	// preemption is where preemption helps; it is only looked for while no node is feasible.
	preemption preemptionResult
}

// rejectorOn returns the first plugin that rejects the pod on the node at a position; empty if it fits.
func (j *feasibility) rejectorOn(position int) string { return j.plugins.name(j.rejectedBy[position]) }

// unschedulable reports whether an attempt would neither bind nor nominate a pod.
func (j *feasibility) unschedulable() bool { return j.feasibleNodes == 0 && j.preemption.node == "" }

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
	if t.snapshot != nil && t.refreshed == t.round {
		return nil
	}
	snapshot, err := t.cluster.Snapshot()
	if err != nil {
		return err
	}
	if t.snapshot == nil || snapshot.Generation() != t.generation {
		t.round++
		t.snapshot, t.generation = snapshot, snapshot.Generation()
		t.refreshNames()
	}
	t.refreshed = t.round
	return nil
}

func (t *evaluator) refreshNames() {
	order := t.snapshot.ListOrder()
	if sameSlice(order, t.order) {
		return
	}
	t.order = order
	nodes := t.nodes()
	same := func(node fwk.NodeInfo, name string) bool { return node.Node().Name == name }
	if slices.EqualFunc(nodes, t.names, same) {
		return
	}
	t.names, t.positions = make([]string, len(nodes)), make(map[string]int, len(nodes))
	for i, node := range nodes {
		t.names[i] = node.Node().Name
		t.positions[t.names[i]] = i
	}
}

// changedSince returns the positions of the nodes that changed after a generation of the snapshot.
func (t *evaluator) changedSince(generation int64) []int {
	if t.changed.from != generation || t.changed.to != t.generation {
		t.changed.from, t.changed.to, t.changed.positions = generation, t.generation, t.changed.positions[:0]
		for index := range t.snapshot.ChangedSince(generation) {
			if node := t.snapshot.NodeAt(index); node != nil {
				t.changed.positions = append(t.changed.positions, t.positions[node.Node().Name])
			}
		}
	}
	return t.changed.positions
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
		found = newPodClass(profile, pod)
		t.classes[key] = found
	}
	return found
}

func newPodClass(profile *runtime.Framework, pod *v1.Pod) *podClass {
	return &podClass{profile: profile, outOfTree: sets.New(profile.OutOfTreePlugins()...), hooks: preemptionHooks(profile), pod: pod}
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
	t.forget(c)
	status := t.contain(c, func() *fwk.Status {
		q := t.newEvaluation(c)
		q.filterNodes()
		var preemption preemptionResult
		if c.feasibleNodes == 0 {
			preemption = q.dryRunPreemption()
		}
		t.setLatest(c, preemption)
		return nil
	})
	if !status.IsSuccess() {
		t.rejectEverywhere(c, status)
	}
	c.round, c.otherChanges, c.generation = t.round, t.otherChanges, t.generation
	return c.latest, nil
}

// contain calls do, which calls plugins for the pods of a class. In-tree plugins do not end the goroutine, and have none of
// their own.
func (t *evaluator) contain(c *podClass, do func() *fwk.Status) *fwk.Status {
	if len(c.outOfTree) == 0 {
		return do()
	}
	return c.profile.Contain(c.pod, do)
}

// forget has those nodes evaluated again that changed since the last evaluation of a class; all if nodes came or went, or if
// anything but pods and nodes changed.
func (t *evaluator) forget(c *podClass) {
	switch {
	case c.latest == nil || !sameSlice(c.latest.names, t.names) || len(c.dryRuns) != len(t.names):
		c.reset(len(t.names))
	case c.otherChanges != t.otherChanges:
		c.refilter.fill()
		c.rerun.fill()
		clear(c.dryRuns)
	default:
		for _, position := range t.changedSince(c.generation) {
			c.refilter.add(position)
			c.rerun.add(position)
			c.dryRuns[position].reusable = false
		}
	}
}

// reset forgets all verdicts, of which there will be one for each node.
func (c *podClass) reset(nodes int) {
	c.verdicts, c.feasibleNodes, c.everywhere, c.differ = make([]filterVerdict, nodes), nodes, filterVerdict{}, true
	c.dryRuns, c.blockedBy, c.sharedBlockedBy = make([]dryRun, nodes), make([]pluginNumber, nodes), nil
	c.refilter, c.rerun = newNodeSet(nodes), newNodeSet(nodes)
}

// setVerdict replaces the verdict on the node at a position.
func (c *podClass) setVerdict(position int, verdict filterVerdict) {
	before := c.verdicts[position]
	if before == verdict {
		return
	}
	if before.plugin == noPlugin {
		c.feasibleNodes--
	}
	if verdict.plugin == noPlugin {
		c.feasibleNodes++
	}
	c.verdicts[position], c.differ = verdict, true
	c.rerun.add(position)
}

// setLatest makes the verdicts of a class, and the result of preemption, the latest feasibility, unless that says the same
// already.
func (t *evaluator) setLatest(c *podClass, preemption preemptionResult) {
	before := c.latest
	differ := before == nil || !sameSlice(before.names, t.names) || c.differ && !slices.EqualFunc(before.rejectedBy, c.verdicts, pluginNumber.rejects)
	c.differ = false
	if !differ && before.preemption.equal(preemption) {
		return
	}
	c.latest = &feasibility{
		plugins: &t.plugins, names: t.names, rejectedBy: make([]pluginNumber, len(c.verdicts)), feasibleNodes: c.feasibleNodes,
		preemption: preemption,
	}
	for i := range c.verdicts {
		c.latest.rejectedBy[i] = c.verdicts[i].plugin
	}
}

// rejectEverywhere makes the plugin that ended the goroutine of an evaluation the one that rejects the pods on all nodes.
func (t *evaluator) rejectEverywhere(c *podClass, status *fwk.Status) {
	t.noteFailedVerdict(c.pod, status)
	plugin := cmp.Or(status.Plugin(), "PostFilter") // the framework knows of all calls but those of preemption
	c.reset(len(t.names))
	for i := range c.verdicts {
		c.setVerdict(i, filterVerdict{plugin: t.plugins.number(plugin)})
	}
	t.setLatest(c, preemptionResult{})
}

// sameSlice reports whether two slices are the same one. Results share their list of nodes.
func sameSlice[E any](a, b []E) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
