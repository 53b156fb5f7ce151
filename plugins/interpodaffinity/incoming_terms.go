// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
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

// incomingTerms are the terms of an incoming pod, and of all pods with the same ones, and the existing pods that match them.
// Incoming is the pod being scheduled, existing are the pods on nodes.
type incomingTerms struct {
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

// Bytes is roughly how much memory the terms take.
func (w *incomingTerms) Bytes() int {
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

// requires reports whether any term is required.
func (w *incomingTerms) requires() bool { return w.affinity != nil || len(w.antiAffinity) > 0 }

// unparsable is what is wrong with the terms of a pod.
type unparsable struct{ error }

// Unwrap returns the error of the parser.
func (u unparsable) Unwrap() error { return u.error }

// writtenTerm is a term as it is written; list says which one it is in.
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

// hasTerms reports whether a pod has affinity or anti-affinity to pods.
func hasTerms(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

// incomingTermsOf returns the terms of a pod, whose matches are not up to date. Terms that last are shared with pods that
// are alike.
func (pl *plugin) incomingTermsOf(pod *v1.Pod, c *snapshotCounts) (*incomingTerms, error) {
	if !hasTerms(pod) {
		return &pl.noIncomingTerms, nil
	}
	c.written = writtenTerms(c.written[:0], pod)
	key, selected, err := pl.appendIncomingTerms(c.key[:0], pod.Namespace, c.written)
	c.key = key
	if err != nil {
		return nil, err
	}
	c.incoming.EndCycle() // measures those of the pod before this one
	if found := c.incoming.Get(key); found != nil {
		return found.Value, nil
	}
	parsed, err := framework.NewPodInfo(pod)
	if err != nil { // preferred terms that do not parse make the pod invalid too
		return nil, unparsable{err}
	}
	made := pl.newIncomingTerms(parsed, selected, c)
	c.incoming.Put(key, made)
	return made, nil
}

// appendIncomingTerms appends everything that the meaning of a pod's terms depends on, and returns the namespaces that each
// term selects by label, in the order of writtenTerms, nil if none does.
func (pl *plugin) appendIncomingTerms(key []byte, namespace string, terms []writtenTerm) (_ []byte, selected [][]string, _ error) {
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
func (pl *plugin) selectedNamespaces(written *metav1.LabelSelector) ([]string, error) {
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

// newIncomingTerms makes the terms of a pod from parsed ones, which must not be shared. Selected has the namespaces that
// terms select by label. They are noted in the terms, so that they need not be looked up for every pod on a node. A term
// that selects all namespaces is left as it is.
func (pl *plugin) newIncomingTerms(parsed *framework.PodInfo, selected [][]string, c *snapshotCounts) *incomingTerms {
	number := 0
	resolve := func(term *fwk.AffinityTerm) {
		if requirements, selects := term.NamespaceSelector.Requirements(); selects && len(requirements) > 0 {
			term.Namespaces.Insert(selected[number]...)
			term.NamespaceSelector = labels.Nothing()
		}
		number++
	}
	made := &incomingTerms{}
	requiredAffinity, requiredAntiAffinity := parsed.GetRequiredAffinityTerms(), parsed.GetRequiredAntiAffinityTerms()
	for i := range requiredAffinity {
		resolve(&requiredAffinity[i])
	}
	if len(requiredAffinity) > 0 {
		made.affinity = newMatches(requiredAffinity, c.shared, pl.forEach)
	}
	for i := range requiredAntiAffinity {
		resolve(&requiredAntiAffinity[i])
		made.antiAffinity = append(made.antiAffinity, newMatches(requiredAntiAffinity[i:i+1], c.shared, pl.forEach))
	}
	prefer := func(terms []fwk.WeightedAffinityTerm, sign int64) {
		for i := range terms {
			resolve(&terms[i].AffinityTerm)
			one := []fwk.AffinityTerm{terms[i].AffinityTerm}
			made.preferred = append(made.preferred, preference{newMatches(one, c.shared, pl.forEach), sign * int64(terms[i].Weight)})
		}
	}
	prefer(parsed.GetPreferredAffinityTerms(), 1)
	prefer(parsed.GetPreferredAntiAffinityTerms(), -1)
	return made
}

// snapshotCounts is everything that is kept about the pods on the nodes of one snapshot. The plugin's lock and that of what
// is shared guard changes; what a cycle has brought up to date is read without them, until the snapshot changes.
type snapshotCounts struct {
	shared   *topology.Shared
	incoming *lru.Cache[*incomingTerms]
	// key and written are working space.
	key     []byte
	written []writtenTerm
	// existingAntiAffinity has the required anti-affinity terms of existing pods, and existingScored their terms that count
	// for the score of a node.
	existingAntiAffinity, existingScored *existingTerms
}

// incomingTermsBudget is how many bytes the incoming terms of a plugin may take where it shares no budget with others.
const incomingTermsBudget = 64 << 20

func (pl *plugin) newCounts(shared *topology.Shared, incoming *lru.Cache[*incomingTerms]) *snapshotCounts {
	return &snapshotCounts{
		shared:               shared,
		incoming:             incoming,
		existingAntiAffinity: newExistingTerms(framework.NodeView.PodsWithRequiredAntiAffinity, antiAffinityTerms),
		existingScored:       newExistingTerms(framework.NodeView.PodsWithAffinity, pl.scoredTerms),
	}
}

// countsOf returns what is kept about nodes, or what can be used only once where they don't last.
func (pl *plugin) countsOf(nodes framework.IndexedSnapshot, lasting bool) *snapshotCounts {
	if !lasting {
		return pl.newCounts(topology.SharedOnce(nodes), &lru.Cache[*incomingTerms]{})
	}
	var last *topology.Shared
	if pl.kept != nil {
		last = pl.kept.shared
	}
	if shared := topology.SharedOf(nodes, last); shared != last {
		pl.incoming.Clear()
		pl.incoming.Join(lru.BudgetOf(nodes, incomingTermsBudget), &pl.mu)
		pl.kept = pl.newCounts(shared, &pl.incoming)
	}
	return pl.kept
}

// forEach runs a loop on all cores.
func (pl *plugin) forEach(count int, do func(i int)) {
	pl.handle.Parallelizer().Until(context.Background(), count, do, Name)
}

func antiAffinityTerms(info fwk.PodInfo) []weightedTerm {
	terms := info.GetRequiredAntiAffinityTerms()
	weighted := make([]weightedTerm, len(terms))
	for i := range terms {
		weighted[i] = weightedTerm{term: &terms[i], weight: 1}
	}
	return weighted
}

func (pl *plugin) scoredTerms(info fwk.PodInfo) (weighted []weightedTerm) {
	if pl.hardWeight > 0 {
		for i, terms := 0, info.GetRequiredAffinityTerms(); i < len(terms); i++ {
			weighted = append(weighted, weightedTerm{term: &terms[i], weight: pl.hardWeight})
		}
	}
	prefer := func(terms []fwk.WeightedAffinityTerm, sign int64) {
		for i := range terms {
			weighted = append(weighted, weightedTerm{term: &terms[i].AffinityTerm, weight: sign * int64(terms[i].Weight)})
		}
	}
	prefer(info.GetPreferredAffinityTerms(), 1)
	prefer(info.GetPreferredAntiAffinityTerms(), -1)
	return weighted
}
