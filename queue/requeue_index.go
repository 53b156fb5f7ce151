// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// requeueIndex finds the waiting pods that an event concerns without a look at the others. Pods are grouped by profile
// and plugin that rejected them, a pod with several rejectors in several groups, then by the plugin that gates them, so
// that gated pods that an event cannot wake are passed over together, and then by class: pods for which the
// hints of the plugin give the same answer, so that one is asked for all. Queue.mu guards it.
type requeueIndex struct {
	groups map[rejector][]*classGroup
	// orphans are pods whose profile does not exist, so that there are no hints to run for them.
	orphans hintClass
	// known reports whether there is a profile of a name, and classOf returns the class of a pod, or false if hints are
	// to be asked for that pod alone.
	knownProfile func(profile string) bool
	classOf      func(profile, plugin string, pod *v1.Pod) (string, bool)
	// leaving is working memory of dropClasses; it is kept to save an allocation for every event.
	leaving []*hintClass
}

type rejector struct{ profile, plugin string }

// classGroup is the pods that one plugin rejected and one plugin gates; usually none does, and the name is empty.
type classGroup struct {
	gatingPlugin string
	classes      []*hintClass
	// byName has the classes that can have several pods.
	byName map[string]*hintClass
}

// hintClass is pods of which the hints of one plugin are asked once.
type hintClass struct {
	group    *classGroup
	position int
	name     string
	shared   bool
	members  []*membership
	// leaving counts the members that an event wakes, while it does; gone is set if these were all and the class was
	// dropped.
	leaving int
	gone    bool
}

// membership is the place of a pod in a class.
type membership struct {
	pod      *queuedPod
	class    *hintClass
	position int
	// pending is set if the plugin rejected the pod as Pending.
	pending bool
}

// decision is the decision if the plugin's hint asks for the pod.
func (m *membership) decision(plugin string) decision {
	if m.pending {
		return decision{Immediately, plugin}
	}
	return decision{AfterBackoff, plugin}
}

func (x *requeueIndex) add(pod *queuedPod) {
	if !x.knownProfile(pod.profile()) {
		pod.memberships = pod.membership[:]
		x.orphans.add(&pod.memberships[0], pod)
		return
	}
	plugins := sets.List(pod.RejectorPlugins())
	pod.memberships = pod.membership[:]
	if len(plugins) != 1 {
		pod.memberships = make([]membership, len(plugins)) // as long as it ever gets: classes point into it
	}
	for i, plugin := range plugins {
		group := x.group(rejector{pod.profile(), plugin}, pod.GatingPlugin)
		name, shared := x.classOf(pod.profile(), plugin, pod.Pod)
		group.class(name, shared).add(&pod.memberships[i], pod)
		pod.memberships[i].pending = pod.PendingPlugins.Has(plugin)
	}
}

func (x *requeueIndex) remove(pod *queuedPod) {
	for i := range pod.memberships {
		pod.memberships[i].leave()
	}
	pod.memberships, pod.membership[0] = nil, membership{}
}

// dropClasses takes whole classes out of the index, where all of their pods are among the given ones. These must be
// removed one by one afterwards, which then is quick.
func (x *requeueIndex) dropClasses(pods []*queuedPod) {
	leaving := x.leaving[:0]
	for _, pod := range pods {
		for i := range pod.memberships {
			class := pod.memberships[i].class
			if class.leaving == 0 {
				leaving = append(leaving, class)
			}
			class.leaving++
		}
	}
	for _, class := range leaving {
		if class.leaving == len(class.members) && class.group != nil {
			class.drop()
			class.members, class.gone = nil, true
		}
		class.leaving = 0
	}
	clear(leaving)
	x.leaving = leaving[:0]
}

func (x *requeueIndex) group(key rejector, gatingPlugin string) *classGroup {
	for _, group := range x.groups[key] {
		if group.gatingPlugin == gatingPlugin {
			return group
		}
	}
	group := &classGroup{gatingPlugin: gatingPlugin, byName: map[string]*hintClass{}}
	x.groups[key] = append(x.groups[key], group)
	return group
}

// class returns the class of a name, or a new one if it is not to be shared.
func (g *classGroup) class(name string, shared bool) *hintClass {
	if shared {
		if class := g.byName[name]; class != nil {
			return class
		}
	}
	class := &hintClass{group: g, position: len(g.classes), name: name, shared: shared}
	g.classes = append(g.classes, class)
	if shared {
		g.byName[name] = class
	}
	return class
}

func (c *hintClass) add(place *membership, pod *queuedPod) {
	*place = membership{pod: pod, class: c, position: len(c.members)}
	c.members = append(c.members, place)
}

// leave takes a pod out of its class: the last one gets its place. A class without pods is dropped alike.
func (m *membership) leave() {
	class := m.class
	if class.gone {
		return
	}
	last := len(class.members) - 1
	class.members[m.position] = class.members[last]
	class.members[m.position].position = m.position
	class.members[last] = nil
	class.members = class.members[:last]
	if last == 0 && class.group != nil {
		class.drop()
	}
}

func (c *hintClass) drop() {
	group := c.group
	last := len(group.classes) - 1
	group.classes[c.position] = group.classes[last]
	group.classes[c.position].position = c.position
	group.classes[last] = nil
	group.classes = group.classes[:last]
	if c.shared {
		delete(group.byName, c.name)
	}
}

// final reports whether no hint can improve on the decision for any pod of the class.
func (c *hintClass) final() bool {
	for _, member := range c.members {
		if !member.pod.decision.final(member.pod) {
			return false
		}
	}
	return true
}

// pods is an iter.Seq of the pods of the class.
func (c *hintClass) pods(yield func(*v1.Pod) bool) {
	for _, member := range c.members {
		if !yield(member.pod.Pod) {
			return
		}
	}
}
