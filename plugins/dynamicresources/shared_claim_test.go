// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// versionClaims has the client refuse to update a claim that is not the version that it has, as the API server does. It
// returns what counts these conflicts.
func (w *world) versionClaims() (conflicts *int) {
	conflicts = new(int)
	resource := resourceapi.SchemeGroupVersion.WithResource("resourceclaims")
	w.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		claim := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim).DeepCopy()
		stored, err := w.client.Tracker().Get(resource, claim.Namespace, claim.Name)
		if err != nil {
			return true, nil, err
		}
		version := stored.(*resourceapi.ResourceClaim).ResourceVersion
		if claim.ResourceVersion != version {
			*conflicts++
			return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), claim.Name, errors.New("it has changed"))
		}
		number, err := strconv.Atoi(version)
		if err != nil {
			return true, nil, err
		}
		claim.ResourceVersion = strconv.Itoa(number + 1)
		return true, claim, w.client.Tracker().Update(resource, claim, claim.Namespace)
	})
	return conflicts
}

// Pods that share a claim, and are bound at the same time, do not get into each other's way.
func TestPodsThatShareAClaimAreBoundWithoutConflicts(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		conflicts := w.versionClaims()
		// The first has the claim allocated, and the others share it.
		first := podOf("first", "a")
		fixture.CheckStatus(t, w.PreBind(t.Context(), w.reserve(first), first, "n1"), nil)
		const count = 20
		var pods []*v1.Pod
		var states []fwk.CycleState
		for i := range count {
			pods = append(pods, podOf(fmt.Sprint("pod", i), "a"))
			states = append(states, w.reserve(pods[i]))
		}
		w.client.ClearActions()
		began := time.Now()
		var bindings sync.WaitGroup
		for i := range count {
			bindings.Go(func() { fixture.CheckStatus(t, w.PreBind(t.Context(), states[i], pods[i], "n1"), nil) })
		}
		bindings.Wait()
		if requests := len(w.client.Actions()); *conflicts > 0 || requests != count {
			t.Errorf("%d requests with %d conflicts, want %d and none", requests, *conflicts, count)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the bindings paused for %v", waited)
		}
		claim, err := w.client.ResourceV1().ResourceClaims("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || len(claim.Status.ReservedFor) != count+1 {
			t.Errorf("the claim is reserved for %d pods (error: %v), want %d", len(claim.Status.ReservedFor), err, count+1)
		}
	})
}

// A pod that is taken back while it waits for its turn does not wait on.
func TestWaitForAClaimEndsWithTheContext(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		pod := podOf("first", "a")
		state := w.reserve(pod)
		end, err := w.writers.begin(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		preempted := errors.New("preempted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(preempted) })
		if status := w.PreBind(ctx, state, pod, "n1"); !errors.Is(status.AsError(), preempted) {
			t.Errorf("got %v, want that it was preempted", status)
		}
		end()
		fixture.CheckStatus(t, w.PreBind(t.Context(), state, pod, "n1"), nil)
		if len(w.writers.writers) > 0 {
			t.Errorf("claims are still being written: %v", w.writers.writers)
		}
	})
}
