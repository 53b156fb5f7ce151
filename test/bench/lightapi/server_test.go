// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package lightapi

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/rouse-scheduler/rouse/scheduler"
)

// TestInformersReadWhatIsServed has informers like those of each scheduler get to know pods, in both ways.
func TestInformersReadWhatIsServed(t *testing.T) {
	const count = 1_200
	var pods []Object
	for i := range count {
		pods = append(pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Namespace: "default"}})
	}
	factories := map[string]func(clientset.Interface) informers.SharedInformerFactory{
		"rouse": scheduler.NewInformerFactory,
		"kube-scheduler": func(c clientset.Interface) informers.SharedInformerFactory {
			return informers.NewSharedInformerFactory(c, 0)
		},
	}
	for name, test := range map[string]struct {
		noWatchLists bool
		who          string
		lists, pages int
	}{
		"watch lists":                 {who: "rouse"},
		"watch lists, kube-scheduler": {who: "kube-scheduler"},
		"lists":                       {who: "rouse", noWatchLists: true, lists: 3, pages: 3},
		"lists, kube-scheduler":       {who: "kube-scheduler", noWatchLists: true, lists: 1},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := New(map[string][]Object{"pods": pods})
			if err != nil {
				t.Fatal(err)
			}
			api.NoWatchLists = test.noWatchLists
			defer api.Close()
			client, err := clientset.NewForConfig(&restclient.Config{
				Host: api.URL, ContentConfig: restclient.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
			})
			if err != nil {
				t.Fatal(err)
			}
			factory := factories[test.who](client)
			lister := factory.Core().V1().Pods().Informer().GetStore()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
			if got := len(lister.ListKeys()); got != count {
				t.Errorf("the informer has %d pods, want %d", got, count)
			}
			if lists, pages := api.Lists(); lists != test.lists || pages != test.pages {
				t.Errorf("%d lists, of which %d pages; want %d and %d", lists, pages, test.lists, test.pages)
			}
			cancel()
			factory.Shutdown()
		})
	}
}

func TestBindingsAreNoticed(t *testing.T) {
	api, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	response, err := http.Post(api.URL+"/api/v1/namespaces/default/pods/a/binding", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := api.WaitBound(t.Context()); err != nil || response.StatusCode != http.StatusCreated {
		t.Errorf("status %d, %v", response.StatusCode, err)
	}
}
