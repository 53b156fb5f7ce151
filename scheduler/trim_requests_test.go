// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
)

// TestPodsTakeWhatTheirLibrarySays compares what random pods take of their nodes, full and trimmed, with what
// component-helpers says with the options of kube-scheduler.
func TestPodsTakeWhatTheirLibrarySays(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	shared := &sharedValues{}
	options := podresource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	for range 5000 {
		pod := podWithResources(random)
		want := podresource.PodRequests(pod, options)
		filled := options
		filled.NonMissingContainerRequests = v1.ResourceList{}
		for name, amount := range map[v1.ResourceName]string{v1.ResourceCPU: "100m", v1.ResourceMemory: "200Mi"} {
			if _, asked := want[name]; !asked || !podresource.IsPodLevelRequestsSet(pod) {
				filled.NonMissingContainerRequests[name] = resource.MustParse(amount)
			}
		}
		nonZero := podresource.PodRequests(pod, filled)
		expected := fmt.Sprint(*framework.NewResource(want), nonZero.Cpu().MilliValue(), nonZero.Memory().Value())
		trimmed := shrunk(t, shared, pod.DeepCopy()).(*v1.Pod)
		for name, pod := range map[string]*v1.Pod{"full": pod, "trimmed": trimmed} {
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				t.Fatal(err)
			}
			use := info.CalculateResource()
			got := fmt.Sprint(*use.Resource.(*framework.Resource), use.Non0CPU, use.Non0Mem)
			if diff := cmp.Diff(expected, got); diff != "" {
				t.Fatalf("%s pod with spec %v and status %v (-want +got):\n%s", name, pod.Spec, pod.Status, diff)
			}
		}
	}
}

// podWithResources returns a pod on a node with some of all the fields that say what it takes.
func podWithResources(random *rand.Rand) *v1.Pod {
	often := func(n int) bool { return random.IntN(n) == 0 }
	list := func() v1.ResourceList { // nil, empty, or with some resources
		if often(4) {
			return nil
		}
		list := v1.ResourceList{}
		for _, name := range []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "unknown"} {
			if often(2) && len(list) < random.IntN(6) {
				list[name] = *resource.NewMilliQuantity(500*int64(random.IntN(9)), resource.DecimalSI)
			}
		}
		return list
	}
	requirements := func() *v1.ResourceRequirements {
		if often(2) {
			return nil
		}
		return &v1.ResourceRequirements{Requests: list(), Limits: list()}
	}
	pod := &v1.Pod{}
	pod.Name, pod.Spec.NodeName = "p", "n"
	pod.Spec.Overhead, pod.Spec.Resources = list(), requirements()
	if often(2) {
		pod.Spec.Overhead, pod.Spec.Resources = nil, nil
	}
	if often(2) {
		pod.Status.AllocatedResources, pod.Status.Resources = list(), requirements()
	}
	container := func(name string) (v1.Container, v1.ContainerStatus) {
		c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: list(), Limits: list()}}
		if often(2) {
			c.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		}
		return c, v1.ContainerStatus{Name: name, AllocatedResources: list(), Resources: requirements()}
	}
	for i := range 1 + random.IntN(3) {
		c, status := container(fmt.Sprint("c", i))
		c.RestartPolicy = nil
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		if often(3) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		}
	}
	for i := range max(0, random.IntN(5)-2) {
		c, status := container(fmt.Sprint("i", i))
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		if often(3) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
		}
	}
	if often(4) {
		reasons := []string{v1.PodReasonInfeasible, v1.PodReasonDeferred, ""}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: reasons[random.IntN(3)]}}
	}
	return pod
}
