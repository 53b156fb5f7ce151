// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"slices"
	"strings"

	clientcache "k8s.io/client-go/tools/cache"
)

// orderedIndexer is an indexer whose lists are sorted by key. That of client-go lists in random order, which plugins
// pass on into their decisions.
type orderedIndexer struct {
	clientcache.Indexer
}

func newOrderedIndexer() orderedIndexer {
	return orderedIndexer{clientcache.NewIndexer(
		clientcache.DeletionHandlingMetaNamespaceKeyFunc,
		clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc},
	)}
}

// AddIndexers implements clientcache.Indexer. The index by namespace, which listers of every kind ask for, may be
// added again.
func (i orderedIndexer) AddIndexers(indexers clientcache.Indexers) error {
	missing := make(clientcache.Indexers, len(indexers))
	for name, function := range indexers {
		if name != clientcache.NamespaceIndex {
			missing[name] = function
		}
	}
	return i.Indexer.AddIndexers(missing)
}

// List implements clientcache.Store.
func (i orderedIndexer) List() []any { return sortedByKey(i.Indexer.List()) }

// ListKeys implements clientcache.Store.
func (i orderedIndexer) ListKeys() []string { return sorted(i.Indexer.ListKeys()) }

// ListIndexFuncValues implements clientcache.Indexer.
func (i orderedIndexer) ListIndexFuncValues(index string) []string {
	return sorted(i.Indexer.ListIndexFuncValues(index))
}

// Index implements clientcache.Indexer.
func (i orderedIndexer) Index(index string, object any) ([]any, error) {
	found, err := i.Indexer.Index(index, object)
	return sortedByKey(found), err
}

// IndexKeys implements clientcache.Indexer.
func (i orderedIndexer) IndexKeys(index, value string) ([]string, error) {
	keys, err := i.Indexer.IndexKeys(index, value)
	return sorted(keys), err
}

// ByIndex implements clientcache.Indexer.
func (i orderedIndexer) ByIndex(index, value string) ([]any, error) {
	found, err := i.Indexer.ByIndex(index, value)
	return sortedByKey(found), err
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return keys
}

func sortedByKey(objects []any) []any {
	if len(objects) < 2 {
		return objects
	}
	keyed := make([]struct {
		key    string
		object any
	}, len(objects))
	for i, object := range objects {
		// The objects are in the indexer, so that their keys are known to be fine.
		keyed[i].key, _ = clientcache.MetaNamespaceKeyFunc(object)
		keyed[i].object = object
	}
	slices.SortFunc(keyed, func(a, b struct {
		key    string
		object any
	}) int {
		return strings.Compare(a.key, b.key)
	})
	for i := range keyed {
		objects[i] = keyed[i].object
	}
	return objects
}
