// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/runtime"
)

// deviceHintKinds are the comparisons of hints of pods with claims, of each of which there are enough in a full run.
func deviceHintKinds() []kind {
	return []kind{
		{"hint", dynamicResources}, {"class of hints", dynamicResources}, {"narrowed hint", dynamicResources}, {"event map", dynamicResources},
		{"hint for devices", "NodeResourcesFit"},
	}
}

// compareDeviceHints compares, in a cluster with devices, what the plugins register, and what their hints say of pods when
// claims, pods, nodes and classes come, change and go: the objects are those of the cluster, and plugins see them changed
// already, as when the events come.
func (m *machine) compareDeviceHints(t round) {
	g := newGenerator(t.seed)
	const pods = 8
	c := g.deviceCluster(1+g.IntN(4), pods)
	p := all([]configv1.Plugin{{Name: dynamicResources}, {Name: "NodeResourcesFit"}})
	their, our := both(t, c, p)
	h := &deviceHints{t: t, g: g, c: c, p: p, their: their, our: our, done: counts{}}
	for i := range pods {
		pod := g.podWithClaims(fmt.Sprintf("pod-%d", i))
		if g.oneIn(3) {
			pod.Status.ResourceClaimStatuses = nil // claims are still to be made
		}
		h.pods = append(h.pods, pod)
		h.change(pod, false)
	}
	h.registrations()
	for range 3 {
		h.claimChanges()
		h.podChanges()
		h.resourceChanges()
	}
	m.add(h.done)
}

// deviceHints are the two sides of one cluster.
type deviceHints struct {
	t          round
	g          *generator
	c          cluster
	p          profile
	their, our *side
	pods       []*v1.Pod
	version    int
	done       counts
}

// change changes an object for both sides.
func (h *deviceHints) change(object apiruntime.Object, remove bool) {
	for _, s := range []*side{h.their, h.our} {
		if err := s.world.change(object.DeepCopyObject(), remove); err != nil {
			h.t.Fatal(err)
		}
	}
}

// registrations compares the events that the plugins register, and whether they are asked about events that happen.
func (h *deviceHints) registrations() {
	for _, name := range []string{dynamicResources, "NodeResourcesFit"} {
		if diff := cmp.Diff(rows(registrations(h.t, h.their, name)), rows(withoutMoreEvents(name, registrations(h.t, h.our, name)))); diff != "" {
			h.t.mismatch("%s registers (-kube-scheduler +rouse):\n%s", name, diff)
		}
	}
	events := happenings()
	for range 9 {
		event := pick(h.g, events...)
		want, got := theirInterest(h.t, h.their, event), h.our.framework.(*runtime.Framework).EventMap().Plugins(event)
		got = withoutMoreInterest(got, want, event)
		for _, name := range []string{dynamicResources, "NodeResourcesFit"} {
			if want.Has(name) != got.Has(name) {
				h.t.mismatch("%s is asked about %s: by kube-scheduler %t, by Rouse %t", name, event.Label(), want.Has(name), got.Has(name))
			}
		}
		h.done[kind{"event map", dynamicResources}]++
	}
}

// hintsFor returns the registrations of both sides for a kind of object.
func (h *deviceHints) hintsFor(plugin string, resource fwk.EventResource) (their, our fwk.ClusterEventWithHint) {
	of := func(s *side) fwk.ClusterEventWithHint {
		all := registrations(h.t, s, plugin)
		i := slices.IndexFunc(all, func(e fwk.ClusterEventWithHint) bool { return e.Event.Resource == resource && e.QueueingHintFn != nil })
		if i < 0 {
			h.t.Fatalf("%s has no hint for %s", plugin, resource)
		}
		return all[i]
	}
	return of(h.their), of(h.our)
}

// claimChanges changes a claim, and asks about every pod.
func (h *deviceHints) claimChanges() {
	before, after := h.changedClaim()
	oldObj, newObj := h.asEvent(before, after)
	their, our := h.hintsFor(dynamicResources, fwk.ResourceClaim)
	answers := map[string]string{}
	for _, pod := range h.pods {
		c := hintCase{pod: pod, oldObj: oldObj, newObj: newObj}
		want, got := answerOf(their.QueueingHintFn)(c), answerOf(our.QueueingHintFn)(c)
		if want != got && !endsLeftover(c, got) {
			h.t.mismatch("hint of %s for a claim: kube-scheduler says %s, Rouse %s\n%s\n%s", dynamicResources, want, got, c.text(h.p), caseText(trial{cluster: h.c}))
		}
		h.done[kind{"hint", dynamicResources}]++
		class, ok := h.our.framework.(*runtime.Framework).HintClass(h.t.Context(), dynamicResources, pod)
		if earlier, known := answers[class]; ok && known && earlier != want {
			h.t.mismatch("hint of %s for a claim: two pods of class %q, but kube-scheduler says %s and %s\n%s", dynamicResources, class, earlier, want, c.text(h.p))
		}
		if ok {
			answers[class] = want
			h.done[kind{"class of hints", dynamicResources}]++
		}
		wantNarrowed, gotNarrowed := narrowed(their, c), narrowed(our, c)
		if wantNarrowed != gotNarrowed && !endsLeftover(c, gotNarrowed) {
			h.t.mismatch("narrowed hint of %s for a claim: kube-scheduler says %s, Rouse %s\n%s\n%s", dynamicResources, wantNarrowed, gotNarrowed, c.text(h.p), caseText(trial{cluster: h.c}))
		}
		h.done[kind{"narrowed hint", dynamicResources}]++
	}
}

// endsLeftover reports whether Rouse wakes a pod on purpose that kube-scheduler leaves asleep: because a claim for extended
// resources is gone that an earlier attempt left without devices, perhaps its own.
func endsLeftover(c hintCase, our string) bool {
	claim, now := sidesOf[*resourceapi.ResourceClaim](c)
	return our == fwk.Queue.String() && claim != nil && now == nil && claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true" &&
		(&deviceCycle{pod: c.pod}).asksForExtended()
}

// narrowed returns what becomes of a pod if only those that a PreQueueingHintFn names are asked about.
func narrowed(registered fwk.ClusterEventWithHint, c hintCase) string {
	if registered.PreQueueingHintFn != nil {
		result, err := registered.PreQueueingHintFn(discard, c.oldObj, c.newObj)
		if err == nil && !result.AllPods && !slices.Contains(result.Pods, types.NamespacedName{Namespace: c.pod.Namespace, Name: c.pod.Name}) {
			return fwk.QueueSkip.String()
		}
	}
	return answerOf(registered.QueueingHintFn)(c)
}

// changedClaim changes a claim of the cluster, or of the extended resources of a pod, for both sides. Nil is a claim that is
// not there.
func (h *deviceHints) changedClaim() (before, after *resourceapi.ResourceClaim) {
	g := h.g
	name := pick(g, fmt.Sprintf("claim-%d", g.IntN(4)), fmt.Sprintf("pod-%d-%d", g.IntN(len(h.pods)), g.IntN(2)))
	if g.oneIn(6) { // made by the scheduler for a pod
		owner := fmt.Sprintf("pod-%d", g.IntN(len(h.pods)))
		before = g.deviceClaim(owner+"-extended", owner, h.c)
		before.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
		if !g.oneIn(3) {
			h.put(before)
		}
	} else {
		before = h.stored(name)
	}
	if before != nil && g.oneIn(5) {
		h.change(before, true)
		return before, nil
	}
	if before == nil {
		after = g.claimOf(h.c, name)
		h.put(after)
		return nil, after
	}
	after = before.DeepCopy()
	g.changeClaim(after, h.c)
	if !g.oneIn(10) { // or else it is old news
		h.put(after)
	}
	return before, after
}

// put stores a claim as a new version.
func (h *deviceHints) put(claim *resourceapi.ResourceClaim) {
	h.version++
	claim.ResourceVersion = fmt.Sprint(1 + h.version)
	h.change(claim, false)
}

// stored returns the claim of a name as kube-scheduler's informer has it; nil if there is none.
func (h *deviceHints) stored(name string) *resourceapi.ResourceClaim {
	key := &resourceapi.ResourceClaim{}
	key.Namespace, key.Name = "default", name
	claim, _ := h.their.world.get(key).(*resourceapi.ResourceClaim)
	return claim
}

// changeClaim changes a claim as a controller, a driver, a user or another scheduler does.
func (g *generator) changeClaim(claim *resourceapi.ResourceClaim, c cluster) {
	switch g.IntN(8) {
	case 0:
		claim.Status = resourceapi.ResourceClaimStatus{}
	case 1:
		claim.Status.Allocation = nil
	case 2:
		if claim.Status.Allocation == nil {
			g.allocateSome(claim, c)
		}
	case 3:
		claim.Status.ReservedFor = append(slices.Clone(claim.Status.ReservedFor), resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: "new", UID: "new"})
	case 4:
		claim.Labels = map[string]string{"changed": "yes"}
	case 5:
		claim.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		claim.Finalizers = []string{resourceapi.Finalizer}
	case 6:
		claim.UID += "-again"
	case 7:
		if claim.Status.Allocation != nil && len(claim.Status.Allocation.Devices.Results) > 0 {
			claim.Status.Devices = []resourceapi.AllocatedDeviceStatus{g.deviceStatus(&claim.Status.Allocation.Devices.Results[0])}
		}
	}
}

// asEvent returns two versions of an object as an event has them, which is seldom not as it should be.
func (h *deviceHints) asEvent(before, after *resourceapi.ResourceClaim) (oldObj, newObj any) {
	if before != nil {
		oldObj = before
	}
	if after != nil {
		newObj = after
	}
	switch {
	case before != nil && after == nil && h.g.oneIn(4):
		oldObj = clientcache.DeletedFinalStateUnknown{Key: "default/" + before.Name, Obj: before}
	case h.g.oneIn(30):
		return "not an object", "not an object"
	}
	return oldObj, newObj
}

// podChanges names a claim in the status of a pod, or takes the name away.
func (h *deviceHints) podChanges() {
	their, our := h.hintsFor(dynamicResources, fwk.TargetPod)
	for i, pod := range h.pods {
		changed := pod.DeepCopy()
		changed.Status.ResourceClaimStatuses = nil
		for k := range pod.Spec.ResourceClaims {
			if !h.g.oneIn(4) {
				changed.Status.ResourceClaimStatuses = append(changed.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{
					Name: pod.Spec.ResourceClaims[k].Name, ResourceClaimName: pick(h.g, nil, ptr.To(fmt.Sprintf("%s-%d", pod.Name, k)), ptr.To(fmt.Sprintf("%s-%d", pod.Name, k))),
				})
			}
		}
		h.change(changed, false)
		h.pods[i] = changed
		c := hintCase{pod: pick(h.g, pod, changed), oldObj: pod, newObj: changed}
		if h.g.oneIn(20) {
			c.oldObj, c.newObj = "not an object", "not an object"
		}
		if want, got := answerOf(their.QueueingHintFn)(c), answerOf(our.QueueingHintFn)(c); want != got {
			h.t.mismatch("hint of %s for a pod: kube-scheduler says %s, Rouse %s\n%s\n%s", dynamicResources, want, got, c.text(h.p), caseText(trial{cluster: h.c}))
		}
		h.done[kind{"hint", dynamicResources}]++
	}
}

// resourceChanges changes a class or a node, and asks NodeResourcesFit about every pod.
func (h *deviceHints) resourceChanges() {
	const fit = "NodeResourcesFit"
	resource := pick(h.g, fwk.DeviceClass, fwk.DeviceClass, fwk.Node)
	var before, after apiruntime.Object
	if resource == fwk.Node {
		i := h.g.IntN(3)
		before, after = h.g.deviceNode(i), h.g.deviceNode(i)
	} else {
		older, newer := pick(h.g, h.g.deviceClasses()...), pick(h.g, h.g.deviceClasses()...)
		newer.Name = older.Name
		h.version++
		newer.ResourceVersion = fmt.Sprint(1 + h.version)
		h.change(newer, false)
		before, after = older, newer
	}
	their, our := h.hintsFor(fit, resource)
	for _, pod := range h.pods {
		c := hintCase{pod: pod, oldObj: before, newObj: after}
		if h.g.oneIn(3) {
			c.oldObj = nil
		}
		if want, got := answerOf(their.QueueingHintFn)(c), answerOf(our.QueueingHintFn)(c); want != got {
			h.t.mismatch("hint of %s for a %s: kube-scheduler says %s, Rouse %s\n%s\n%s", fit, resource, want, got, c.text(h.p), caseText(trial{cluster: h.c}))
		}
		h.done[kind{"hint for devices", fit}]++
	}
}
