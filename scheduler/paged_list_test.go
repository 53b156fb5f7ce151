// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"
)

// pagingAPI lists pods as an API server does that knows no watch lists: in pages of the version at which the first was read
// if that is asked for, and all at once for resource version 0.
type pagingAPI struct {
	mu sync.Mutex
	// pods are the names of those that exist, version is theirs.
	pods    []string
	version int
	// expires is the continue token that is too old; empty for none.
	expires string
	// lists and watches are what was asked for.
	lists   []metav1.ListOptions
	watches []string
	watcher *watch.FakeWatcher
}

// client returns a client of the API.
func (a *pagingAPI) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		list, err := a.list(action.(clienttesting.ListActionImpl).ListOptions)
		if err != nil {
			return true, nil, err
		}
		return true, list, nil
	})
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watches = append(a.watches, action.(clienttesting.WatchActionImpl).ListOptions.ResourceVersion)
		a.watcher = watch.NewFake()
		return true, a.watcher, nil
	})
	return client
}

func (a *pagingAPI) list(options metav1.ListOptions) (*v1.PodList, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists = append(a.lists, metav1.ListOptions{
		Limit: options.Limit, Continue: options.Continue, ResourceVersion: options.ResourceVersion,
	})
	if options.Continue != "" && options.Continue == a.expires {
		a.pods, a.version = a.pods[1:], a.version+1 // what was listed first is gone
		return nil, apierrors.NewResourceExpired("the continue token is too old")
	}
	first := 0
	if options.Continue != "" {
		var err error
		if first, err = strconv.Atoi(options.Continue); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.version)}}
	last := len(a.pods)
	if limit := int(options.Limit); limit > 0 && options.ResourceVersion == "" && first+limit < last {
		last = first + limit
		list.Continue = strconv.Itoa(last)
	}
	for _, name := range a.pods[first:last] {
		pod := wholePod()
		pod.Name, pod.UID = name, types.UID(name)
		list.Items = append(list.Items, *pod)
	}
	return list, nil
}

func podNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("pod-%04d", i)
	}
	return names
}

func page(token string) metav1.ListOptions {
	return metav1.ListOptions{Limit: pageSize, Continue: token}
}

// checkStore compares what an informer has with the pods that exist, each trimmed.
func (a *pagingAPI) checkStore(t *testing.T, store clientcache.Store) {
	t.Helper()
	if got := len(store.ListKeys()); got != len(a.pods) {
		t.Errorf("the informer has %d pods, want %d", got, len(a.pods))
	}
	for _, name := range a.pods {
		got, _, err := store.GetByKey("default/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want := keptPod()
		want.Name, want.UID = name, types.UID(name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pod %s (-want +got):\n%s", name, diff)
		}
	}
}

// run starts an informer of trimmed pods, and has the test look at it once it has everything.
func (a *pagingAPI) run(t *testing.T, check func(t *testing.T, store clientcache.Store)) {
	synctest.Test(t, func(t *testing.T) {
		factory := NewInformerFactoryWith(a.client(), InformerOptions{TrimPods: true})
		informer := factory.Core().V1().Pods().Informer()
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		synctest.Wait()
		check(t, informer.GetStore())
		close(stop)
		factory.Shutdown()
	})
}

func TestPodsAreListedInPages(t *testing.T) {
	for name, test := range map[string]struct {
		pods    int
		expires string
		want    []metav1.ListOptions
	}{
		"none":                {pods: 0, want: []metav1.ListOptions{page("")}},
		"one page":            {pods: pageSize, want: []metav1.ListOptions{page("")}},
		"three pages":         {pods: 2*pageSize + 1, want: []metav1.ListOptions{page(""), page("500"), page("1000")}},
		"a page is too late":  {pods: 2*pageSize + 1, expires: "1000", want: []metav1.ListOptions{page(""), page("500"), page("1000"), {ResourceVersion: "0"}}},
		"the second too late": {pods: 2*pageSize + 1, expires: "500", want: []metav1.ListOptions{page(""), page("500"), {ResourceVersion: "0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			api := &pagingAPI{pods: podNames(test.pods), version: 7, expires: test.expires}
			api.run(t, func(t *testing.T, store clientcache.Store) {
				if diff := cmp.Diff(test.want, api.lists); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{strconv.Itoa(api.version)}, api.watches); diff != "" {
					t.Errorf("versions that watches begin at (-want +got):\n%s", diff)
				}
				api.checkStore(t, store)
			})
		})
	}
}

// TestPodsAreListedInPagesAgain has a watch end because its version is too old, after the pods have changed.
func TestPodsAreListedInPagesAgain(t *testing.T) {
	api := &pagingAPI{pods: podNames(2 * pageSize), version: 7}
	api.run(t, func(t *testing.T, store clientcache.Store) {
		api.mu.Lock()
		api.pods, api.version, api.lists = podNames(2*pageSize + 2)[1:], 9, nil
		watcher := api.watcher
		api.mu.Unlock()
		watcher.Error(&apierrors.NewResourceExpired("the version is too old").ErrStatus)
		time.Sleep(time.Minute) // for the reflector to try again; the time of a bubble passes at once
		synctest.Wait()
		if diff := cmp.Diff([]metav1.ListOptions{page(""), page("500"), page("1000")}, api.lists); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"7", "9"}, api.watches); diff != "" {
			t.Errorf("versions that watches begin at (-want +got):\n%s", diff)
		}
		api.checkStore(t, store)
	})
}
