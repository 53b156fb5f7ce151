// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// world is a plugin with informers of a cluster.
type world struct {
	*plugin
	t      *testing.T
	client *fake.Clientset
	nodes  fixture.Nodes
	// framework is what the handle of the plugin is based on.
	framework *runtime.Framework
}

// inWorld runs a test in a cluster with the objects.
func inWorld(t *testing.T, objects []apiruntime.Object, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, client: fake.NewClientset(objects...)}
		// The informer of claims lags forever: it has what there is at the beginning.
		w.client.PrependWatchReactor("resourceclaims", clienttesting.DefaultWatchReactor(watch.NewFake(), nil))
		factory := informers.NewSharedInformerFactory(w.client, 0)
		manager, err := devices.New(t.Context(), devices.Options{Informers: factory})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if node, ok := object.(*v1.Node); ok {
				w.nodes.Infos = append(w.nodes.Infos, fixture.NodeInfo(node))
			}
		}
		w.framework = fixture.NewCluster(t, fixture.ClusterOptions{Objects: objects}).Framework
		built, err := New(t.Context(), nil, handle{Framework: w.framework, client: w.client, manager: manager})
		if err != nil {
			t.Fatal(err)
		}
		w.plugin = built.(*plugin)
		factory.Start(t.Context().Done())
		factory.WaitForCacheSync(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		synctest.Wait()
		test(t, w)
	})
}

// handle is that of a framework, with devices.
type handle struct {
	*runtime.Framework
	client  *fake.Clientset
	manager *devices.Manager
}

func (h handle) ClientSet() clientset.Interface { return h.client }

func (h handle) SharedDRAManager() fwk.SharedDRAManager { return h.manager }

func gpus(node string, names ...string) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
	slice.Spec = resourceapi.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}
	for _, name := range names {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: name})
	}
	return slice
}

func gpuClass() *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
}

func gpuClaim(name string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return claim
}

func podOf(name string, claims ...string) *v1.Pod {
	return objects.Pod(name).With(func(pod *v1.Pod) {
		pod.UID = types.UID(name)
		for i := range claims {
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprintf("r%d", i), ResourceClaimName: &claims[i]})
		}
	}).Build()
}

// filter runs PreFilter and Filter on the first node.
func (w *world) filter(pod *v1.Pod) (fwk.CycleState, *fwk.Status) {
	w.t.Helper()
	state := framework.NewCycleState()
	if _, status := w.PreFilter(w.t.Context(), state, pod, nil); !status.IsSuccess() {
		return state, status
	}
	return state, w.Filter(w.t.Context(), state, pod, w.nodes.Infos[0])
}

func (w *world) reserve(pod *v1.Pod) fwk.CycleState {
	w.t.Helper()
	state, status := w.filter(pod)
	fixture.CheckStatus(w.t, status, nil)
	fixture.CheckStatus(w.t, w.Reserve(w.t.Context(), state, pod, "n1"), nil)
	return state
}

func oneGPU() []apiruntime.Object {
	return []apiruntime.Object{objects.Node("n1").Build(), gpuClass(), gpus("n1", "d0"), gpuClaim("a"), gpuClaim("b")}
}

func TestDeviceGoesToOnePod(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		first, second := podOf("first", "a"), podOf("second", "b")
		state := w.reserve(first)
		_, status := w.filter(second)
		fixture.CheckStatus(t, status, rejected(reasonCannotAllocate))
		_, status = w.filter(podOf("third", "a"))
		fixture.CheckStatus(t, status, rejected("resource claim default/a is in the process of being allocated"))
		w.Unreserve(t.Context(), state, first, "n1")
		w.Unreserve(t.Context(), state, first, "n1")
		_, status = w.filter(second)
		fixture.CheckStatus(t, status, nil)
	})
}

// What was chosen before the device went to another claim is chosen again, and not taken.
func TestReserveLooksAgain(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		state, status := w.filter(podOf("first", "a"))
		fixture.CheckStatus(t, status, nil)
		w.reserve(podOf("second", "b"))
		fixture.CheckStatus(t, w.Reserve(t.Context(), state, podOf("first", "a"), "n1"), rejected(reasonCannotAllocate))
	})
}

// A claim may have devices before the status of its pod names it: the pod is held back until then.
func TestClaimAllocatedBeforeItIsNamed(t *testing.T) {
	pod := objects.Pod("p").With(func(pod *v1.Pod) {
		pod.UID = "p"
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "r", ResourceClaimTemplateName: ptr.To("template")}}
	}).Build()
	claim := gpuClaim("a")
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: ptr.To(true)}}
	claim.Status.Allocation = &resourceapi.AllocationResult{}
	inWorld(t, []apiruntime.Object{objects.Node("n1").Build(), gpuClass(), claim}, func(t *testing.T, w *world) {
		fixture.CheckStatus(t, w.PreEnqueue(t.Context(), pod), rejected(`pod "default/p": ResourceClaim not created yet`))
		named := pod.DeepCopy()
		named.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: ptr.To("a")}}
		if hint, err := w.afterPodChange(klog.Logger{}, nil, nil, named); hint != fwk.Queue || err != nil {
			t.Errorf("got hint %v, error %v", hint, err)
		}
		fixture.CheckStatus(t, w.PreEnqueue(t.Context(), named), nil)
		_, status := w.filter(named)
		fixture.CheckStatus(t, status, nil)
	})
}

// The API server may write an allocation and not be able to say so. The pod is bound all the same, or at least the device
// is not given to another.
func TestLostAnswers(t *testing.T) {
	for name, lost := range map[string]int{"once": 1, "for good": 1000} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, oneGPU(), func(t *testing.T, w *world) {
				version := 1
				w.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
					if action.GetSubresource() != "status" || lost == 0 {
						return false, nil, nil
					}
					lost--
					version++
					claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
					claim.ResourceVersion = strconv.Itoa(version)
					if err := w.client.Tracker().Update(action.GetResource(), claim, claim.Namespace); err != nil {
						t.Error(err)
					}
					return true, nil, apierrors.NewTimeoutError("the answer is lost", 0)
				})
				pod := podOf("first", "a")
				state := w.reserve(pod)
				status := w.PreBind(t.Context(), state, pod, "n1")
				if !status.IsSuccess() {
					if name == "once" {
						t.Fatal(status.AsError())
					}
					w.Unreserve(t.Context(), state, pod, "n1")
				}
				_, status = w.filter(podOf("second", "b"))
				fixture.CheckStatus(t, status, rejected(reasonCannotAllocate))
				synctest.Wait()
				_, status = w.filter(podOf("second", "b"))
				fixture.CheckStatus(t, status, rejected(reasonCannotAllocate))
			})
		})
	}
}

// Another scheduler may have allocated a claim without saying when. From the first reservation on that is known, so that the
// wait for devices that never get ready ends.
func TestReservationSaysSinceWhenDevicesAreAllocated(t *testing.T) {
	all := oneGPU()
	claim := all[3].(*resourceapi.ResourceClaim)
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Request: "r", Driver: "gpu.example.com", Pool: "n1", Device: "d0", BindingConditions: []string{"Ready"}},
	}}}
	inWorld(t, all, func(t *testing.T, w *world) {
		pod := podOf("first", claim.Name)
		state := w.reserve(pod)
		if status := w.PreBind(t.Context(), state, pod, "n1"); !strings.Contains(status.Message(), "device binding timeout") {
			t.Errorf("got %v, want a timeout", status)
		}
		time.Sleep(time.Second) // of the bubble: times in the API are whole seconds
		_, status := w.filter(podOf("second", claim.Name))
		fixture.CheckStatus(t, status, rejected(reasonUnavailable))
	})
}

// A replica that was stopped while it bound a pod, and goes on when another one has bound it or is about to, leaves the
// reservations of the pod alone. Otherwise they are taken back.
func TestReservationOfAPodThatAnotherSchedulerBinds(t *testing.T) {
	for name, test := range map[string]struct {
		node  string
		ended bool
		kept  bool
	}{
		"not bound":                  {"", false, false},
		"bound":                      {"n1", false, true},
		"not bound, scheduler ended": {"", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf("first", "a")
			inWorld(t, append(oneGPU(), pod), func(t *testing.T, w *world) {
				state := w.reserve(pod)
				fixture.CheckStatus(t, w.PreBind(t.Context(), state, pod, "n1"), nil)
				bound := pod.DeepCopy()
				bound.Spec.NodeName = test.node
				if _, err := w.client.CoreV1().Pods(pod.Namespace).Update(t.Context(), bound, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				if test.ended {
					cancel()
				}
				defer cancel()
				w.Unreserve(ctx, state, pod, "n1")
				claim, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "a", metav1.GetOptions{})
				if err != nil || len(claim.Status.ReservedFor) > 0 != test.kept {
					t.Errorf("the claim is reserved for %v (error: %v), want that kept: %v", claim.Status.ReservedFor, err, test.kept)
				}
			})
		})
	}
}

func TestAllocatedElsewhere(t *testing.T) {
	inWorld(t, append(oneGPU(), gpus("n2", "d0")), func(t *testing.T, w *world) {
		pod := podOf("first", "a")
		state := w.reserve(pod)
		w.client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			other := gpuClaim("a")
			other.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
				{Request: "r", Driver: "gpu.example.com", Pool: "n2", Device: "d0"},
			}}}
			if err := w.client.Tracker().Update(resourceapi.SchemeGroupVersion.WithResource("resourceclaims"), other, "default"); err != nil {
				t.Error(err)
			}
			return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), "a", nil)
		})
		status := w.PreBind(t.Context(), state, pod, "n1")
		if status.Code() != fwk.Error || !strings.Contains(status.Message(), "claim default/a got allocated elsewhere in the meantime") {
			t.Errorf("got %v", status)
		}
	})
}

// A node that was chosen because a claim has devices there is not bound when these were taken away meanwhile.
func TestDeallocatedElsewhere(t *testing.T) {
	allocated := gpuClaim("a")
	allocated.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Request: "r", Driver: "gpu.example.com", Pool: "n1", Device: "d0"},
	}}}
	inWorld(t, []apiruntime.Object{objects.Node("n1").Build(), gpuClass(), gpus("n1", "d0"), allocated}, func(t *testing.T, w *world) {
		pod := podOf("first", "a")
		state := w.reserve(pod)
		w.client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			if err := w.client.Tracker().Update(resourceapi.SchemeGroupVersion.WithResource("resourceclaims"), gpuClaim("a"), "default"); err != nil {
				t.Error(err)
			}
			return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), "a", nil)
		})
		status := w.PreBind(t.Context(), state, pod, "n1")
		if status.Code() != fwk.Error || !strings.Contains(status.Message(), "claim default/a got deallocated elsewhere in the meantime") {
			t.Errorf("got %v", status)
		}
	})
}

// The informer may learn of an allocation of another scheduler while a pod is being bound. The device is not given away again,
// and remains that of the other claim.
func TestDeviceThatAnotherClaimGetsBeforeItIsWritten(t *testing.T) {
	class := gpuClass()
	class.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	for name, pod := range map[string]*v1.Pod{
		"claim":             podOf("first", "a"),
		"extended resource": objects.Pod("first").Container("a", "example.com/gpu", "1").With(func(pod *v1.Pod) { pod.UID = "first" }).Build(),
	} {
		t.Run(name, func(t *testing.T) {
			all := []apiruntime.Object{objects.Node("n1").Build(), class, gpus("n1", "d0"), gpuClaim("a"), gpuClaim("b")}
			inWorld(t, all, func(t *testing.T, w *world) {
				state := w.reserve(pod)
				other := gpuClaim("b")
				other.ResourceVersion = "2"
				other.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
					{Request: "r", Driver: "gpu.example.com", Pool: "n1", Device: "d0"},
				}}}
				if err := w.claims.AssumeClaimAfterAPICall(other); err != nil {
					t.Fatal(err)
				}
				status := w.PreBind(t.Context(), state, pod, "n1")
				if want := "device gpu.example.com/n1/d0 got allocated to another claim in the meantime"; status.Code() != fwk.Error || !strings.Contains(status.Message(), want) {
					t.Errorf("got %v, want an error that says %q", status, want)
				}
				w.Unreserve(t.Context(), state, pod, "n1")
				listed, err := w.client.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for _, claim := range listed.Items {
					if claim.Status.Allocation != nil || claim.Name != "a" && claim.Name != "b" {
						t.Errorf("claim %s was left behind, or has the device as well: %v", claim.Name, claim.Status.Allocation)
					}
				}
				_, status = w.filter(pod)
				fixture.CheckStatus(t, status, rejected(reasonCannotAllocate))
			})
		})
	}
}

// Scores are asked for, and remembered, before it is known whether all Filter plugins accept a node.
func TestNodesWithoutDevicesCanBeScored(t *testing.T) {
	claim := gpuClaim("a")
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", FirstAvailable: []resourceapi.DeviceSubRequest{
		{Name: "two", DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 2},
		{Name: "one", DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
	}}}
	all := []apiruntime.Object{objects.Node("n1").Build(), objects.Node("n2").Build(), objects.Node("n3").Build(), gpuClass(), gpus("n1", "d0"), gpus("n2", "d0", "d1"), claim}
	inWorld(t, all, func(t *testing.T, w *world) {
		pod, state := podOf("p", "a"), framework.NewCycleState()
		_, status := w.PreFilter(t.Context(), state, pod, nil)
		fixture.CheckStatus(t, status, nil)
		for i, want := range []int64{7, 8, 0} {
			score, status := w.Score(t.Context(), state, pod, w.nodes.Infos[i])
			fixture.CheckStatus(t, status, nil)
			if score != want {
				t.Errorf("node %s: got score %d, want %d", w.nodes.Infos[i].Node().Name, score, want)
			}
		}
	})
}

// A claim for extended resources that an earlier attempt left keeps its pod from being scheduled. It is deleted, and then the
// pod is tried again, although the claim had no devices to give back.
func TestLeftoverClaimForExtendedResources(t *testing.T) {
	class := gpuClass()
	class.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	left := gpuClaim("left")
	left.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
	left.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: ptr.To(true)}}
	inWorld(t, []apiruntime.Object{objects.Node("n1").Build(), class, gpus("n1", "d0"), left}, func(t *testing.T, w *world) {
		pod := objects.Pod("p").Container("a", "example.com/gpu", "1").With(func(pod *v1.Pod) { pod.UID = "p" }).Build()
		state, status := w.filter(pod)
		fixture.CheckStatus(t, status, rejected(reasonStaleClaim))
		_, status = w.PostFilter(t.Context(), state, pod, nil)
		fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, "deletion of ResourceClaim completed"))
		if _, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "left", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the claim is still there: %v", err)
		}
		for name, want := range map[string]fwk.QueueingHint{"p": fwk.Queue, "other": fwk.QueueSkip} {
			waiting := pod
			if name == "other" {
				waiting = objects.Pod(name).Build()
			}
			if hint, err := w.afterClaimChange(klog.Logger{}, waiting, left, nil); hint != want || err != nil {
				t.Errorf("pod %s: got hint %v, error %v; want %v", name, hint, err, want)
			}
		}
		own, _ := w.HintClass(pod)
		if others, _ := w.HintClass(objects.Pod("other").Build()); own == others {
			t.Error("pods that are told different things are of one class")
		}
	})
}

// A pod that was bound, which the informer of pods does not show yet, keeps its claims and their devices: those of another
// replica's attempt, and those of an attempt of this one that failed otherwise.
func TestClaimsOfABoundPodAreKept(t *testing.T) {
	class := gpuClass()
	class.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	pod := objects.Pod("p").Container("a", "example.com/gpu", "1").With(func(pod *v1.Pod) { pod.UID = "p" }).Build()
	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n1"
	left := gpuClaim("left")
	left.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
	left.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: ptr.To(true)}}
	inWorld(t, []apiruntime.Object{objects.Node("n1").Build(), class, gpus("n1", "d0"), left, bound}, func(t *testing.T, w *world) {
		state, status := w.filter(pod)
		fixture.CheckStatus(t, status, rejected(reasonStaleClaim))
		_, status = w.PostFilter(t.Context(), state, pod, nil)
		fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, "the pod is bound already"))
		if _, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "left", metav1.GetOptions{}); err != nil {
			t.Errorf("the claim of another replica's attempt: %v", err)
		}
	})
	inWorld(t, []apiruntime.Object{objects.Node("n1").Build(), class, gpus("n1", "d0"), bound}, func(t *testing.T, w *world) {
		state := w.reserve(pod)
		written, err := readState(state)
		if err != nil {
			t.Fatal(err)
		}
		written.extended.claim = left.DeepCopy()
		if _, err := w.client.ResourceV1().ResourceClaims("default").Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Unreserve(t.Context(), state, pod, "n1")
		if _, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "left", metav1.GetOptions{}); err != nil {
			t.Errorf("the claim of an attempt that failed: %v", err)
		}
	})
}

// All devices of a node can't be had because one is taken; then the next alternative is tried, with those that are left
// (kubernetes/kubernetes#137347).
func TestAllDevicesOrAnotherAlternative(t *testing.T) {
	all := append(oneGPU(), gpus("n1", "d0", "d1"))
	all = slices.Delete(all, 2, 3) // the slice with one device
	either, other := all[2].(*resourceapi.ResourceClaim), all[3].(*resourceapi.ResourceClaim)
	either.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", FirstAvailable: []resourceapi.DeviceSubRequest{
		{Name: "all", DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeAll},
		{Name: "one", DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
	}}}
	inWorld(t, all, func(t *testing.T, w *world) {
		w.reserve(podOf("first", other.Name))
		w.reserve(podOf("second", either.Name))
		got := w.claims.GetPendingAllocation(either.UID).Devices.Results
		if len(got) != 1 || got[0].Request != "r/one" || got[0].Device != "d1" {
			t.Errorf("got %v, want d1 for the second alternative", got)
		}
	})
}

// A claim that pods on several nodes share, and claims of their own with devices of these nodes, are allocated together; the
// shared one keeps its device and ties no pod to the first node (kubernetes/kubernetes#139017).
func TestSharedAndOwnClaimsTogether(t *testing.T) {
	network := gpus("net", "port")
	network.Spec.Driver, network.Spec.NodeName, network.Spec.AllNodes = "net.example.com", nil, ptr.To(true)
	gpu, net := gpuClass(), gpuClass()
	net.Name = "net"
	gpu.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}}}
	net.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "net.example.com"`}}}
	shared := gpuClaim("shared")
	shared.Spec.Devices.Requests[0].Exactly.DeviceClassName = "net"
	all := []apiruntime.Object{
		objects.Node("n1").Build(), objects.Node("n2").Build(), gpu, net, network, gpus("n1", "d0"), gpus("n2", "d0"), shared, gpuClaim("a"), gpuClaim("b"),
	}
	inWorld(t, all, func(t *testing.T, w *world) {
		for i, own := range []string{"a", "b"} {
			pod := podOf("pod-"+own, "shared")
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "own", ResourceClaimName: &own})
			state, node := framework.NewCycleState(), w.nodes.Infos[i]
			_, status := w.PreFilter(t.Context(), state, pod, nil)
			fixture.CheckStatus(t, status, nil)
			fixture.CheckStatus(t, w.Filter(t.Context(), state, pod, node), nil)
			fixture.CheckStatus(t, w.Reserve(t.Context(), state, pod, node.Node().Name), nil)
			fixture.CheckStatus(t, w.PreBind(t.Context(), state, pod, node.Node().Name), nil)
			claim, err := w.claims.Get("default", own)
			if err != nil || claim.Status.Allocation == nil || claim.Status.Allocation.Devices.Results[0].Pool != node.Node().Name {
				t.Errorf("claim %s is %v (%v), want a device of node %s", own, claim, err, node.Node().Name)
			}
		}
		claim, err := w.claims.Get("default", "shared")
		if err != nil || len(claim.Status.ReservedFor) != 2 || claim.Status.Allocation.NodeSelector != nil || len(claim.Status.Allocation.Devices.Results) != 1 {
			t.Errorf("the shared claim is %v (%v), want one device for two pods on any node", claim, err)
		}
	})
}

func TestWithoutManager(t *testing.T) {
	built, err := New(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pl, state := built.(*plugin), framework.NewCycleState()
	_, status := pl.PreFilter(t.Context(), state, objects.Pod("p").Build(), nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
	if _, status = pl.PreFilter(t.Context(), state, podOf("p", "a"), nil); status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Errorf("got %v", status)
	}
}

func TestClaimNamedTwice(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		pod := podOf("first", "a")
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "again", ResourceClaimName: ptr.To("a")})
		state := w.reserve(pod)
		fixture.CheckStatus(t, w.PreBind(t.Context(), state, pod, "n1"), nil)
		claim, err := w.claims.Get("default", "a")
		if err != nil || len(claim.Status.Allocation.Devices.Results) != 1 || len(claim.Status.ReservedFor) != 1 {
			t.Errorf("got claim %v, error %v", claim, err)
		}
	})
}

// A node may offer an extended resource that devices serve elsewhere: then there is no claim for it, only those of the pod.
func TestResourceOnTheNodeBesideClaims(t *testing.T) {
	all := oneGPU()
	all[0].(*v1.Node).Status.Allocatable = v1.ResourceList{"example.com/fpga": resource.MustParse("1")}
	fpga := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "fpga"}}
	fpga.Spec.ExtendedResourceName = ptr.To("example.com/fpga")
	inWorld(t, append(all, fpga), func(t *testing.T, w *world) {
		pod := podOf("first", "a")
		pod = objects.PodFrom(pod).Requests("example.com/fpga", "1").Build()
		state := w.reserve(pod)
		fixture.CheckStatus(t, w.PreBind(t.Context(), state, pod, "n1"), nil)
		for _, action := range w.client.Actions() {
			if action.GetVerb() == "create" {
				t.Errorf("the API server was asked to create %s", action.GetResource().Resource)
			}
		}
		if claim, err := w.claims.Get("default", "a"); err != nil || claim.Status.Allocation == nil {
			t.Errorf("got claim %v, error %v", claim, err)
		}
	})
}

// lateClaims knows a claim that was created only from some time on.
type lateClaims struct {
	fwk.ResourceClaimTracker
	from time.Time
}

func (c lateClaims) AssumeClaimAfterAPICall(claim *resourceapi.ResourceClaim) error {
	if time.Now().Before(c.from) {
		return apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), claim.Name)
	}
	return nil
}

// The claim for extended resources that a pod gets when it is bound may reach the informer a little later. The binding goes on
// as soon as it has.
func TestBindingGoesOnWhenTheNewClaimIsKnown(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		created := time.Now()
		w.claims = lateClaims{from: created.Add(15 * time.Millisecond)}
		if err := w.show(t.Context(), &podClaim{claim: gpuClaim("new"), index: -1}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(created); waited > 50*time.Millisecond {
			t.Errorf("the claim was known after 15 ms, and the binding went on after %v", waited)
		}
	})
}
