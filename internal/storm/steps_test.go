// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// step is one thing that happens. All that it decides at random comes from its own number.
type step struct {
	kind   int
	random uint64
}

func (s step) String() string { return stepKinds()[s.kind].name }

// stepKind is something that can happen.
type stepKind struct {
	name string
	// weight is how often it happens, compared with the others.
	weight int
	// do does it, and returns false, having changed nothing, if there is nothing to do it with.
	do func(w *world) bool
}

// stepKinds is all there is.
func stepKinds() []stepKind {
	return []stepKind{
		{"create a pod", 60, (*world).createPod},
		{"delete a pod", 25, (*world).deleteSomePod},
		{"change a pod", 30, (*world).changePod},
		{"replace a pod by another of its name", 8, (*world).replacePod},
		{"a terminating pod goes", 40, (*world).finishPod},
		{"a pod succeeds", 10, (*world).completePod},
		{"create a node", 12, (*world).createNode},
		{"delete a node", 6, (*world).deleteNode},
		{"change a node", 25, (*world).changeNode},
		{"a node becomes ready or not ready", 10, (*world).flapNode},
		{"create or delete a budget", 5, (*world).toggleBudget},
		{"another client puts a pod on a node", 8, (*world).foreignBinding},
		{"deliver an event", 320, (*world).deliverSome},
		{"relist", 10, (*world).relistSome},
		{"schedule", 160, (*world).scheduleSome},
		{"resume", 280, (*world).resumeSome},
		{"flush the backoff", 40, (*world).flushSome},
		{"time passes", 60, (*world).pass},
		{"restart a scheduler", 2, (*world).restart},
		{"another leader", 2, (*world).toggleLeader},
		{"decide about a waiting pod", 20, (*world).decideWaiting},
		{settleName, 2, (*world).settle},
		{calmName, 0, (*world).calmDown},
	}
}

const (
	settleName = "everything settles"
	calmName   = "the faults stop"
)

// kindNamed returns the number of a kind of step.
func kindNamed(name string) int {
	return slices.IndexFunc(stepKinds(), func(k stepKind) bool { return k.name == name })
}

func (w *world) createPod() bool {
	start := w.dice.IntN(w.names)
	for i := range w.names {
		if name := podName((start + i) % w.names); w.api.pod(name) == nil {
			w.put(w.makePod(name))
			return true
		}
	}
	return false
}

func (w *world) deleteSomePod() bool {
	pod := w.somePod(func(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil })
	return pod != nil && w.deletePod(pod.Name, "") == nil
}

func (w *world) changePod() bool {
	pod := w.somePod(unfinishedPod)
	if pod != nil {
		w.put(w.changedPod(pod))
	}
	return pod != nil
}

func unfinishedPod(pod *v1.Pod) bool { return unfinished(pod) }

func (w *world) replacePod() bool {
	pod := w.somePod(func(*v1.Pod) bool { return true })
	if pod != nil {
		w.remove(pod)
		w.put(w.makePod(pod.Name))
	}
	return pod != nil
}

func (w *world) finishPod() bool {
	pod := w.somePod(func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil || !unfinished(pod) })
	if pod != nil {
		w.remove(pod)
	}
	return pod != nil
}

func (w *world) completePod() bool {
	pod := w.somePod(func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" && unfinished(pod) })
	if pod != nil {
		succeeded := *pod
		succeeded.Status.Phase = v1.PodSucceeded
		w.put(&succeeded)
	}
	return pod != nil
}

func (w *world) createNode() bool {
	start := w.dice.IntN(w.machines)
	for i := range w.machines {
		if n := (start + i) % w.machines; w.api.node(nodeName(n)) == nil {
			w.put(w.makeNode(n))
			return true
		}
	}
	return false
}

func (w *world) deleteNode() bool {
	node := w.someNode()
	if node != nil {
		w.remove(node)
	}
	return node != nil
}

func (w *world) changeNode() bool {
	node := w.someNode()
	if node != nil {
		w.put(w.changedNode(node))
	}
	return node != nil
}

func (w *world) flapNode() bool {
	node := w.someNode()
	if node != nil {
		node = node.DeepCopy()
		toggleTaint(node, v1.Taint{Key: flapping, Effect: v1.TaintEffectNoSchedule})
		w.put(node)
	}
	return node != nil
}

func (w *world) toggleBudget() bool {
	if old, exists := w.api.objects[budgets]["default/"+budgetName]; exists {
		w.remove(old)
	} else {
		w.put(w.makeBudget())
	}
	return true
}

// foreignBinding is a client that does not care what fits.
func (w *world) foreignBinding() bool {
	pod, node := w.somePod(func(pod *v1.Pod) bool { return pod.Spec.NodeName == "" }), w.someNode()
	if w.strict || pod == nil || node == nil {
		return false
	}
	w.note("another client binds %s", pod.Name)
	return w.bind(pod.Name, "", node.Name) == nil
}

func (w *world) deliverSome() bool {
	in, k := w.someInstance(), kind(w.dice.IntN(int(kinds)))
	for i := range kinds {
		if in.deliver((k + i) % kinds) {
			w.note("scheduler %d hears of a change of %v", in.number, (k+i)%kinds)
			return true
		}
	}
	return false
}

func (w *world) relistSome() bool {
	in, k := w.someInstance(), kind(w.dice.IntN(int(kinds)))
	happened := in.relist(k)
	if happened {
		w.note("scheduler %d lists %v", in.number, k)
	}
	return happened
}

func (w *world) scheduleSome() bool {
	in := w.someInstance()
	w.note("scheduler %d schedules", in.number)
	return in.schedule()
}

func (w *world) resumeSome() bool {
	in := w.someInstance()
	if len(in.threads) == 0 {
		return false
	}
	t := in.threads[w.dice.IntN(len(in.threads))]
	w.note("scheduler %d resumes its %s %s", in.number, t.name, t.at)
	in.goOn(t)
	return true
}

func (w *world) flushSome() bool { return w.someInstance().flush() }

func (w *world) pass() bool {
	d := time.Duration(100+w.dice.IntN(9900)) * time.Millisecond
	if w.oneIn(8) {
		d = time.Duration(1+w.dice.IntN(120)) * time.Second
	}
	w.clock.moveTo(w.clock.now.Add(d))
	w.note("%v later", d)
	return true
}

// restart ends a scheduler and starts another, which may begin with an old list.
func (w *world) restart() bool {
	i := w.dice.IntN(len(w.instances))
	w.note("scheduler %d ends", w.instances[i].number)
	w.instances[i].end()
	w.instances[i] = w.newInstance(w.age())
	w.note("scheduler %d begins", w.instances[i].number)
	return true
}

// age is how many changes a list is behind.
func (w *world) age() (old [kinds]int) {
	if !w.strict && w.oneIn(2) {
		for k := range kinds {
			old[k] = w.dice.IntN(keptChanges / 4)
		}
	}
	return old
}

func (w *world) toggleLeader() bool {
	if w.strict {
		return false
	}
	if len(w.instances) == 1 {
		w.instances = append(w.instances, w.newInstance(w.age()))
		w.note("scheduler %d is a leader, too", w.instances[1].number)
		return true
	}
	i := w.dice.IntN(2)
	w.note("scheduler %d ends", w.instances[i].number)
	w.instances[i].end()
	w.instances = slices.Delete(w.instances, i, i+1)
	return true
}

func (w *world) decideWaiting() bool {
	in := w.someInstance()
	waiting := in.waiting()
	if len(waiting) == 0 {
		return false
	}
	pod := waiting[w.dice.IntN(len(waiting))]
	if w.oneIn(3) {
		w.note("%s is refused", pod.GetPod().Name)
		in.plugin.owed[pod.GetPod().UID] = pod.GetPod()
		pod.Reject(pluginName, "for no reason")
		return true
	}
	w.note("%s is allowed", pod.GetPod().Name)
	pod.Allow(pluginName)
	return true
}

// settle lets everything happen that can happen without time passing, and without anything going wrong.
func (w *world) settle() bool {
	w.quiet = true
	defer func() { w.quiet = false }()
	return w.rest()
}

// maxRest is how many turns everything may take to come to rest. Far fewer are needed.
const maxRest = 20000

func (w *world) rest() (happened bool) {
	for turn := 0; w.violation == nil; turn++ {
		if turn > maxRest {
			w.violate("never rests", "things go on forever without time passing: %s", w.whatGoesOn())
			break
		}
		busy := false
		for _, in := range w.instances {
			busy = in.deliverAll() || busy
			for len(in.threads) > 0 {
				in.goOn(in.threads[0])
				in.deliverAll()
				busy = true
				if turn++; turn > maxRest {
					break
				}
			}
			busy = in.flush() || busy
			busy = in.schedule() || busy
		}
		if !busy {
			break
		}
		happened = true
		w.check()
	}
	return happened
}

func (w *world) whatGoesOn() string {
	text := ""
	for _, in := range w.instances {
		stats := in.Queue().Stats()
		text += fmt.Sprintf("scheduler %d: %d active, %d backing off, %d in flight; ", in.number, stats.Active, stats.Backoff, stats.InFlight)
	}
	return text
}
