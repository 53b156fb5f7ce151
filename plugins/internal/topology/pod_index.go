// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"hash/maphash"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// LabelSet is the pods of a namespace that are alike to every selector: they have the same labels, and all or none of them
// are being deleted. The pods of a ReplicaSet are one.
type LabelSet struct {
	Namespace   string
	Labels      labels.Set
	Terminating bool

	// id is larger than those of all label sets that were there before.
	id   int64
	hash uint64
	next *LabelSet // of the same hash
	// pods is how many pods there are, and byNode how many on each node.
	pods   int32
	byNode Sparse[int32]
	// latest is the position after its latest change in the log.
	latest int
}

// PodIndex has the pods on the nodes of a snapshot by label set, and label sets by namespace and by label. So what a
// selector selects is found without a look at other pods, and a pod that comes or goes is one change of one label set.
type PodIndex struct {
	seed   maphash.Seed
	byHash map[uint64]*LabelSet
	nodes  []indexedNode
	lastID int64
	// all has every label set; byNamespace and byLabel have those of a namespace, and those with a label there. Of labels
	// only the names are there that selectors have asked for.
	all         *posting
	byNamespace map[string]*posting
	byLabel     map[string]map[namespacedValue]*posting
	changes     log[podChange]

	// gone and came are working space.
	gone []indexedPod
	came []*LabelSet
}

// podChange is one pod more or less of a label set on a node.
type podChange struct {
	set         *LabelSet
	node, delta int32
	// before is where the change of the label set before this one is in the log, as LabelSet.latest.
	before int
}

// maxChanges is how many changes of pods are remembered.
const maxChanges = 1 << 13

// indexedNode is the pods of a node as they are counted, in the order of its list.
type indexedNode struct{ pods []indexedPod }

type indexedPod struct {
	info fwk.PodInfo
	set  *LabelSet
}

// namespacedValue is the value of a label of pods in a namespace.
type namespacedValue struct{ namespace, value string }

func newPodIndex() *PodIndex {
	return &PodIndex{
		seed: maphash.MakeSeed(), byHash: map[uint64]*LabelSet{}, all: &posting{},
		byNamespace: map[string]*posting{}, byLabel: map[string]map[namespacedValue]*posting{},
	}
}

// setNode takes over the pods of the node at an index. Pods are told apart by their place in memory: of a pod that changed
// there is a new one.
func (p *PodIndex) setNode(index int, pods []fwk.PodInfo) {
	for len(p.nodes) <= index {
		p.nodes = append(p.nodes, indexedNode{})
	}
	known := p.nodes[index].pods
	p.gone = p.gone[:0]
	for i := range known {
		if i >= len(pods) || known[i].info != pods[i] {
			p.gone = append(p.gone, known[i])
		}
	}
	if len(p.gone) == 0 && len(pods) == len(known) {
		return
	}
	clear(known[min(len(pods), len(known)):])
	p.came = p.came[:0]
	for i, info := range pods {
		if i < len(known) && known[i].info == info {
			continue
		}
		entry := indexedPod{info: info}
		if at := slices.IndexFunc(p.gone, func(other indexedPod) bool { return other.info == info }); at >= 0 {
			entry.set = p.gone[at].set
			p.gone = removeAt(p.gone, at)
		} else {
			entry.set = p.labelSetOf(framework.ViewPod(info).Meta())
			p.came = append(p.came, entry.set)
		}
		if i < len(known) {
			known[i] = entry
		} else {
			known = appendPod(known, entry)
		}
	}
	p.nodes[index].pods = known[:len(pods)]
	p.record(int32(index))
}

// appendPod appends, and leaves room for a quarter more where there is none.
func appendPod(pods []indexedPod, pod indexedPod) []indexedPod {
	if len(pods) == cap(pods) {
		pods = append(make([]indexedPod, 0, len(pods)+len(pods)/4+2), pods...)
	}
	return append(pods, pod)
}

func removeAt[E any](list []E, at int) []E {
	list[at] = list[len(list)-1]
	return list[:len(list)-1]
}

// record records the pods that came to a node and are gone from it. A pod in the place of one of the same label set is no
// change.
func (p *PodIndex) record(node int32) {
	for _, set := range p.came {
		if at := slices.IndexFunc(p.gone, func(pod indexedPod) bool { return pod.set == set }); at >= 0 {
			p.gone = removeAt(p.gone, at)
			continue
		}
		p.change(set, node, 1)
	}
	for _, pod := range p.gone {
		p.change(pod.set, node, -1)
	}
	clear(p.gone[:cap(p.gone)])
	clear(p.came[:cap(p.came)])
}

func (p *PodIndex) change(set *LabelSet, node, delta int32) {
	set.pods += delta
	set.byNode.Add(node, delta)
	p.changes.add(podChange{set: set, node: node, delta: delta, before: set.latest}, maxChanges)
	set.latest = p.changes.end()
	if set.pods == 0 {
		p.remove(set)
	}
}

// labelSetOf returns the label set of a pod, which may be a new one without pods.
func (p *PodIndex) labelSetOf(pod *metav1.ObjectMeta) *LabelSet {
	terminating := pod.DeletionTimestamp != nil
	hash := maphash.String(p.seed, pod.Namespace)
	for name, value := range pod.Labels {
		hash += (maphash.String(p.seed, name) | 1) * maphash.String(p.seed, value) // in whichever order
	}
	if terminating {
		hash++
	}
	first := p.byHash[hash]
	for set := first; set != nil; set = set.next {
		if set.Terminating == terminating && set.Namespace == pod.Namespace && maps.Equal(set.Labels, pod.Labels) {
			return set
		}
	}
	p.lastID++
	set := &LabelSet{Namespace: pod.Namespace, Labels: pod.Labels, Terminating: terminating, id: p.lastID, hash: hash, next: first}
	p.byHash[hash] = set
	p.eachPosting(set, func(list *posting) { list.sets = append(list.sets, set) })
	return set
}

// remove takes a label set without pods out of the index. If such pods come again, there is a new one.
func (p *PodIndex) remove(set *LabelSet) {
	if first := p.byHash[set.hash]; first != set {
		for first.next != set {
			first = first.next
		}
		first.next = set.next
	} else if set.next == nil {
		delete(p.byHash, set.hash)
	} else {
		p.byHash[set.hash] = set.next
	}
	p.eachPosting(set, func(list *posting) { list.drop() })
	if list := p.byNamespace[set.Namespace]; list.empty() {
		list.removed = true
		delete(p.byNamespace, set.Namespace)
	}
	for name, lists := range p.byLabel {
		if value, ok := set.Labels[name]; ok {
			at := namespacedValue{set.Namespace, value}
			if list := lists[at]; list.empty() {
				list.removed = true
				delete(lists, at)
			}
		}
	}
}
