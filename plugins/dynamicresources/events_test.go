// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// countedClaims counts the claims that are looked up.
type countedClaims struct {
	fwk.ResourceClaimTracker
	lookups *int
}

func (c countedClaims) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	*c.lookups++
	return c.ResourceClaimTracker.Get(namespace, name)
}

// A change of a claim is narrowed to the pods that name it, unless devices may be free: no other pod is asked about.
func TestChangesOfClaimsAreNarrowed(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		indexer, err := indexPods(informers.NewSharedInformerFactory(nil, 0).Core().V1().Pods().Informer())
		if err != nil {
			t.Fatal(err)
		}
		w.pods = indexer
		bound, unnamed := podOf("bound", "a"), podOf("unnamed", "a")
		bound.Spec.NodeName = "n1"
		unnamed.Spec.ResourceClaims[0].ResourceClaimName, unnamed.Spec.ResourceClaims[0].ResourceClaimTemplateName = nil, ptr.To("template")
		for _, pod := range []*v1.Pod{podOf("first", "a"), podOf("second", "b", "a"), podOf("third", "b"), bound, unnamed} {
			if err := indexer.Add(pod); err != nil {
				t.Fatal(err)
			}
		}
		allocated, extended := gpuClaim("a"), gpuClaim("a")
		allocated.Status.Allocation = &resourceapi.AllocationResult{}
		extended.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
		none := (*resourceapi.ResourceClaim)(nil)
		for _, test := range []struct {
			what     string
			old, new any
			want     string
		}{
			{"it is added", nil, gpuClaim("a"), "first second"},
			{"it changes", gpuClaim("a"), gpuClaim("a"), "first second"},
			{"it is allocated", gpuClaim("a"), allocated, "first second"},
			{"it gives devices back", allocated, gpuClaim("a"), "all"},
			{"it is deleted without devices", gpuClaim("a"), nil, "first second"},
			{"it is deleted with devices", allocated, nil, "all"},
			{"it is deleted, unseen", clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: gpuClaim("a")}, nil, "all"},
			{"it was for extended resources", extended, nil, "all"},
			{"one that no pod names is added", nil, gpuClaim("c"), ""},
			{"no claim", none, none, "all"},
			{"no object", nil, nil, "all"},
			{"another object", "x", "y", "all"},
		} {
			result, _ := w.podsOfClaimChange(klog.Logger{}, test.old, test.new)
			var names []string
			for _, pod := range result.Pods {
				names = append(names, pod.Name)
			}
			slices.Sort(names)
			got := strings.Join(names, " ")
			if result.AllPods {
				got = "all"
			}
			if got != test.want {
				t.Errorf("%s: narrowed to %q, want %q", test.what, got, test.want)
			}
		}
	})
}

// Pods whose claims are still to be made are one class, whatever their names: most claim events wake none of them.
func TestPodsWithoutTheirClaimsAreOneClass(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		templated := func(name string) *v1.Pod {
			pod := podOf(name, "a", "x")
			pod.Spec.ResourceClaims[1].ResourceClaimName, pod.Spec.ResourceClaims[1].ResourceClaimTemplateName = nil, ptr.To("template")
			return pod
		}
		first, firstOK := w.HintClass(templated("first"))
		second, secondOK := w.HintClass(templated("second"))
		if first != second || !firstOK || !secondOK {
			t.Errorf("classes are %q (%t) and %q (%t), want one", first, firstOK, second, secondOK)
		}
		made := templated("third")
		made.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: made.Spec.ResourceClaims[1].Name, ResourceClaimName: ptr.To("x")}}
		if class, ok := w.HintClass(made); ok {
			t.Errorf("a pod with a claim of its own is in class %q", class)
		}
		if class, ok := w.HintClass(podOf("shared", "a")); !ok || class == first {
			t.Errorf("a pod with a shared claim is in class %q (%t)", class, ok)
		}
	})
}

// Thousands of pods may wait while claims of others are allocated, reserved and changed: that costs no lookup for them.
func TestChangesOfOtherClaimsCostNoLookup(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		lookups := 0
		w.claims = countedClaims{w.claims, &lookups}
		pod := podOf("first", "a")
		allocated := gpuClaim("b")
		allocated.Status.Allocation = &resourceapi.AllocationResult{}
		for _, test := range []struct {
			what     string
			old, new *resourceapi.ResourceClaim
			want     fwk.QueueingHint
			lookups  int
		}{
			{"another claim is allocated", gpuClaim("b"), allocated, fwk.QueueSkip, 0},
			{"another claim is added", nil, gpuClaim("b"), fwk.QueueSkip, 0},
			{"another claim gives devices back", allocated, gpuClaim("b"), fwk.Queue, 1},
			{"its own claim is added", nil, gpuClaim("a"), fwk.Queue, 1},
		} {
			lookups = 0
			var old any
			if test.old != nil {
				old = test.old
			}
			hint, err := w.afterClaimChange(klog.Logger{}, pod, old, test.new)
			if hint != test.want || err != nil || lookups != test.lookups {
				t.Errorf("%s: got %v (error %v) with %d lookups, want %v with %d", test.what, hint, err, lookups, test.want, test.lookups)
			}
		}
	})
}
