// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// otherTerms are the distinct terms of the pods on nodes, with how much they weigh in each domain. So a pod is compared
// with every distinct term that may match it, however many pods have that term.
type otherTerms struct {
	// podsOf returns the pods of a node that may have terms, and termsOf the terms of a pod that are wanted here.
	podsOf  func(fwk.NodeInfo) []fwk.PodInfo
	termsOf func(fwk.PodInfo) []weighedTerm

	generation int64
	slots      []slotTerms
	byKey      map[string]*otherTerm
	// byLabel has the terms which match only pods with a certain label, and rest the others.
	byLabel map[label][]*otherTerm
	rest    []*otherTerm
	// domains has the domains in use, and by how many terms.
	domains map[*topology.Domains]int
	key     []byte
}

type label struct{ name, value string }

// weighedTerm is a term of a pod, and what it is worth where it matches.
type weighedTerm struct {
	term   *fwk.AffinityTerm
	weight int64
}

// otherTerm is a term that pods on nodes have.
type otherTerm struct {
	key     string
	term    *fwk.AffinityTerm
	domains *topology.Domains
	// weights has the sum of weights by domain; pods is how many pods are in it, those in no domain left out, and uses
	// how many pods have the term.
	weights topology.Sparse[int64]
	pods    int
	uses    int
}

// slotTerms is what the node in a slot was counted for.
type slotTerms struct {
	node *v1.Node
	pods []podTerms
}

type podTerms struct {
	info  fwk.PodInfo
	terms []termUse
}

type termUse struct {
	*otherTerm
	weight int64
	domain int32
}

func newOtherTerms(podsOf func(fwk.NodeInfo) []fwk.PodInfo, termsOf func(fwk.PodInfo) []weighedTerm) *otherTerms {
	return &otherTerms{
		podsOf: podsOf, termsOf: termsOf,
		byKey: map[string]*otherTerm{}, byLabel: map[label][]*otherTerm{}, domains: map[*topology.Domains]int{},
	}
}

// sync brings the terms up to date with the nodes that changed.
func (o *otherTerms) sync(nodes framework.IndexedSnapshot, index *topology.Index) {
	if o.generation == nodes.Generation() {
		return
	}
	for domains := range o.domains {
		index.Sync(nodes, domains)
	}
	for len(o.slots) < nodes.IndexCount() {
		o.slots = append(o.slots, slotTerms{})
	}
	for _, slot := range index.Changes.Since(nodes, o.generation) {
		o.recount(slot, nodes, index)
	}
	o.generation = nodes.Generation()
}

// recount counts the pods of a slot that are new there, and takes back those that are gone. Pods are compared by their
// place in memory: of a pod that changed there is a new one.
func (o *otherTerms) recount(slot int, nodes framework.IndexedSnapshot, index *topology.Index) {
	known := &o.slots[slot]
	var node *v1.Node
	var pods []fwk.PodInfo
	if info := nodes.NodeAt(slot); info != nil && info.Node() != nil {
		node, pods = info.Node(), o.podsOf(info)
	}
	same := 0
	for node == known.node && same < min(len(pods), len(known.pods)) && known.pods[same].info == pods[same] {
		same++
	}
	if node == known.node && same == len(pods) && same == len(known.pods) {
		return
	}
	gone := slices.Clone(known.pods[same:])
	clear(known.pods[same:])
	known.node, known.pods = node, known.pods[:same]
	for _, info := range pods[same:] {
		entry := podTerms{info: info}
		if at := slices.IndexFunc(gone, func(p podTerms) bool { return p.info == info }); at >= 0 {
			entry.terms = slices.Clone(gone[at].terms)
		} else {
			entry.terms = o.termUses(info, nodes, index)
		}
		for i := range entry.terms {
			use := &entry.terms[i]
			use.domain = use.domains.BySlot()[slot]
			use.count(1)
		}
		known.pods = append(known.pods, entry)
	}
	for i := range gone {
		for _, use := range gone[i].terms {
			use.count(-1)
			if use.uses == 0 {
				o.remove(use.otherTerm)
			}
		}
	}
}

// count adds a pod with the term, or takes it away.
func (u *termUse) count(sign int) {
	u.uses += sign
	if u.domain != topology.None {
		u.pods += sign
		u.weights.Add(u.domain, int64(sign)*u.weight)
	}
}

// termUses finds the terms of a pod.
func (o *otherTerms) termUses(info fwk.PodInfo, nodes framework.IndexedSnapshot, index *topology.Index) []termUse {
	terms := o.termsOf(info)
	uses := make([]termUse, len(terms))
	for i, t := range terms {
		o.key = appendTerm(o.key[:0], t.term)
		found := o.byKey[string(o.key)]
		if found == nil {
			found = &otherTerm{key: string(o.key), term: t.term, domains: index.Domains(nodes, t.term.TopologyKey)}
			o.add(found)
		}
		uses[i] = termUse{otherTerm: found, weight: t.weight}
	}
	return uses
}

// appendTerm appends what a parsed term means.
func appendTerm(key []byte, term *fwk.AffinityTerm) []byte {
	key = framework.AppendKeyString(key, term.TopologyKey)
	key = appendSelector(appendSelector(key, term.Selector), term.NamespaceSelector)
	names := make([]string, 0, len(term.Namespaces))
	for name := range term.Namespaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return podkeys.Strings(key, names)
}

func appendSelector(key []byte, selector labels.Selector) []byte {
	if _, selects := selector.Requirements(); !selects {
		return append(key, 0)
	}
	return framework.AppendKeyString(append(key, 1), selector.String())
}

func (o *otherTerms) add(term *otherTerm) {
	o.byKey[term.key] = term
	o.domains[term.domains]++
	switch l, restricted, selects := requiredLabel(term.term.Selector); {
	case restricted:
		o.byLabel[l] = append(o.byLabel[l], term)
	case selects:
		o.rest = append(o.rest, term)
	}
}

func (o *otherTerms) remove(term *otherTerm) {
	if o.byKey[term.key] != term {
		return
	}
	delete(o.byKey, term.key)
	if o.domains[term.domains]--; o.domains[term.domains] == 0 {
		delete(o.domains, term.domains)
	}
	isTerm := func(other *otherTerm) bool { return other == term }
	switch l, restricted, selects := requiredLabel(term.term.Selector); {
	case restricted:
		if o.byLabel[l] = slices.DeleteFunc(o.byLabel[l], isTerm); len(o.byLabel[l]) == 0 {
			delete(o.byLabel, l)
		}
	case selects:
		o.rest = slices.DeleteFunc(o.rest, isTerm)
	}
}

// requiredLabel returns a label that every pod must have which the selector selects, if there is one; and whether the
// selector selects anything.
func requiredLabel(selector labels.Selector) (_ label, restricted, selects bool) {
	requirements, selects := selector.Requirements()
	if !selects {
		return label{}, false, false
	}
	for i := range requirements {
		switch r := &requirements[i]; r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return label{name: r.Key(), value: values[0]}, true, true
			}
		}
	}
	return label{}, false, true
}

// matching returns the terms with pods in some domain that match a pod of a namespace with the given labels.
func (o *otherTerms) matching(pod *v1.Pod, namespaceLabels labels.Set) (found []*otherTerm) {
	if len(o.byKey) == 0 {
		return nil
	}
	found = appendMatching(found, o.rest, pod, namespaceLabels)
	for name, value := range pod.Labels {
		found = appendMatching(found, o.byLabel[label{name: name, value: value}], pod, namespaceLabels)
	}
	return found
}

func appendMatching(found, terms []*otherTerm, pod *v1.Pod, namespaceLabels labels.Set) []*otherTerm {
	for _, t := range terms {
		if t.pods > 0 && t.term.Matches(pod, namespaceLabels) {
			found = append(found, t)
		}
	}
	return found
}

// weight returns the weight in the domain that a node with these labels is in.
func (t *otherTerm) weight(nodeLabels map[string]string) int64 {
	value, ok := nodeLabels[t.term.TopologyKey]
	if !ok {
		return 0
	}
	if domain := t.domains.Number(value); domain != topology.None {
		return t.weights.At(domain)
	}
	return 0
}
