// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// AppendFilterKey appends everything that the Filter plugins read of a pod for which PreFilter has run, such that for pods
// with equal keys the answer of all of them hangs on the node info alone, and still does when pods are taken from the node
// or added. It returns false if there is no such key, because some plugin looks at more. Plugins get it by asserting the
// type of their handle.
func (f *Framework) AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, ok bool) {
	skipped := state.GetSkipFilterPlugins()
	for i := range f.preFilter {
		if !skipped.Has(f.preFilter[i].name) && f.preFilter[i].plugin.PreFilterExtensions() != nil {
			return key, false
		}
	}
	for i := range f.filter {
		if skipped.Has(f.filter[i].name) {
			continue
		}
		plugin, ok := f.filter[i].plugin.(framework.FilterKeyPlugin)
		if !ok {
			return key, false
		}
		appendOwn := func(key []byte) ([]byte, bool) { return plugin.AppendFilterKey(key, state, pod) }
		if key, ok = appendKey(key, i, appendOwn); !ok {
			return key, false
		}
	}
	return key, true
}
