// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// AppendFilterKey implements framework.ExtendedHandle. It appends everything that the Filter plugins read of a pod for which
// PreFilter has run, such that for pods with equal keys the answer of all of them depends on the node info alone, also after
// pods are removed from the node or added. It returns false if there is no such key, because a plugin reads more.
func (f *Framework) AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, ok bool) {
	calls := f.startCalls(context.Background(), MethodFilter, state, pod)
	var failure *fwk.Status // of a plugin that panics: it has no key
	defer calls.end(&failure)
	skipped := state.GetSkipFilterPlugins()
	for i := range f.filter {
		if f.cache.filters[i].changed != nil && !skipped.Has(f.filter[i].name) {
			return key, false
		}
	}
	for i := range f.preFilter {
		if skipped.Has(f.preFilter[i].name) {
			continue
		}
		calls.beginCall(&f.preFilter[i].identity)
		extensions := f.preFilter[i].plugin.PreFilterExtensions()
		if calls.endCall(); extensions != nil {
			return key, false
		}
	}
	key, rest := f.appendFilterKeys(&calls, key, state, pod)
	return key, len(rest) == 0
}

// appendFilterKeys appends the keys of the Filter plugins that are not skipped, and returns the indexes of those that have
// none.
func (f *Framework) appendFilterKeys(calls *pluginCalls, key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, rest []int) {
	skipped := state.GetSkipFilterPlugins()
	for i := range f.filter {
		if len(skipped) > 0 && skipped.Has(f.filter[i].name) {
			continue
		}
		if f.cache.filters[i].key != nil {
			longer, ok := f.appendFilterKey(calls, key, i, state, pod)
			if ok {
				key = longer
				continue
			}
		}
		rest = append(rest, i)
	}
	return key, rest
}

// activeFilters returns the indexes of the Filter plugins that are not skipped.
func (f *Framework) activeFilters(state fwk.CycleState) (indexes []int) {
	skipped := state.GetSkipFilterPlugins()
	for i := range f.filter {
		if !skipped.Has(f.filter[i].name) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// appendFilterKey appends the key of one Filter plugin, which must be a framework.FilterKeyPlugin.
func (f *Framework) appendFilterKey(calls *pluginCalls, key []byte, index int, state fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	calls.beginCall(&f.filter[index].identity)
	key, ok := appendKey(key, index, func(key []byte) ([]byte, bool) {
		return f.cache.filters[index].key.AppendFilterKey(key, state, pod)
	})
	calls.endCall()
	return key, ok
}
