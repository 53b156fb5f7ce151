// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// waitingRoom is the scheduling queue of a scheduler, with pods in it that were rejected and wait for an event. It is
// built as the scheduler builds it, with the events and hints of the default plugins.
type waitingRoom interface {
	// park adds pods, has them popped, and gives them back as rejected by a plugin.
	park(ctx context.Context, pods []*v1.Pod, plugin string) error
	// parkAgain does so with all pods that are to be tried, of which there are so many.
	parkAgain(pods int, plugin string) error
	// tell tells the queue what happened, as the event handlers do.
	tell(happened occurrence)
	// waiting is how many pods wait for an event.
	waiting() int
	// pass lets time pass.
	pass(time.Duration)
	close()
}

// occurrence is something that happens in the cluster.
type occurrence struct {
	events   []fwk.ClusterEvent
	old, new any
}

const (
	specs = 50 // different ones among the pods that wait
	// Events that wake no pod are repeated for so long.
	eventsDuration = 300 * time.Millisecond
	// longBackoff is longer than any backoff.
	longBackoff = time.Minute
)

// eventCase is a row of events, for every number of pods.
type eventCase struct {
	plugin string // who rejected the pods
	what   string
	occurrence
	wakesAll bool
	backoff  bool // whether the pods still back off when they are woken
	target   float64
	quick    bool
}

func eventCases() []eventCase {
	label := nodeUpdate(func(node *v1.Node) { node.Labels["note"] = "new" }, fwk.UpdateNodeLabel)
	deleted := occurrence{
		events: []fwk.ClusterEvent{{Resource: fwk.AssignedPod, ActionType: fwk.Delete}}, old: assignedPod(),
	}
	const fit, affinity, taints = "NodeResourcesFit", "NodeAffinity", "TaintToleration"
	return []eventCase{
		{plugin: fit, what: "not registered", occurrence: label, target: 50_000, quick: true},
		{plugin: fit, what: "wakes no pod", occurrence: nodeAdd(tooSmall), target: 1_000, quick: true},
		{plugin: fit, what: "wakes all", occurrence: nodeAdd(suitsAll), wakesAll: true, target: 10, quick: true},
		{plugin: fit, what: "wakes all, in backoff", occurrence: nodeAdd(suitsAll), wakesAll: true, backoff: true, target: 10},
		{plugin: fit, what: "pod deleted, wakes all", occurrence: deleted, wakesAll: true, target: 10},
		{plugin: affinity, what: "not registered", occurrence: deleted, target: 50_000},
		{plugin: affinity, what: "node label, wakes no pod", occurrence: label, target: 1_000},
		{plugin: affinity, what: "wakes no pod", occurrence: nodeAdd(nil), target: 1_000},
		{plugin: affinity, what: "wakes all", occurrence: nodeAdd(suitsAll), wakesAll: true, target: 10},
		{plugin: affinity, what: "wakes all, in backoff", occurrence: nodeAdd(suitsAll), wakesAll: true, backoff: true, target: 10},
		{plugin: taints, what: "not registered", occurrence: deleted, target: 50_000},
		{plugin: taints, what: "wakes no pod", occurrence: nodeAdd(tainted), target: 1_000},
		{plugin: taints, what: "wakes all", occurrence: nodeAdd(suitsAll), wakesAll: true, target: 10},
		{plugin: taints, what: "wakes all, in backoff", occurrence: nodeAdd(suitsAll), wakesAll: true, backoff: true, target: 10},
	}
}

// suitsAll makes a node that any of the waiting pods could go to.
func suitsAll(node *v1.Node) { node.Labels["shape"] = "any" }

func tooSmall(node *v1.Node) {
	node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1m")
}

func tainted(node *v1.Node) {
	node.Spec.Taints = []v1.Taint{{Key: "not", Value: "tolerated", Effect: v1.TaintEffectNoSchedule}}
}

func nodeAdd(change func(*v1.Node)) occurrence {
	node := objects.Node(0)
	if change != nil {
		change(node)
	}
	return occurrence{events: []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Add}}, new: node}
}

func nodeUpdate(change func(*v1.Node), action fwk.ActionType) occurrence {
	node := objects.Node(0)
	change(node)
	return occurrence{events: []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: action}}, old: objects.Node(0), new: node}
}

func assignedPod() *v1.Pod {
	pod := objects.Pod("deleted", 100, 128<<20)
	pod.Spec.NodeName = "node-00000"
	return pod
}

// rejectedPods returns pods of so many different specs as there are, all of which a plugin could have rejected.
func rejectedPods(count int, plugin string) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		kind := fmt.Sprint("kind-", i%specs)
		pods[i] = objects.Pod(fmt.Sprintf("pod-%06d", i), 100, 128<<20)
		spec := &pods[i].Spec
		switch plugin {
		case "NodeResourcesFit":
			spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(int64(100+i%specs), resource.DecimalSI)
		case "NodeAffinity":
			spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
					NodeSelectorTerms: []v1.NodeSelectorTerm{objects.NodeTerm("shape", kind, "any")},
				},
			}}
		case "TaintToleration":
			spec.Tolerations = []v1.Toleration{{Key: kind, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
		}
	}
	return pods
}

// eventGroups returns the rows of events. Those with the same pods share the queues.
func eventGroups() []group {
	var groups []group
	for _, plugin := range []string{"NodeResourcesFit", "NodeAffinity", "TaintToleration"} {
		for _, size := range []int{1_000, 10_000, 100_000} {
			rooms := &rooms{plugin: plugin, size: size, built: map[Contender]waitingRoom{}}
			g := group{close: rooms.close}
			for _, c := range eventCases() {
				if c.plugin == plugin {
					g.work = append(g.work, c.work(rooms))
				}
			}
			groups = append(groups, g)
		}
	}
	return groups
}

func (c eventCase) work(rooms *rooms) work {
	w := work{
		Row:   Row{Workload: "events", Case: c.plugin + ", " + c.what, Size: rooms.size, Unit: "pods", Metric: WallNanos},
		runs:  map[Contender]func(context.Context, *meter) (Sample, error){},
		quick: c.quick,
	}
	if rooms.size == 100_000 {
		w.Target = c.target
	}
	for _, who := range []Contender{Rouse, KubeScheduler} {
		w.runs[who] = func(ctx context.Context, m *meter) (Sample, error) {
			room, err := rooms.of(ctx, who)
			if err != nil {
				return nil, err
			}
			if c.wakesAll {
				return measureWaking(m, room, c, rooms.size)
			}
			return measureIdleEvents(m, room, c, rooms.size)
		}
	}
	return w
}

// rooms are the queues that rows share, built when they are first used.
type rooms struct {
	plugin string
	size   int
	pods   []*v1.Pod
	built  map[Contender]waitingRoom
}

func (r *rooms) of(ctx context.Context, who Contender) (waitingRoom, error) {
	if room := r.built[who]; room != nil {
		return room, nil
	}
	build := newRouseRoom
	if who == KubeScheduler {
		build = newKubeSchedulerRoom
	}
	room, err := build(ctx)
	if err != nil {
		return nil, err
	}
	r.built[who] = room
	if r.pods == nil {
		r.pods = rejectedPods(r.size, r.plugin)
	}
	if err := room.park(ctx, r.pods, r.plugin); err != nil {
		return nil, err
	}
	return room, nil
}

func (r *rooms) close() {
	for _, room := range r.built {
		room.close()
	}
	r.built, r.pods = nil, nil
}

// measureIdleEvents repeats an event that wakes no pod.
func measureIdleEvents(m *meter, room waitingRoom, c eventCase, pods int) (Sample, error) {
	room.pass(longBackoff)
	told := 0
	m.start()
	for batch := 1; told == 0 || m.elapsed() < eventsDuration*time.Duration(m.times()); batch = min(2*batch, 1_000) {
		for range batch {
			room.tell(c.occurrence)
		}
		told += batch
	}
	sample := m.stop(told)
	if waiting := room.waiting(); waiting != pods {
		return nil, fmt.Errorf("%d of %d pods still wait, where none should have been woken", waiting, pods)
	}
	return sample, nil
}

// measureWaking measures an event that wakes all pods, after each of which they are parked again. What takes little time is
// done several times.
func measureWaking(m *meter, room waitingRoom, c eventCase, pods int) (Sample, error) {
	times := max(1, min(20, 20_000/pods))
	total := Sample{}
	for range times {
		if !c.backoff {
			room.pass(longBackoff)
		}
		m.start()
		room.tell(c.occurrence)
		for metric, value := range m.stop(times) {
			total[metric] += value
		}
		if waiting := room.waiting(); waiting != 0 {
			return nil, fmt.Errorf("%d of %d pods still wait, where all should have been woken", waiting, pods)
		}
		if c.backoff {
			room.pass(longBackoff) // a pod is popped early only once before its backoff ends
		}
		if err := room.parkAgain(pods, c.plugin); err != nil {
			return nil, err
		}
	}
	return total, nil
}
