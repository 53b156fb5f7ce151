// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// stage is how far a pod has come.
type stage string

// The stages, under their names in the files. A pod is attempted when its status says whether it could be scheduled.
const (
	attempted stage = "Attempted"
	scheduled stage = "Scheduled"
)

// createdPod is a pod that an operation created.
type createdPod struct {
	uid             types.UID
	namespace, name string
	labels          map[string]string
}

// podState is what is known of a pod.
type podState struct {
	namespace string
	labels    map[string]string
	attempted bool
	scheduled time.Time // zero: not yet
	gone      bool
	message   string // why it is not scheduled
}

func (s *podState) reached(target stage) bool {
	return s != nil && (s.gone || !s.scheduled.IsZero() || target == attempted && s.attempted)
}

// tracker follows all pods.
type tracker struct {
	mu   sync.Mutex
	pods map[types.UID]*podState
}

// trackPods starts to follow pods, until the context ends.
func trackPods(ctx context.Context, client clientset.Interface) (*tracker, error) {
	t := &tracker{pods: map[types.UID]*podState{}}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(onlyWhatIsTracked))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc:    t.saw,
		UpdateFunc: func(_, object any) { t.saw(object) },
		DeleteFunc: t.sawDeletion,
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return t, ctx.Err()
}

// onlyWhatIsTracked keeps of a pod what the tracker reads.
func onlyWhatIsTracked(object any) (any, error) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return object, nil
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels,
			ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec:   v1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: v1.PodStatus{Conditions: slices.DeleteFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type != v1.PodScheduled })},
	}, nil
}

func (t *tracker) saw(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.pods[pod.UID]
	if state == nil {
		state = &podState{namespace: pod.Namespace}
		t.pods[pod.UID] = state
	}
	state.labels = pod.Labels
	state.gone = pod.DeletionTimestamp != nil
	for _, condition := range pod.Status.Conditions {
		state.attempted, state.message = true, condition.Reason+": "+condition.Message
	}
	if pod.Spec.NodeName != "" && state.scheduled.IsZero() {
		state.scheduled = time.Now()
	}
}

func (t *tracker) sawDeletion(object any) {
	if unknown, ok := object.(clientcache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.pods[pod.UID]; state != nil {
		state.gone = true
	}
}

// unreached returns the pods that have not reached a stage.
func (t *tracker) unreached(pods []createdPod, target stage) []createdPod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(pods, func(p createdPod) bool { return t.pods[p.uid].reached(target) })
}

// scheduledSince returns when pods were scheduled, in order: those of the namespaces, or of all if there are none, with
// the labels.
func (t *tracker) scheduledSince(start time.Time, namespaces []string, want map[string]string) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	selector := labels.SelectorFromSet(want)
	var times []time.Time
	for _, state := range t.pods {
		if state.scheduled.After(start) && (len(namespaces) == 0 || slices.Contains(namespaces, state.namespace)) &&
			selector.Matches(labels.Set(state.labels)) {
			times = append(times, state.scheduled)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// describe says what pods wait for: how many of them, and of the first few the reasons.
func (t *tracker) describe(pods []createdPod) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := map[string]int{}
	var order []string
	for _, pod := range pods {
		message := "no attempt has been reported"
		if state := t.pods[pod.uid]; state == nil {
			message = "has not been seen by the watch"
		} else if state.message != "" {
			message = state.message
		}
		if counts[message]++; counts[message] == 1 {
			order = append(order, message)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	var lines []string
	for _, message := range order[:min(3, len(order))] {
		lines = append(lines, fmt.Sprintf("%d pods: %s", counts[message], message))
	}
	return strings.Join(lines, "; ")
}
