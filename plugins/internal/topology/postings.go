// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// posting is a list of label sets, in the order of their ids.
type posting struct {
	sets []*LabelSet
	// gone is how many of them have no pods any more.
	gone    int
	removed bool // from the index
}

// drop notes that a label set in the list has no pods any more.
func (l *posting) drop() {
	if l.gone++; 2*l.gone < len(l.sets) {
		return
	}
	kept := l.sets[:0]
	for _, set := range l.sets {
		if set.pods > 0 {
			kept = append(kept, set)
		}
	}
	clear(l.sets[len(kept):])
	l.sets, l.gone = kept, 0
	if len(kept) < cap(kept)/4 {
		l.sets = append([]*LabelSet(nil), kept...)
	}
}

func (l *posting) empty() bool { return len(l.sets) == 0 }

// eachPosting calls do for every list that a label set belongs to, made if need be.
func (p *PodIndex) eachPosting(set *LabelSet, do func(*posting)) {
	do(p.all)
	do(listIn(p.byNamespace, set.Namespace))
	for name, lists := range p.byLabel {
		if value, ok := set.Labels[name]; ok {
			do(listIn(lists, namespacedValue{set.Namespace, value}))
		}
	}
}

func listIn[Key comparable](lists map[Key]*posting, at Key) *posting {
	list := lists[at]
	if list == nil {
		list = &posting{}
		lists[at] = list
	}
	return list
}

// maxIndexedLabels is how many names of labels are indexed. Selectors by other labels look at all label sets of their
// namespaces.
const maxIndexedLabels = 64

// listsOf returns the lists of label sets by the value of a label, which are made when they are first asked for; nil if too
// many others were.
func (p *PodIndex) listsOf(name string) map[namespacedValue]*posting {
	if lists, ok := p.byLabel[name]; ok {
		return lists
	}
	if len(p.byLabel) == maxIndexedLabels {
		return nil
	}
	lists := map[namespacedValue]*posting{}
	p.byLabel[name] = lists
	for _, set := range p.all.sets {
		if value, ok := set.Labels[name]; ok && set.pods > 0 {
			list := listIn(lists, namespacedValue{set.Namespace, value})
			list.sets = append(list.sets, set)
		}
	}
	return lists
}

// source says where label sets are found: all those of a namespace, or only those with a label.
type source struct {
	namespace   string
	byLabel     bool
	name, value string
	list        *posting // nil if there is none yet
}

// maxSources is up to how many lists are read for one selection. If there were more, all label sets are.
const maxSources = 8

// find returns the list of a source, nil if it has no label sets.
func (p *PodIndex) find(s *source) *posting {
	if s.list == nil || s.list.removed {
		if s.byLabel {
			s.list = p.byLabel[s.name][namespacedValue{s.namespace, s.value}]
		} else {
			s.list = p.byNamespace[s.namespace]
		}
	}
	return s.list
}

// sourcesOf returns the shortest lists that have everything which a selector may select in some namespaces; none means that
// all label sets have to be read. Nil namespaces are all there are.
func (p *PodIndex) sourcesOf(namespaces []string, selector labels.Selector) []source {
	if namespaces == nil || len(namespaces) > maxSources {
		return nil
	}
	var best []source
	length := 0
	consider := func(sources []source) {
		total := 0
		for i := range sources {
			if list := p.find(&sources[i]); list != nil {
				total += len(list.sets)
			}
		}
		if best == nil || total < length {
			best, length = sources, total
		}
	}
	whole := make([]source, len(namespaces))
	for i, namespace := range namespaces {
		whole[i] = source{namespace: namespace}
	}
	consider(whole)
	requirements, _ := selector.Requirements()
	for i := range requirements {
		name, values := requiredValues(&requirements[i])
		if len(values) == 0 || len(values)*len(namespaces) > maxSources || p.listsOf(name) == nil {
			continue
		}
		var sources []source
		for _, namespace := range namespaces {
			for _, value := range values {
				sources = append(sources, source{namespace: namespace, byLabel: true, name: name, value: value})
			}
		}
		consider(sources)
	}
	return best
}

// requiredValues returns the values one of which a label must have for a requirement to be met; none if it may be met
// otherwise too.
func requiredValues(r *labels.Requirement) (name string, values []string) {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return r.Key(), r.Values().UnsortedList() // each once
	}
	return r.Key(), nil
}
