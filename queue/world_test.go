// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// world is a random scheduler around a queue: its options, profiles and plugins, and the pods that exist. What plugins
// answer depends on nothing but what they are asked, so that the queue and the model can both ask.
type world struct {
	random *rand.Rand

	popFromBackoff                                 bool
	initialBackoff, maxBackoff, maxInUnschedulable time.Duration
	maxInFlightEvents                              int

	profiles   map[string]map[string][]*registration // by scheduler name and plugin
	preEnqueue map[string][]string                   // plugins, by scheduler name
	rejecting  sets.Set[string]                      // PreEnqueue plugins and, after a blank, the pod that they reject
	classed    sets.Set[string]                      // plugins that class pods

	names   []types.NamespacedName
	current map[types.NamespacedName]*v1.Pod
	indexer cache.Indexer
	lister  listersv1.PodLister // may be nil
	uids    int
}

// registration is one registered event with random hints.
type registration struct {
	world            *world
	plugin           string
	event            fwk.ClusterEvent
	salt             int
	hinted, narrowed bool
}

func newWorld(seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 7))
	w := &world{
		random:             random,
		popFromBackoff:     random.IntN(3) > 0,
		initialBackoff:     pick(random, time.Second, 700*time.Millisecond, 3*time.Second, 20*time.Second),
		maxBackoff:         pick(random, 10*time.Second, 10*time.Second, 4*time.Second, -1),
		maxInUnschedulable: pick(random, 5*time.Minute, 30*time.Second),
		maxInFlightEvents:  pick(random, 1000, 1000, 3),
		profiles:           map[string]map[string][]*registration{},
		preEnqueue:         map[string][]string{},
		rejecting:          sets.New[string](),
		classed:            sets.New[string](),
		current:            map[types.NamespacedName]*v1.Pod{},
		indexer:            cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
	}
	for i := range 6 + random.IntN(14) {
		w.names = append(w.names, types.NamespacedName{Namespace: pick(random, "a", "b"), Name: fmt.Sprint("pod", i)})
	}
	if random.IntN(2) == 0 {
		w.lister = listersv1.NewPodLister(w.indexer)
	}
	plugins := []string{"P0", "P1", "P2", "P3", "P4", "P5"}
	for _, plugin := range plugins {
		if random.IntN(3) > 0 {
			w.classed.Insert(plugin)
		}
	}
	for p := range 1 + random.IntN(2) {
		profile := fmt.Sprint("profile", p)
		w.profiles[profile] = map[string][]*registration{}
		for _, plugin := range plugins {
			if random.IntN(4) > 0 {
				w.profiles[profile][plugin] = w.newRegistrations(plugin)
			}
			if random.IntN(4) == 0 {
				w.preEnqueue[profile] = append(w.preEnqueue[profile], plugin)
			}
		}
		random.Shuffle(len(w.preEnqueue[profile]), func(i, j int) {
			plugins := w.preEnqueue[profile]
			plugins[i], plugins[j] = plugins[j], plugins[i]
		})
	}
	return w
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func happenings() []fwk.ClusterEvent {
	return []fwk.ClusterEvent{
		{Resource: fwk.Node, ActionType: fwk.Add},
		{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
		{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint},
		{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
		{Resource: fwk.AssignedPod, ActionType: fwk.UpdatePodLabel},
		{Resource: fwk.PersistentVolume, ActionType: fwk.Update, CustomLabel: "Labelled"},
		{Resource: "foos.v1.example.com", ActionType: fwk.Add},
	}
}

func (w *world) newRegistrations(plugin string) []*registration {
	events := append(happenings(),
		fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Update},
		fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.UpdatePodLabel},
		fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update},
		fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel | fwk.UpdatePodToleration},
		fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodSchedulingGatesEliminated},
		fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.Delete},
		fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All},
	)
	var registrations []*registration
	for range w.random.IntN(5) {
		registrations = append(registrations, &registration{
			world:    w,
			plugin:   plugin,
			event:    events[w.random.IntN(len(events))],
			salt:     w.random.Int(),
			hinted:   w.random.IntN(4) > 0,
			narrowed: w.random.IntN(4) == 0,
		})
	}
	return registrations
}

// The plugins.

func hashOf(values ...any) uint32 {
	hash := fnv.New32a()
	fmt.Fprintln(hash, values...)
	return hash.Sum32()
}

func objectName(oldObj, newObj any) string {
	for _, obj := range []any{newObj, oldObj} {
		if named, ok := obj.(metav1.Object); ok {
			return named.GetName()
		}
	}
	return ""
}

// answer is what the hint of a registration does with a pod: 0 to 2 are Queue, 3 an error and 4 a panic.
func (r *registration) answer(pod *v1.Pod, oldObj, newObj any) uint32 {
	class := pod.Labels["class"]
	if !r.world.classed.Has(r.plugin) || class == "" {
		class += "/" + pod.Name
	}
	target, _ := newObj.(*v1.Pod)
	self := target != nil && target.UID == pod.UID
	return hashOf(r.salt, class, self, objectName(oldObj, newObj)) % 12
}

func (r *registration) wants(pod *v1.Pod, oldObj, newObj any) bool {
	return !r.hinted || r.answer(pod, oldObj, newObj) < 5
}

func (r *registration) hint(_ klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
	switch answer := r.answer(pod, oldObj, newObj); {
	case answer < 3:
		return fwk.Queue, nil
	case answer == 3:
		return fwk.QueueSkip, errors.New("hint failed")
	case answer == 4:
		panic("hint panicked")
	}
	return fwk.QueueSkip, nil
}

// narrowing is what narrowing does with an event: 0 all pods, 1 an error, 2 a panic, otherwise some pods.
func (r *registration) narrowing(oldObj, newObj any) uint32 {
	return hashOf(r.salt, "narrow", objectName(oldObj, newObj)) % 6
}

func (r *registration) lists(name types.NamespacedName, oldObj, newObj any) bool {
	return hashOf(r.salt, name, objectName(oldObj, newObj))%3 == 0
}

func (r *registration) leavesOut(name types.NamespacedName, oldObj, newObj any) bool {
	if !r.narrowed || oldObj == nil && newObj == nil || r.narrowing(oldObj, newObj) < 3 {
		return false
	}
	return !r.lists(name, oldObj, newObj)
}

func (r *registration) narrow(_ klog.Logger, oldObj, newObj any) (fwk.PreQueueingHintResult, error) {
	if oldObj == nil && newObj == nil {
		panic("asked to narrow an event without objects")
	}
	var result fwk.PreQueueingHintResult
	switch r.narrowing(oldObj, newObj) {
	case 0:
		result.AllPods = true
	case 1:
		return result, errors.New("narrowing failed")
	case 2:
		panic("narrowing panicked")
	}
	for _, name := range r.world.names {
		if r.lists(name, oldObj, newObj) {
			result.Pods = append(result.Pods, name)
		}
	}
	return result, nil
}

func (w *world) hintClass(plugin string, pod *v1.Pod) (string, bool) {
	class := pod.Labels["class"]
	if class == "panic" {
		panic("classing panicked")
	}
	return class, class != "" && w.classed.Has(plugin)
}

func (w *world) rejects(gating string, pod *v1.Pod) bool {
	return w.rejecting.Has(gating + " " + pod.Name)
}

type randomGate struct {
	world *world
	name  string
}

func (g randomGate) Name() string { return g.name }

func (g randomGate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if !g.world.rejects(g.name, pod) {
		return nil
	}
	switch hashOf(g.name, pod.Name) % 4 {
	case 0:
		return fwk.NewStatus(fwk.Error, "PreEnqueue failed")
	case 1:
		panic("PreEnqueue panicked")
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "rejected")
}

// queueProfiles is the world as the queue knows it.
func (w *world) queueProfiles() map[string]Profile {
	profiles := map[string]Profile{}
	for name, plugins := range w.profiles {
		profile := Profile{
			Events:        framework.EventMap{},
			Registrations: map[string][]fwk.ClusterEventWithHint{},
			HintClass:     w.hintClass,
		}
		for plugin, registrations := range plugins {
			for _, r := range registrations {
				profile.Events.Register(plugin, r.event)
				registered := fwk.ClusterEventWithHint{Event: r.event}
				if r.hinted {
					registered.QueueingHintFn = r.hint
				}
				if r.narrowed {
					registered.PreQueueingHintFn = r.narrow
				}
				profile.Registrations[plugin] = append(profile.Registrations[plugin], registered)
			}
		}
		for _, gating := range w.preEnqueue[name] {
			profile.PreEnqueue = append(profile.PreEnqueue, randomGate{w, gating})
		}
		profiles[name] = profile
	}
	return profiles
}

// The pods.

func (w *world) newPod(name types.NamespacedName) *v1.Pod {
	w.uids++
	profiles := append(slices.Sorted(maps.Keys(w.profiles)), "profile0", "profile0")
	if w.random.IntN(20) == 0 {
		profiles = []string{"stranger"}
	}
	priority := int32(w.random.IntN(3))
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: types.UID(fmt.Sprint("uid", w.uids))},
		Spec:       v1.PodSpec{SchedulerName: profiles[w.random.IntN(len(profiles))], Priority: &priority},
	}
	pod.Labels = map[string]string{"class": "x"}
	w.change(pod)
	w.store(pod)
	return pod
}

// change changes some of what matters to a queue.
func (w *world) change(pod *v1.Pod) {
	w.uids++
	pod.ResourceVersion = fmt.Sprint(w.uids)
	if w.random.IntN(3) == 0 {
		pod.Labels = map[string]string{"class": pick(w.random, "x", "x", "x", "x", "y", "", "panic")}
	}
	if w.random.IntN(4) == 0 {
		pod.Status.NominatedNodeName = pick(w.random, "", "node0", "node1")
	}
	if w.random.IntN(4) == 0 {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{})
	}
	if w.random.IntN(6) == 0 {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{})
	} else if w.random.IntN(3) == 0 {
		pod.Spec.SchedulingGates = nil
	}
	if w.random.IntN(6) == 0 {
		priority := int32(w.random.IntN(3))
		pod.Spec.Priority = &priority
	}
}

func (w *world) store(pod *v1.Pod) {
	w.current[nameOf(pod)] = pod
	_ = w.indexer.Add(pod) // a pod always has a key
}

func (w *world) forget(pod *v1.Pod) {
	delete(w.current, nameOf(pod))
	_ = w.indexer.Delete(pod)
}

func (w *world) randomPod() *v1.Pod {
	if len(w.current) == 0 {
		return nil
	}
	for {
		if pod := w.current[pick(w.random, w.names...)]; pod != nil {
			return pod
		}
	}
}

// randomObjects returns the objects of an event.
func (w *world) randomObjects(event fwk.ClusterEvent) (oldObj, newObj any) {
	if w.random.IntN(12) == 0 {
		return nil, nil
	}
	meta := metav1.ObjectMeta{Name: fmt.Sprint("object", w.random.IntN(5)), UID: "other"}
	var obj any = &v1.Node{ObjectMeta: meta}
	if event.Resource == fwk.AssignedPod {
		obj = &v1.Pod{ObjectMeta: meta}
	}
	switch event.ActionType {
	case fwk.Add:
		return nil, obj
	case fwk.Delete:
		return obj, nil
	}
	return obj, obj
}
