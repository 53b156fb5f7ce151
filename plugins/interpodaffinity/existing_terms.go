// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"math"
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
	podsOf  func(framework.NodeView) []fwk.PodInfo
	termsOf func(fwk.PodInfo) []weightedTerm

	generation int64
	byNode     []nodeTerms
	byKey      map[string]*existingTerm
	// byPlace has each term where the pods that it may match look for it.
	byPlace map[place][]*existingTerm
	// domains has the domains in use, and by how many terms.
	domains map[*topology.Domains]int
	key     []byte
}

// place is where terms are listed that match pods of a certain namespace only, or pods with a certain label only, or both.
type place struct {
	// namespace is empty for terms that may match pods of several.
	namespace string
	// name is that of the label, empty for terms that may match pods without; with anyValue its value does not matter.
	name, value string
	anyValue    bool
}

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
	// places are where the term is listed.
	places []place
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

func newExistingTerms(podsOf func(framework.NodeView) []fwk.PodInfo, termsOf func(fwk.PodInfo) []weightedTerm) *existingTerms {
	return &existingTerms{
		podsOf: podsOf, termsOf: termsOf,
		byKey: map[string]*existingTerm{}, byPlace: map[place][]*existingTerm{}, domains: map[*topology.Domains]int{},
	}
}

// sync brings the terms up to date with the nodes that changed. The caller holds the lock of what is shared.
func (o *existingTerms) sync(shared *topology.Shared) {
	nodes := shared.Nodes()
	if o.generation == nodes.Generation() {
		return
	}
	for domains := range o.domains {
		shared.SyncDomains(domains)
	}
	for len(o.byNode) < nodes.IndexCount() {
		o.byNode = append(o.byNode, nodeTerms{})
	}
	for _, index := range shared.ChangedSince(o.generation) {
		o.recount(index, shared)
	}
	o.generation = nodes.Generation()
}

// recount counts the pods of a node that are new there, and uncounts those that are gone. Pods are compared by their
// place in memory: of a pod that changed there is a new one.
func (o *existingTerms) recount(index int, shared *topology.Shared) {
	known := &o.byNode[index]
	var node *v1.Node
	var pods []fwk.PodInfo
	if info := shared.Nodes().NodeAt(index); info != nil && info.Node() != nil {
		node, pods = info.Node(), o.podsOf(framework.View(info))
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
			entry.terms = o.termUses(info, shared)
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
func (o *existingTerms) termUses(info fwk.PodInfo, shared *topology.Shared) []termUse {
	terms := o.termsOf(info)
	uses := make([]termUse, len(terms))
	for i, t := range terms {
		o.key = appendTerm(o.key[:0], t.term)
		found := o.byKey[string(o.key)]
		if found == nil {
			found = &existingTerm{key: string(o.key), term: t.term, domains: shared.Domains(t.term.TopologyKey)}
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
	term.places = o.placesOf(term.term)
	for _, at := range term.places {
		o.byPlace[at] = append(o.byPlace[at], term)
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
	for _, at := range term.places {
		list := slices.DeleteFunc(o.byPlace[at], func(other *existingTerm) bool { return other == term })
		if o.byPlace[at] = list; len(list) == 0 {
			delete(o.byPlace, at)
		}
	}
}

// maxPlaces is at how many places a term is listed at most.
const maxPlaces = 8

// placesOf returns the places such that every pod that the term matches looks at exactly one of them. Of the requirements of the
// selector, one is taken by which the term is listed together with few others. None means that the term matches nothing.
func (o *existingTerms) placesOf(term *fwk.AffinityTerm) []place {
	requirements, selects := term.Selector.Requirements()
	if !selects {
		return nil
	}
	var namespace string
	if _, byLabels := term.NamespaceSelector.Requirements(); !byLabels && len(term.Namespaces) == 1 {
		namespace, _ = term.Namespaces.Clone().PopAny()
	}
	best := []place{{namespace: namespace}}
	fewest := math.MaxInt
	for i := range requirements {
		r := &requirements[i]
		var places []place
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			for value := range r.Values() { // each once
				places = append(places, place{namespace: namespace, name: r.Key(), value: value})
			}
		case selection.Exists, selection.GreaterThan, selection.LessThan:
			places = []place{{namespace: namespace, name: r.Key(), anyValue: true}}
		}
		if len(places) == 0 || len(places) > maxPlaces {
			continue
		}
		others := len(places)
		for _, at := range places {
			others += len(o.byPlace[at])
		}
		if others < fewest {
			best, fewest = places, others
		}
	}
	return best
}

// matching returns the terms with pods in some domain that match a pod of a namespace with the given labels.
func (o *existingTerms) matching(pod *v1.Pod, namespaceLabels labels.Set) (found []*existingTerm) {
	if len(o.byKey) == 0 {
		return nil
	}
	for _, namespace := range [...]string{pod.Namespace, ""} {
		found = appendMatching(found, o.byPlace[place{namespace: namespace}], pod, namespaceLabels)
		for name, value := range pod.Labels {
			found = appendMatching(found, o.byPlace[place{namespace: namespace, name: name, value: value}], pod, namespaceLabels)
			found = appendMatching(found, o.byPlace[place{namespace: namespace, name: name, anyValue: true}], pod, namespaceLabels)
		}
		if pod.Namespace == "" {
			break
		}
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
