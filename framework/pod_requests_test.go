// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// podUse is what a pod takes of a node, in comparable form.
type podUse struct {
	Resource framework.Resource
	Non0CPU  int64
	Non0Mem  int64
}

func useOf(t *testing.T, pod *v1.Pod) podUse {
	t.Helper()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	use := info.CalculateResource()
	return podUse{*use.Resource.(*framework.Resource), use.Non0CPU, use.Non0Mem}
}

func TestPodRequests(t *testing.T) {
	tests := []struct {
		name string
		pod  objects.PodBuilder
		want podUse
	}{
		{
			name: "defaults count per container",
			pod:  objects.Pod("p").Container("a").Container("b", "cpu", "1").Container("c", "memory", "1Mi"),
			want: podUse{framework.Resource{MilliCPU: 1000, Memory: mebibyte}, 1200, 401 * mebibyte},
		},
		{
			name: "an explicit zero is no missing request",
			pod:  objects.Pod("p").Container("a", "cpu", "0", "memory", "0").Container("b", "cpu", "0"),
			want: podUse{framework.Resource{}, 0, 200 * mebibyte},
		},
		{
			name: "everything requested",
			pod: objects.Pod("p").Container("a", "cpu", "1", "memory", "1Mi", "ephemeral-storage", "5", "example.com/gpu", "1").
				Container("b", "cpu", "500m", "memory", "2Mi", "example.com/gpu", "2", "unknown", "7"),
			want: podUse{framework.Resource{MilliCPU: 1500, Memory: 3 * mebibyte, EphemeralStorage: 5,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 3}}, 1500, 3 * mebibyte},
		},
		{
			name: "largest init container above the sum of containers, resource by resource",
			pod: objects.Pod("p").InitContainer("init", "cpu", "4", "memory", "1Mi").InitContainer("init", "cpu", "1", "memory", "2Mi").
				Container("a", "cpu", "1", "memory", "3Mi").Container("b", "cpu", "1", "memory", "3Mi"),
			want: podUse{framework.Resource{MilliCPU: 4000, Memory: 6 * mebibyte}, 4000, 6 * mebibyte},
		},
		{
			name: "the default of an init container is a maximum, not a summand",
			pod:  objects.Pod("p").InitContainer("init").Container("a", "cpu", "50m", "memory", "300Mi"),
			want: podUse{framework.Resource{MilliCPU: 50, Memory: 300 * mebibyte}, 100, 300 * mebibyte},
		},
		{
			name: "sidecars run next to the containers",
			pod: objects.Pod("p").Sidecar("sidecar", "cpu", "1", "memory", "1Mi").Sidecar("sidecar", "cpu", "2", "memory", "1Mi").
				Container("a", "cpu", "1", "memory", "1Mi"),
			want: podUse{framework.Resource{MilliCPU: 4000, Memory: 3 * mebibyte}, 4000, 3 * mebibyte},
		},
		{
			name: "sidecars run next to the init containers after them",
			pod: objects.Pod("p").InitContainer("init", "cpu", "6", "memory", "0").Sidecar("sidecar", "cpu", "1", "memory", "0").InitContainer("init", "cpu", "7", "memory", "0").
				Container("a", "cpu", "1", "memory", "0"),
			want: podUse{framework.Resource{MilliCPU: 8000}, 8000, 0},
		},
		{
			name: "defaults of sidecars are summands",
			pod:  objects.Pod("p").Sidecar("sidecar").Container("a", "cpu", "1", "memory", "1Mi"),
			want: podUse{framework.Resource{MilliCPU: 1000, Memory: mebibyte}, 1100, 201 * mebibyte},
		},
		{
			name: "overhead comes on top",
			pod:  objects.Pod("p").Container("a", "cpu", "1").Overhead("cpu", "250m", "memory", "1Mi", "example.com/gpu", "1"),
			want: podUse{framework.Resource{MilliCPU: 1250, Memory: mebibyte,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 1}}, 1250, 201 * mebibyte},
		},
		{
			name: "pod-level requests replace those of containers",
			pod: objects.Pod("p").PodRequests("cpu", "3", "memory", "5Mi").Container("a", "cpu", "1").Container("b", "cpu", "4", "memory", "9Mi").
				Overhead("cpu", "1"),
			want: podUse{framework.Resource{MilliCPU: 4000, Memory: 5 * mebibyte}, 4000, 5 * mebibyte},
		},
		{
			name: "with pod-level requests a resource that no container names gets the default of every container",
			pod:  objects.Pod("p").PodRequests("cpu", "3").Container("a").Container("b").Container("c"),
			want: podUse{framework.Resource{MilliCPU: 3000}, 3000, 600 * mebibyte},
		},
		{
			name: "with pod-level requests a resource that some container names gets no default",
			pod:  objects.Pod("p").PodRequests("memory", "3Mi").Container("a", "cpu", "1m").Container("b"),
			want: podUse{framework.Resource{MilliCPU: 1, Memory: 3 * mebibyte}, 1, 3 * mebibyte},
		},
		{
			name: "pod-level zero stays zero",
			pod:  objects.Pod("p").PodRequests("cpu", "0", "memory", "0").Container("a"),
		},
		{
			name: "pod-level requests of huge pages are requests of the pod too",
			pod:  objects.Pod("p").PodRequests("hugepages-2Mi", "4Mi").Container("a"),
			want: podUse{framework.Resource{ScalarResources: map[v1.ResourceName]int64{"hugepages-2Mi": 4 * mebibyte}}, 100, 200 * mebibyte},
		},
		{
			name: "pod-level limits alone change nothing",
			pod:  objects.Pod("p").With(withPodLimits("cpu", "3")).Container("a").Container("b"),
			want: podUse{framework.Resource{}, 200, 400 * mebibyte},
		},
		{
			name: "a pod that shrinks holds what it was given",
			pod: objects.Pod("p").Container("a", "cpu", "1", "memory", "1Mi").
				With(withStatus("a", objects.Resources("cpu", "3", "memory", "1Mi"), objects.Resources("cpu", "2", "memory", "4Mi"))),
			want: podUse{framework.Resource{MilliCPU: 3000, Memory: 4 * mebibyte}, 3000, 4 * mebibyte},
		},
		{
			name: "a pod with one container, and what its node says of the pod as a whole",
			pod: objects.Pod("p").Container("a", "cpu", "1", "memory", "1Mi").With(func(pod *v1.Pod) {
				pod.Status.AllocatedResources = objects.Resources("cpu", "3", "memory", "1Mi")
				pod.Status.Resources = &v1.ResourceRequirements{Requests: objects.Resources("cpu", "3", "memory", "1Mi")}
			}),
			want: podUse{framework.Resource{MilliCPU: 3000, Memory: mebibyte}, 3000, mebibyte},
		},
		{
			name: "an infeasible growth does not count",
			pod: objects.Pod("p").Container("a", "cpu", "9", "memory", "9Mi").With(withResize(v1.PodReasonInfeasible)).
				With(withStatus("a", objects.Resources("cpu", "3", "memory", "1Mi"), objects.Resources("cpu", "2", "memory", "4Mi"))),
			want: podUse{framework.Resource{MilliCPU: 3000, Memory: 4 * mebibyte}, 3000, 4 * mebibyte},
		},
		{
			name: "an infeasible growth of which nothing is known yet leaves the defaults",
			pod:  objects.Pod("p").Container("a", "cpu", "9", "memory", "9Mi").With(withResize(v1.PodReasonInfeasible)),
			want: podUse{framework.Resource{}, 100, 200 * mebibyte},
		},
		{
			name: "a request that the container was not given before",
			pod:  objects.Pod("p").Container("a", "cpu", "20m", "memory", "1Mi").With(withStatus("a", objects.Resources("memory", "1Mi"), nil)),
			want: podUse{framework.Resource{MilliCPU: 20, Memory: mebibyte}, 100, mebibyte},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, useOf(t, test.pod.Build())); diff != "" {
				t.Errorf("CalculateResource (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNonZeroRequestsModel compares random pods with the full computation: every container asked with the defaults.
func TestNonZeroRequestsModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	options := podresource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	withDefaults := options
	withDefaults.NonMissingContainerRequests = objects.Resources("cpu", "100m", "memory", "200Mi")
	for range 5000 {
		pod := randomPod(random)
		plain, filled := podresource.PodRequests(pod, options), podresource.PodRequests(pod, withDefaults)
		want := podUse{*framework.NewResource(plain), filled.Cpu().MilliValue(), filled.Memory().Value()}
		if diff := cmp.Diff(want, useOf(t, pod)); diff != "" {
			t.Fatalf("pod %v %v:\n(-want +got):\n%s", pod.Spec, pod.Status, diff)
		}
	}
}

// randomPod returns a pod without pod-level requests.
func randomPod(random *rand.Rand) *v1.Pod {
	list := func() v1.ResourceList {
		list := v1.ResourceList{}
		for name, unit := range map[v1.ResourceName]string{"cpu": "m", "memory": "Mi", "example.com/gpu": ""} {
			if random.IntN(4) > 0 {
				list[name] = objects.Resources("q", strconv.Itoa(random.IntN(300))+unit)["q"]
			}
		}
		return list
	}
	builder := objects.Pod("p")
	for i := range random.IntN(3) {
		builder = builder.Container(fmt.Sprint("c", i))
	}
	for range random.IntN(3) {
		if random.IntN(2) == 0 {
			builder = builder.Sidecar("init")
		} else {
			builder = builder.InitContainer("init")
		}
	}
	pod := builder.Build()
	if random.IntN(5) == 0 {
		pod.Spec.Containers = nil
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources.Requests = list()
	}
	for i := range pod.Spec.InitContainers {
		pod.Spec.InitContainers[i].Resources.Requests = list()
	}
	for i := range pod.Spec.Containers {
		var allocated, running v1.ResourceList
		if random.IntN(2) == 0 {
			allocated = list()
		}
		if random.IntN(2) == 0 {
			running = list()
		}
		if random.IntN(2) == 0 {
			withStatus(pod.Spec.Containers[i].Name, allocated, running)(pod)
		}
	}
	if random.IntN(3) == 0 {
		pod.Status.AllocatedResources = list()
	}
	if random.IntN(3) == 0 {
		pod.Status.Resources = &v1.ResourceRequirements{}
		if random.IntN(2) == 0 {
			pod.Status.Resources.Requests = list()
		}
	}
	if random.IntN(5) == 0 {
		withResize([]string{v1.PodReasonInfeasible, v1.PodReasonDeferred}[random.IntN(2)])(pod)
	}
	if random.IntN(5) == 0 {
		pod.Spec.Overhead = list()
	}
	return pod
}

// TestRequestsAreKept checks that what was added to a node is what is subtracted, whatever happened to the pod since.
func TestRequestsAreKept(t *testing.T) {
	pod := objects.Pod("p").Container("a", "cpu", "1", "memory", "1Mi").Build()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() { info.CalculateResource() })
	}
	readers.Wait()
	pod.Spec.Containers[0].Resources.Requests = objects.Resources("cpu", "5")
	if got := info.CalculateResource().Resource.GetMilliCPU(); got != 1000 {
		t.Errorf("after the pod was changed it requests %d, want the first result 1000", got)
	}
	if err := info.Update(pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if got := info.CalculateResource().Resource.GetMilliCPU(); got != 5000 {
		t.Errorf("after Update it requests %d, want 5000", got)
	}
}

// The short way and the long way come to the same.
func TestOnlyRequests(t *testing.T) {
	for _, requests := range []v1.ResourceList{
		nil,
		{v1.ResourceCPU: resource.MustParse("0.5m")},
		{v1.ResourceMemory: resource.MustParse("1.5")},
		{v1.ResourceCPU: resource.MustParse("0"), v1.ResourceMemory: resource.MustParse("1Gi"), "example.com/gpu": resource.MustParse("2")},
	} {
		only := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}}}
		if _, ok := framework.OnlyRequests(only); !ok {
			t.Errorf("%v: the only container has all the requests", requests)
		}
		// An overhead of nothing takes the long way.
		general := only.DeepCopy()
		general.Spec.Overhead = v1.ResourceList{v1.ResourceCPU: resource.MustParse("0")}
		if _, ok := framework.OnlyRequests(general); ok {
			t.Errorf("%v: the overhead counts too", requests)
		}
		if diff := cmp.Diff(useOf(t, general), useOf(t, only)); diff != "" {
			t.Errorf("%v: (-general +only):\n%s", requests, diff)
		}
	}
}
