// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/utils/ptr"
)

// DeviceControllers do what the controller of resource claims and the kubelets would: claims are made from templates, pods
// that are bound run for a while and end, and the claims of pods that have ended are given back.
type DeviceControllers struct {
	tb     testing.TB
	client clientset.Interface
	pods   corelisters.PodLister
	claims resourcelisters.ResourceClaimLister
	lasts  time.Duration

	mu      sync.Mutex
	started map[types.UID]time.Time // when pods that are bound began to run
	ended   int
}

// StartDeviceControllers starts them. Pods run for so long. They stop when the test ends.
func StartDeviceControllers(ctx context.Context, tb testing.TB, client clientset.Interface, lasts time.Duration) *DeviceControllers {
	tb.Helper()
	factory := informers.NewSharedInformerFactory(client, 0)
	c := &DeviceControllers{
		tb: tb, client: client, lasts: lasts, started: map[types.UID]time.Time{},
		pods: factory.Core().V1().Pods().Lister(), claims: factory.Resource().V1().ResourceClaims().Lister(),
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() {
		for pause(ctx, 50*time.Millisecond) {
			c.look(ctx)
		}
	})
	tb.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	return c
}

// Ended returns how many pods have ended.
func (c *DeviceControllers) Ended() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// look does what there is to do. What fails, because objects have changed or the API server is down, is done the next time.
func (c *DeviceControllers) look(ctx context.Context) {
	pods, _ := c.pods.List(labels.Everything()) // never fails
	claims, _ := c.claims.List(labels.Everything())
	byUID := map[types.UID]*v1.Pod{}
	var tasks []func()
	ended := 0
	for _, pod := range pods {
		byUID[pod.UID] = pod
		switch {
		case hasEnded(pod):
			ended++
		case pod.Spec.NodeName != "":
			tasks = append(tasks, func() { c.runPod(ctx, pod) })
		case len(pod.Status.ResourceClaimStatuses) < len(templatesOf(pod)):
			tasks = append(tasks, func() { c.makeClaims(ctx, pod) })
		}
	}
	for _, claim := range claims {
		tasks = append(tasks, func() { c.cleanUp(ctx, claim, byUID) })
	}
	c.mu.Lock()
	c.ended = ended
	c.mu.Unlock()
	queue := make(chan func())
	var workers sync.WaitGroup
	for range creators {
		workers.Go(func() {
			for task := range queue {
				task()
			}
		})
	}
	for _, task := range tasks {
		queue <- task
	}
	close(queue)
	workers.Wait()
}

func hasEnded(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded }

// templatesOf returns the templates of a pod by the name of the claim in its spec.
func templatesOf(pod *v1.Pod) map[string]string {
	templates := map[string]string{}
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimTemplateName != nil {
			templates[claim.Name] = *claim.ResourceClaimTemplateName
		}
	}
	return templates
}

// makeClaims makes the claims of a pod from templates, and names them in the status of the pod.
func (c *DeviceControllers) makeClaims(ctx context.Context, pod *v1.Pod) {
	pod = pod.DeepCopy()
	pod.Status.ResourceClaimStatuses = nil
	templates := templatesOf(pod)
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		claim := &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: pod.Name + "-" + name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}},
			},
			Spec: templateSpec(templates[name]),
		}
		_, err := c.client.ResourceV1().ResourceClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return
		}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{
			Name: name, ResourceClaimName: &claim.Name,
		})
	}
	_, _ = c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

// runPod checks what a kubelet would before it starts the pod, and ends the pod when it has run for long enough.
func (c *DeviceControllers) runPod(ctx context.Context, pod *v1.Pod) {
	c.mu.Lock()
	started, runs := c.started[pod.UID]
	c.mu.Unlock()
	if !runs {
		if !c.admit(ctx, pod) {
			return
		}
		c.mu.Lock()
		c.started[pod.UID] = time.Now()
		c.mu.Unlock()
		return
	}
	if time.Since(started) < c.lasts {
		return
	}
	pod = pod.DeepCopy()
	pod.Status.Phase = v1.PodSucceeded
	_, _ = c.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

// admit fails the test unless the claims of a pod that is bound have devices for its node, and are reserved for it. It
// returns false if the API server could not be asked.
func (c *DeviceControllers) admit(ctx context.Context, pod *v1.Pod) bool {
	for _, name := range usedClaims(pod) {
		if name == "" {
			c.tb.Errorf("pod %s is bound to %s without a claim for what it asks for", pod.Name, pod.Spec.NodeName)
			continue
		}
		claim, err := c.client.ResourceV1().ResourceClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			c.tb.Errorf("pod %s is bound to %s, and there is no claim %s", pod.Name, pod.Spec.NodeName, name)
		case err != nil:
			return false
		case claim.Status.Allocation == nil:
			c.tb.Errorf("pod %s is bound to %s, and its claim %s has no devices", pod.Name, pod.Spec.NodeName, name)
		case !slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod.UID }):
			c.tb.Errorf("pod %s is bound to %s, and its claim %s is not reserved for it", pod.Name, pod.Spec.NodeName, name)
		default:
			for _, result := range claim.Status.Allocation.Devices.Results {
				if result.Driver != links && result.Pool != pod.Spec.NodeName {
					c.tb.Errorf("pod %s is bound to %s, and its claim %s has a device of %s", pod.Name, pod.Spec.NodeName, name, result.Pool)
				}
			}
		}
	}
	return true
}

// usedClaims returns the names of the claims that a bound pod uses; one that should be there and is not has no name.
func usedClaims(pod *v1.Pod) (names []string) {
	made := map[string]string{}
	for _, status := range pod.Status.ResourceClaimStatuses {
		made[status.Name] = ptr.Deref(status.ResourceClaimName, "")
	}
	for _, claim := range pod.Spec.ResourceClaims {
		names = append(names, ptr.Deref(claim.ResourceClaimName, made[claim.Name]))
	}
	if _, asks := pod.Spec.Containers[0].Resources.Limits[servedResource]; asks {
		name := ""
		if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
			name = status.ResourceClaimName
		}
		names = append(names, name)
	}
	return names
}

// cleanUp takes a claim back from pods that have ended. Devices that no pod uses are given back, and a claim that belongs to
// a pod that has ended is deleted.
func (c *DeviceControllers) cleanUp(ctx context.Context, claim *resourceapi.ResourceClaim, pods map[types.UID]*v1.Pod) {
	claim = claim.DeepCopy()
	api := c.client.ResourceV1().ResourceClaims(claim.Namespace)
	users := len(claim.Status.ReservedFor)
	for _, user := range claim.Status.ReservedFor {
		if pods[user.UID] == nil {
			// The informer of pods may be behind that of claims.
			if pod, err := c.client.CoreV1().Pods(claim.Namespace).Get(ctx, user.Name, metav1.GetOptions{}); err == nil && pod.UID == user.UID {
				return
			}
			c.tb.Errorf("claim %s is reserved for %v, which does not exist", claim.Name, user)
		}
	}
	claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool {
		pod := pods[user.UID]
		return pod == nil || hasEnded(pod)
	})
	if len(claim.Status.ReservedFor) < users {
		if len(claim.Status.ReservedFor) == 0 {
			claim.Status.Allocation, claim.Status.Devices = nil, nil
		}
		_, _ = api.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return
	}
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil || pods[owner.UID] == nil || !hasEnded(pods[owner.UID]) {
		return
	}
	if claim.Status.Allocation != nil {
		// The scheduler allocated the claim, and no pod uses it: an attempt that was cut short.
		claim.Status.Allocation = nil
		_, _ = api.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return
	}
	if slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourceapi.Finalizer })
		updated, err := api.Update(ctx, claim, metav1.UpdateOptions{})
		if err != nil {
			return
		}
		claim = updated
	}
	_ = api.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
}

// describeLeaks says what is waited for, in a line.
func describeLeaks(leaks []string) string {
	if len(leaks) > 5 {
		leaks = append(leaks[:5:5], fmt.Sprintf("and %d more", len(leaks)-5))
	}
	return fmt.Sprintf("the devices to be given back: %q", leaks)
}
