// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// wishes are the terms of pods that are written alike, and the pods on nodes that match them.
type wishes struct {
	// affinity has the pods that match all required affinity terms, nil without any; antiAffinity has those of each
	// required anti-affinity term.
	affinity     *matches
	antiAffinity []*matches
	preferred    []preference
}

// preference is a preferred term; of anti-affinity the weight is negative.
type preference struct {
	*matches
	weight int64
}

// Bytes is roughly how much memory the wishes take.
func (w *wishes) Bytes() int {
	bytes := 512
	if w.affinity != nil {
		bytes += w.affinity.bytes()
	}
	for _, m := range w.antiAffinity {
		bytes += m.bytes()
	}
	for _, p := range w.preferred {
		bytes += p.bytes()
	}
	return bytes
}

// requires tells whether any term is required.
func (w *wishes) requires() bool { return w.affinity != nil || len(w.antiAffinity) > 0 }

// unparsable is what is wrong with the terms of a pod.
type unparsable struct{ error }

// Unwrap returns the error of the parser.
func (u unparsable) Unwrap() error { return u.error }

// writtenTerm is a term as it is written; list tells which one it is in.
type writtenTerm struct {
	*v1.PodAffinityTerm
	list   byte
	weight int32
}

// writtenTerms appends every term of a pod: required affinity, required anti-affinity, then the preferred ones in the
// same order.
func writtenTerms(terms []writtenTerm, pod *v1.Pod) []writtenTerm {
	affinity := pod.Spec.Affinity
	for i, required := 0, fwk.GetPodAffinityTerms(affinity); i < len(required); i++ {
		terms = append(terms, writtenTerm{PodAffinityTerm: &required[i], list: 'a'})
	}
	for i, required := 0, fwk.GetPodAntiAffinityTerms(affinity); i < len(required); i++ {
		terms = append(terms, writtenTerm{PodAffinityTerm: &required[i], list: 'n'})
	}
	if affinity.PodAffinity != nil {
		terms = preferredTerms(terms, 'p', affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity.PodAntiAffinity != nil {
		terms = preferredTerms(terms, 'q', affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

func preferredTerms(terms []writtenTerm, list byte, preferred []v1.WeightedPodAffinityTerm) []writtenTerm {
	for i := range preferred {
		terms = append(terms, writtenTerm{PodAffinityTerm: &preferred[i].PodAffinityTerm, list: list, weight: preferred[i].Weight})
	}
	return terms
}

// hasTerms tells whether a pod has affinity or anti-affinity to pods.
func hasTerms(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

// wishesOf returns the wishes of a pod, not up to date. Those that last are shared with pods that are alike.
func (pl *Plugin) wishesOf(pod *v1.Pod, c *counted) (*wishes, error) {
	if !hasTerms(pod) {
		return &pl.noWishes, nil
	}
	c.written = writtenTerms(c.written[:0], pod)
	key, selected, err := pl.appendWishes(c.key[:0], pod.Namespace, c.written)
	c.key = key
	if err != nil {
		return nil, err
	}
	c.wishes.EndCycle() // measures those of the pod before this one
	if found := c.wishes.Get(key); found != nil {
		return found.Value, nil
	}
	parsed, err := framework.NewPodInfo(pod)
	if err != nil { // preferred terms that do not parse make the pod invalid too
		return nil, unparsable{err}
	}
	made := newWishes(parsed, selected, c)
	c.wishes.Put(key, made)
	return made, nil
}

// appendWishes appends everything that the meaning of a pod's terms hangs on, and returns the namespaces that each term
// selects by label, in the order of writtenTerms, nil if none does.
func (pl *Plugin) appendWishes(key []byte, namespace string, terms []writtenTerm) (_ []byte, selected [][]string, _ error) {
	key = framework.AppendKeyString(key, namespace)
	for i, term := range terms {
		key = framework.AppendKeyInt(append(key, term.list), int64(term.weight))
		key = podkeys.LabelSelector(framework.AppendKeyString(key, term.TopologyKey), term.LabelSelector)
		key = podkeys.LabelSelector(podkeys.Strings(key, term.Namespaces), term.NamespaceSelector)
		s := term.NamespaceSelector
		if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			continue
		}
		names, err := pl.selectedNamespaces(s)
		if err != nil {
			return key, nil, err
		}
		key = podkeys.Strings(key, names)
		if selected == nil {
			selected = make([][]string, len(terms))
		}
		selected[i] = names
	}
	return key, selected, nil
}

// selectedNamespaces returns the names of the namespaces that a selector selects, sorted. One that does not parse selects
// none; the pod will not parse either.
func (pl *Plugin) selectedNamespaces(written *metav1.LabelSelector) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		return nil, nil
	}
	namespaces, err := pl.namespaces.List(selector)
	if err != nil {
		return nil, fmt.Errorf("listing the namespaces that an affinity term selects: %w", err)
	}
	names := make([]string, len(namespaces))
	for i, namespace := range namespaces {
		names[i] = namespace.Name
	}
	slices.Sort(names)
	return names, nil
}

// newWishes makes the wishes of a pod, whose terms must not be shared; selected has the namespaces that terms select by
// label, which are noted in the terms, so that they need not be looked up for every pod on a node. A term that selects
// all namespaces is left as it is.
func newWishes(parsed *framework.PodInfo, selected [][]string, c *counted) *wishes {
	number := 0
	resolve := func(term *fwk.AffinityTerm) {
		if requirements, selects := term.NamespaceSelector.Requirements(); selects && len(requirements) > 0 {
			term.Namespaces.Insert(selected[number]...)
			term.NamespaceSelector = labels.Nothing()
		}
		number++
	}
	made := &wishes{}
	requiredAffinity, requiredAntiAffinity := parsed.GetRequiredAffinityTerms(), parsed.GetRequiredAntiAffinityTerms()
	for i := range requiredAffinity {
		resolve(&requiredAffinity[i])
	}
	if len(requiredAffinity) > 0 {
		made.affinity = newMatches(requiredAffinity, c.nodes, &c.index)
	}
	for i := range requiredAntiAffinity {
		resolve(&requiredAntiAffinity[i])
		made.antiAffinity = append(made.antiAffinity, newMatches(requiredAntiAffinity[i:i+1], c.nodes, &c.index))
	}
	prefer := func(terms []fwk.WeightedAffinityTerm, sign int64) {
		for i := range terms {
			resolve(&terms[i].AffinityTerm)
			one := []fwk.AffinityTerm{terms[i].AffinityTerm}
			made.preferred = append(made.preferred, preference{newMatches(one, c.nodes, &c.index), sign * int64(terms[i].Weight)})
		}
	}
	prefer(parsed.GetPreferredAffinityTerms(), 1)
	prefer(parsed.GetPreferredAntiAffinityTerms(), -1)
	return made
}

// counted is everything that is kept about the pods on the nodes of one snapshot. The plugin's lock guards changes; what
// a cycle has brought up to date is read without it, until the snapshot changes.
type counted struct {
	nodes  framework.IndexedSnapshot
	index  topology.Index
	wishes lru.Cache[*wishes]
	// key and written are working space.
	key     []byte
	written []writtenTerm
	// repelling has the required anti-affinity terms of pods, and valuing the terms of pods that make a node better or
	// worse for the pod being scheduled.
	repelling, valuing *otherTerms
}

// wishesBudget is how many bytes the wishes of a plugin may take.
const wishesBudget = 64 << 20

func (pl *Plugin) newCounted(nodes framework.IndexedSnapshot) *counted {
	return &counted{
		nodes:     nodes,
		wishes:    lru.Cache[*wishes]{Budget: wishesBudget},
		repelling: newOtherTerms(fwk.NodeInfo.GetPodsWithRequiredAntiAffinity, repellingTerms),
		valuing:   newOtherTerms(fwk.NodeInfo.GetPodsWithAffinity, pl.valuingTerms),
	}
}

// countedOf returns what is kept about nodes, or what can be used only once where they don't last.
func (pl *Plugin) countedOf(nodes framework.IndexedSnapshot, lasting bool) *counted {
	if !lasting {
		return pl.newCounted(nodes)
	}
	if pl.lasting == nil || pl.lasting.nodes != nodes {
		pl.lasting = pl.newCounted(nodes)
	}
	return pl.lasting
}

func repellingTerms(info fwk.PodInfo) []weighedTerm {
	terms := info.GetRequiredAntiAffinityTerms()
	weighed := make([]weighedTerm, len(terms))
	for i := range terms {
		weighed[i] = weighedTerm{term: &terms[i], weight: 1}
	}
	return weighed
}

func (pl *Plugin) valuingTerms(info fwk.PodInfo) (weighed []weighedTerm) {
	if pl.hardWeight > 0 {
		for i, terms := 0, info.GetRequiredAffinityTerms(); i < len(terms); i++ {
			weighed = append(weighed, weighedTerm{term: &terms[i], weight: pl.hardWeight})
		}
	}
	prefer := func(terms []fwk.WeightedAffinityTerm, sign int64) {
		for i := range terms {
			weighed = append(weighed, weighedTerm{term: &terms[i].AffinityTerm, weight: sign * int64(terms[i].Weight)})
		}
	}
	prefer(info.GetPreferredAffinityTerms(), 1)
	prefer(info.GetPreferredAntiAffinityTerms(), -1)
	return weighed
}
