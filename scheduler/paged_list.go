// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// pageSize is how many objects a page has. In full they take next to nothing compared with all those that are kept, and
// 150,000 pods are 300 requests.
const pageSize = 500

// pagedSource is where an informer gets objects of a kind from. Without watch lists, a reflector asks for resource version
// 0, and an API server then sends everything at once, whatever the limit: the response and all objects in full exist at
// the same time. A pagedSource reads pages instead, and trims the objects of each before it reads the next.
type pagedSource struct {
	client clientset.Interface
	// page lists objects and trims them, each in memory of its own, so that none of them keeps the others.
	page  func(context.Context, metav1.ListOptions) ([]apiruntime.Object, metav1.ListInterface, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// trim removes of an object what is not needed. Objects of a list pass through it twice, those of a watch once.
	trim clientcache.TransformFunc
}

// informer returns an informer of objects of the type of the example.
func (p pagedSource) informer(example apiruntime.Object, options clientcache.SharedIndexInformerOptions) clientcache.SharedIndexInformer {
	source := &clientcache.ListWatch{ListWithContextFunc: p.list, WatchFuncWithContext: p.watch}
	informer := clientcache.NewSharedIndexInformerWithOptions(
		clientcache.ToListWatcherWithWatchListSemantics(source, p.client), example, options)
	// Setting a transform only fails on an informer that runs already.
	_ = informer.SetTransform(p.trim)
	return informer
}

// list returns all objects, as they are now, which is never older than what is asked for.
func (p pagedSource) list(ctx context.Context, asked metav1.ListOptions) (apiruntime.Object, error) {
	asked.Limit, asked.Continue = 0, ""
	options := asked
	options.Limit, options.ResourceVersion, options.ResourceVersionMatch = pageSize, "", ""
	all := &internalversion.List{}
	for {
		objects, meta, err := p.page(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			// Reading took longer than the API server keeps the version. Pages would take as long again.
			all.Items, options = nil, asked
			objects, meta, err = p.page(ctx, options)
		}
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, objects...)
		all.ResourceVersion = meta.GetResourceVersion()
		if options.Continue = meta.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// trimmedCopies trims the objects of a list. Each is in memory of its own.
func trimmedCopies[T any, P interface {
	*T
	apiruntime.Object
}](items []T, trim clientcache.TransformFunc) ([]apiruntime.Object, error) {
	objects := make([]apiruntime.Object, len(items))
	for i := range items {
		inList := P(&items[i])
		trimmed, err := trim(inList)
		if err != nil {
			return nil, fmt.Errorf("trimming a listed object: %w", err)
		}
		if trimmed == any(inList) {
			object := items[i]
			trimmed = P(&object)
		}
		objects[i] = trimmed.(apiruntime.Object)
	}
	return objects, nil
}
