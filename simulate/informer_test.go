// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func testPod(name string, phase v1.PodPhase) *v1.Pod {
	return objects.Pod(name).Namespace("shop").Phase(phase).Build()
}

func TestFactoriesHandOutTheInformersOfTheStore(t *testing.T) {
	s := newStore(newVirtualClock(startTime()))
	_, client, err := newClient(s, apihttp.NewHub())
	if err != nil {
		t.Fatal(err)
	}
	factory := newInformerFactory(client, s)
	lister := factory.Core().V1().Pods().Lister()
	created, err := s.admit(s.pods(), testPod("a", ""))
	if err != nil {
		t.Fatal(err)
	}
	if pods, err := lister.List(labels.Everything()); err != nil || len(pods) != 0 {
		t.Errorf("before the change is delivered: got %v (%v), want no pods", pods, err)
	}
	for made, found := s.next(); found; made, found = s.next() {
		made.collection.informer.Deliver(made.key, made.current)
	}
	if pod, err := lister.Pods("shop").Get("a"); err != nil || pod != created {
		t.Errorf("got %v (%v), want the pod", pod, err)
	}
	factory.Start(t.Context().Done())
	for kind, synced := range factory.WaitForCacheSync(t.Context().Done()) {
		if !synced {
			t.Errorf("the informer of %v is not synced", kind)
		}
	}
	dynamic := &dynamicFactory{store: s}
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	if dynamic.ForResource(resource).Informer() != dynamic.ForResource(resource).Informer() {
		t.Error("the dynamic factory hands out two informers for one resource")
	}
	if _, err := dynamic.ForResource(resource).Lister().ByNamespace("shop").Get("a"); err == nil {
		t.Error("a widget was found that does not exist")
	}
	dynamic.Start(nil)
	dynamic.Shutdown()
	if got := dynamic.WaitForCacheSync(nil); len(got) != 0 {
		t.Errorf("the dynamic factory waited for %v", got)
	}
}
