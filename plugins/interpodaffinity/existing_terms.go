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

// existingTerms are the distinct terms of the pods on nodes, with the sum of their weights in each domain. So a pod is compared
// with every distinct term that may match it, however many pods have that term.
type existingTerms struct {
	// podsOf returns the pods of a node that may have terms, and termsOf the terms of a pod that count here.
	podsOf  func(fwk.NodeInfo) []fwk.PodInfo
	termsOf func(fwk.PodInfo) []weightedTerm

	generation int64
	byNode     []nodeTerms
	byKey      map[string]*existingTerm
	// byLabel has the terms which match only pods with a certain label, and rest the others.
	byLabel map[label][]*existingTerm
	rest    []*existingTerm
	// domains has the domains in use, and by how many terms.
	domains map[*topology.Domains]int
	key     []byte
}

type label struct{ name, value string }

// weightedTerm is a term of a pod and its weight where it matches.
type weightedTerm struct {
	term   *fwk.AffinityTerm
	weight int64
}

// existingTerm is a term that pods on nodes have.
type existingTerm struct {
	key     string
	term    *fwk.AffinityTerm
	domains *topology.Domains
	// weights has the sum of weights by domain; pods is how many pods are in it, those in no domain left out, and uses
	// how many pods have the term.
	weights topology.Sparse[int64]
	pods    int
	uses    int
}

// nodeTerms is what a node was counted for.
type nodeTerms struct {
	node *v1.Node
	pods []podTerms
}

type podTerms struct {
	info  fwk.PodInfo
	terms []termUse
}

type termUse struct {
	*existingTerm
	weight int64
	domain int32
}

func newExistingTerms(podsOf func(fwk.NodeInfo) []fwk.PodInfo, termsOf func(fwk.PodInfo) []weightedTerm) *existingTerms {
	return &existingTerms{
		podsOf: podsOf, termsOf: termsOf,
		byKey: map[string]*existingTerm{}, byLabel: map[label][]*existingTerm{}, domains: map[*topology.Domains]int{},
	}
}

// sync brings the terms up to date with the nodes that changed.
func (o *existingTerms) sync(nodes framework.IndexedSnapshot, shared *topology.SharedDomains) {
	if o.generation == nodes.Generation() {
		return
	}
	for domains := range o.domains {
		shared.Sync(nodes, domains)
	}
	for len(o.byNode) < nodes.IndexCount() {
		o.byNode = append(o.byNode, nodeTerms{})
	}
	for _, index := range shared.Changes.Since(nodes, o.generation) {
		o.recount(index, nodes, shared)
	}
	o.generation = nodes.Generation()
}

// recount counts the pods of a node that are new there, and uncounts those that are gone. Pods are compared by their
// place in memory: of a pod that changed there is a new one.
func (o *existingTerms) recount(index int, nodes framework.IndexedSnapshot, shared *topology.SharedDomains) {
	known := &o.byNode[index]
	var node *v1.Node
	var pods []fwk.PodInfo
	if info := nodes.NodeAt(index); info != nil && info.Node() != nil {
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
			entry.terms = o.termUses(info, nodes, shared)
		}
		for i := range entry.terms {
			use := &entry.terms[i]
			use.domain = use.domains.ByNode()[index]
			use.count(1)
		}
		known.pods = append(known.pods, entry)
	}
	for i := range gone {
		for _, use := range gone[i].terms {
			use.count(-1)
			if use.uses == 0 {
				o.remove(use.existingTerm)
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

// termUses returns the terms of a pod.
func (o *existingTerms) termUses(info fwk.PodInfo, nodes framework.IndexedSnapshot, shared *topology.SharedDomains) []termUse {
	terms := o.termsOf(info)
	uses := make([]termUse, len(terms))
	for i, t := range terms {
		o.key = appendTerm(o.key[:0], t.term)
		found := o.byKey[string(o.key)]
		if found == nil {
			found = &existingTerm{key: string(o.key), term: t.term, domains: shared.Domains(nodes, t.term.TopologyKey)}
			o.add(found)
		}
		uses[i] = termUse{existingTerm: found, weight: t.weight}
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

func (o *existingTerms) add(term *existingTerm) {
	o.byKey[term.key] = term
	o.domains[term.domains]++
	switch l, restricted, selects := requiredLabel(term.term.Selector); {
	case restricted:
		o.byLabel[l] = append(o.byLabel[l], term)
	case selects:
		o.rest = append(o.rest, term)
	}
}

func (o *existingTerms) remove(term *existingTerm) {
	if o.byKey[term.key] != term {
		return
	}
	delete(o.byKey, term.key)
	if o.domains[term.domains]--; o.domains[term.domains] == 0 {
		delete(o.domains, term.domains)
	}
	isTerm := func(other *existingTerm) bool { return other == term }
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
func (o *existingTerms) matching(pod *v1.Pod, namespaceLabels labels.Set) (found []*existingTerm) {
	if len(o.byKey) == 0 {
		return nil
	}
	found = appendMatching(found, o.rest, pod, namespaceLabels)
	for name, value := range pod.Labels {
		found = appendMatching(found, o.byLabel[label{name: name, value: value}], pod, namespaceLabels)
	}
	return found
}

func appendMatching(found, terms []*existingTerm, pod *v1.Pod, namespaceLabels labels.Set) []*existingTerm {
	for _, t := range terms {
		if t.pods > 0 && t.term.Matches(pod, namespaceLabels) {
			found = append(found, t)
		}
	}
	return found
}

// weight returns the weight in the domain that a node with these labels is in.
func (t *existingTerm) weight(nodeLabels map[string]string) int64 {
	value, ok := nodeLabels[t.term.TopologyKey]
	if !ok {
		return 0
	}
	if domain := t.domains.Number(value); domain != topology.None {
		return t.weights.At(domain)
	}
	return 0
}
