// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// modelRun does random operations on a cache and the model of it.
type modelRun struct {
	t         *testing.T
	random    *rand.Rand
	clock     *clocktesting.FakePassiveClock
	cache     *Cache
	model     *model
	followers [3]*follower
	podNumber int32
	// last describes the latest operation, done counts operations by name and outcome.
	last string
	done map[string]int
}

func newModelRun(t *testing.T, random *rand.Rand) *modelRun {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return &modelRun{
		t: t, random: random, clock: clock,
		cache:     New(Options{Clock: clock, AssumedPodTTL: modelTTL}),
		model:     newModel(),
		followers: [3]*follower{{}, {}, {}},
		done:      map[string]int{},
	}
}

// step does one operation. The followers are updated at very different rates.
func (r *modelRun) step() {
	r.t.Helper()
	r.clock.SetTime(r.clock.Now().Add(time.Duration(r.random.IntN(1000)) * time.Millisecond))
	operations := []struct {
		weight int
		do     func()
	}{
		{14, r.putNode}, {6, r.removeNode},
		{18, r.assumePod}, {8, r.forgetPod}, {3, r.removeAssumedPod}, {14, r.addPod}, {10, r.updatePod}, {12, r.removePod},
		{2, r.recreatePod}, {1, r.expire},
		{8, func() { r.follow(0) }}, {3, func() { r.follow(1) }}, {1, func() { r.follow(2) }},
	}
	total := 0
	for _, operation := range operations {
		total += operation.weight
	}
	pick := r.random.IntN(total)
	for _, operation := range operations {
		if pick -= operation.weight; pick < 0 {
			operation.do()
			break
		}
	}
	if diff := gocmp.Diff(r.model.counts(), r.cache.Counts()); diff != "" {
		r.t.Errorf("counts (-model +cache):\n%s", diff)
	}
}

// check compares the outcome of an operation, of which only a success or a contradiction changes anything.
func (r *modelRun) check(name string, object any, err error, want outcome) {
	r.t.Helper()
	r.last = fmt.Sprintf("%s(%v)", name, object)
	r.done[name+": "+string(want)]++
	got := success
	var corrupted *CorruptedError
	if errors.As(err, &corrupted) {
		got = contradiction
	} else if err != nil {
		got = failure
	}
	if got != want {
		r.t.Errorf("%s: %s (%v), want %s", r.last, got, err, want)
	}
}

type outcome string

const (
	success       outcome = "success"
	failure       outcome = "failure"
	contradiction outcome = "contradiction"
)

func (r *modelRun) chance(percent int) bool { return r.random.IntN(100) < percent }

func (r *modelRun) nodeName() string { return fmt.Sprint("node-", r.random.IntN(14)) }

func (r *modelRun) node() *v1.Node {
	node := objects.Node(r.nodeName()).Allocatable("cpu", fmt.Sprint(1+r.random.IntN(8)), "pods", "10")
	if r.chance(80) {
		node = node.Label(v1.LabelTopologyZone, fmt.Sprint(r.random.IntN(4)))
	}
	for range r.random.IntN(4) {
		name := fmt.Sprint("image-", r.random.IntN(6))
		node = node.Image(int64(1+r.random.IntN(100)), name, name+"@digest")
	}
	return node.Build()
}

// pod returns a pod with the given UID and random contents. Ports are never shared, as they are on no real node.
func (r *modelRun) pod(uid types.UID, nodeName string) *v1.Pod {
	pod := objects.Pod(string(uid)).UID(uid).Node(nodeName)
	if r.chance(70) {
		pod = pod.Requests("cpu", fmt.Sprint(r.random.IntN(3000), "m"), "example.com/foo", fmt.Sprint(r.random.IntN(3)))
	}
	if r.chance(20) {
		r.podNumber++
		pod = pod.HostPort(r.podNumber)
	}
	for range r.random.IntN(3) {
		pod = pod.PersistentVolumeClaim(fmt.Sprint("claim-", r.random.IntN(3)))
	}
	switch r.random.IntN(8) {
	case 0:
		pod = pod.PreferredPodAffinity(1, v1.LabelHostname, "")
	case 1:
		pod = pod.PodAntiAffinity(v1.LabelHostname, "")
	}
	return pod.Build()
}

// knownPod returns a pod of the model, or an unknown one with some probability or if there is none.
func (r *modelRun) knownPod() (modelPod, bool) {
	if len(r.model.pods) == 0 || r.chance(5) {
		return modelPod{pod: r.pod("unknown", r.nodeName())}, false
	}
	uids := make([]types.UID, 0, len(r.model.pods))
	for uid := range r.model.pods {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	return r.model.pods[uids[r.random.IntN(len(uids))]], true
}

// newUID returns one of few UIDs, so that pods are met again and do not pile up.
func (r *modelRun) newUID() types.UID { return types.UID(fmt.Sprint("pod-", r.random.IntN(50))) }

func (r *modelRun) putNode() {
	node := r.node()
	if r.chance(50) {
		r.check("AddNode", node.Name, r.cache.AddNode(node), success)
	} else {
		r.check("UpdateNode", node.Name, r.cache.UpdateNode(node), success)
	}
	r.model.putNode(node)
}

func (r *modelRun) removeNode() {
	node := r.node() // Labels and images need not be those that the cache has.
	want := failure
	if _, live := r.model.nodes[node.Name]; live {
		want = success
		r.model.takeNode(node.Name)
	}
	r.check("RemoveNode", node.Name, r.cache.RemoveNode(node), want)
}

func (r *modelRun) assumePod() {
	pod := r.pod(r.newUID(), r.nodeName())
	want := failure
	if _, known := r.model.pods[pod.UID]; !known {
		want = success
		r.model.putPod(pod, true, r.clock.Now())
	}
	r.check("AssumePod", pod.Name, r.cache.AssumePod(pod), want)
}

func (r *modelRun) forgetPod() { r.takeAssumed("ForgetPod", r.cache.ForgetPod) }

func (r *modelRun) removeAssumedPod() { r.takeAssumed("RemoveAssumedPod", r.cache.RemoveAssumedPod) }

func (r *modelRun) takeAssumed(name string, do func(*v1.Pod) error) {
	known, ok := r.knownPod()
	pod := known.pod
	if r.chance(10) {
		pod = r.pod(pod.UID, r.nodeName())
	}
	want := success
	if ok {
		if known.assumed && pod.Spec.NodeName == known.pod.Spec.NodeName {
			r.model.takePod(pod.UID)
		} else {
			want = failure
		}
	}
	r.check(name, pod.Name, do(pod), want)
}

// addPod adds a new pod or confirms one, sometimes on another node.
func (r *modelRun) addPod() {
	pod := r.pod(r.newUID(), r.nodeName())
	if known, ok := r.knownPod(); ok && r.chance(60) {
		pod = r.pod(known.pod.UID, known.pod.Spec.NodeName)
		if r.chance(15) {
			pod.Spec.NodeName = r.nodeName()
		}
	}
	known, ok := r.model.pods[pod.UID]
	want := success
	switch {
	case ok && !known.assumed:
		want = failure
	case ok:
		r.model.takePod(pod.UID)
		r.model.putPod(pod, false, time.Time{})
	default:
		r.model.putPod(pod, false, time.Time{})
	}
	r.check("AddPod", pod.Name, r.cache.AddPod(pod), want)
}

func (r *modelRun) updatePod() {
	known, ok := r.knownPod()
	updated := r.pod(known.pod.UID, known.pod.Spec.NodeName)
	if r.chance(5) {
		updated.Spec.NodeName = r.nodeName()
	}
	want := failure
	if ok && !known.assumed {
		want = success
		if updated.Spec.NodeName != known.pod.Spec.NodeName {
			want = contradiction
		}
		r.model.takePod(updated.UID)
		r.model.putPod(updated, false, time.Time{})
	}
	r.check("UpdatePod", updated.Name, r.cache.UpdatePod(known.pod, updated), want)
}

// recreatePod is the update that an informer sees when a pod was deleted and created again.
func (r *modelRun) recreatePod() {
	known, ok := r.knownPod()
	replacement := r.pod(r.newUID(), r.nodeName())
	if replacement.UID == known.pod.UID {
		return
	}
	want := failure
	if ok && !known.assumed {
		want = success
		r.model.takePod(known.pod.UID)
		if _, exists := r.model.pods[replacement.UID]; exists {
			r.model.takePod(replacement.UID)
		}
		r.model.putPod(replacement, false, time.Time{})
	}
	r.check("UpdatePod to another", replacement.Name, r.cache.UpdatePod(known.pod, replacement), want)
}

func (r *modelRun) removePod() {
	known, ok := r.knownPod()
	pod := known.pod
	want := failure
	if ok {
		want = success
		switch r.random.IntN(10) {
		case 0:
			pod = r.pod(pod.UID, "") // A state from before it had a node.
		case 1:
			pod = r.pod(pod.UID, r.nodeName())
			if pod.Spec.NodeName != known.pod.Spec.NodeName {
				want = contradiction
			}
		}
		r.model.takePod(pod.UID)
	}
	r.check("RemovePod", pod.Name, r.cache.RemovePod(pod), want)
}

func (r *modelRun) expire() {
	var want []modelPod
	for _, pod := range r.model.pods {
		if pod.assumed && !r.clock.Now().Before(pod.assumedAt.Add(modelTTL)) {
			want = append(want, pod)
		}
	}
	slices.SortFunc(want, func(a, b modelPod) int {
		return cmp.Or(a.assumedAt.Compare(b.assumedAt), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	got := r.cache.ExpireAssumed()
	r.check("ExpireAssumed", len(got), nil, success)
	if len(got) != len(want) {
		r.t.Errorf("%d pods expired, want %d", len(got), len(want))
		return
	}
	for i, pod := range want {
		if got[i] != pod.pod {
			r.t.Errorf("pod %s expired as number %d, want pod %s", got[i].Name, i, pod.pod.Name)
		}
		r.done["expired pods"]++
		r.model.takePod(pod.pod.UID)
	}
}

func (r *modelRun) follow(i int) {
	r.check("UpdateSnapshot", i, nil, success)
	r.followers[i].check(r.t, r.cache, r.model)
	for _, known := range r.model.pods {
		assumed, err := r.cache.IsAssumed(known.pod)
		cached, podErr := r.cache.Pod(known.pod)
		if err != nil || podErr != nil || assumed != known.assumed || cached != known.pod {
			r.t.Errorf("pod %s: assumed %v, %v, cached %p, %v; want assumed %v, cached %p", known.pod.Name, assumed, err, cached, podErr,
				known.assumed, known.pod)
		}
	}
}

// wantCoverage checks that the run met every outcome of every operation often.
func (r *modelRun) wantCoverage() {
	r.t.Helper()
	for _, name := range []string{
		"AddNode: success", "UpdateNode: success", "RemoveNode: success", "RemoveNode: failure",
		"AssumePod: success", "AssumePod: failure", "ForgetPod: success", "ForgetPod: failure",
		"RemoveAssumedPod: success", "RemoveAssumedPod: failure", "AddPod: success", "AddPod: failure",
		"UpdatePod: success", "UpdatePod: failure", "UpdatePod: contradiction",
		"UpdatePod to another: success", "UpdatePod to another: failure",
		"RemovePod: success", "RemovePod: failure", "RemovePod: contradiction", "UpdateSnapshot: success", "expired pods",
	} {
		if r.done[name] < 20 {
			r.t.Errorf("%s: only %d times; the run proves too little", name, r.done[name])
		}
	}
}
