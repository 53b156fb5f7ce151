// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// newManager returns a manager whose informers never start: the tests say what they hear.
func newManager(t *testing.T, touched func(string)) *Manager {
	t.Helper()
	m, err := New(t.Context(), Options{Informers: informers.NewSharedInformerFactory(nil, 0), Touched: touched})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// claim returns a claim of a version; devices are those that it has, of the pool n1.
func claim(name string, version int, devices ...string) *resourceapi.ResourceClaim {
	made := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: strconv.Itoa(version),
	}}
	if len(devices) > 0 {
		made.Status.Allocation = &resourceapi.AllocationResult{}
		for _, device := range devices {
			made.Status.Allocation.Devices.Results = append(made.Status.Allocation.Devices.Results,
				resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "d", Pool: "n1", Device: device})
		}
	}
	return made
}

func checkAllocated(t *testing.T, m *Manager, want ...string) {
	t.Helper()
	got, err := m.ResourceClaims().ListAllAllocatedDevices()
	if err != nil {
		t.Fatal(err)
	}
	names := sets.New[string]()
	for id := range got {
		names.Insert(id.Device.String())
	}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(sets.List(names))); diff != "" {
		t.Errorf("allocated devices differ (-want +got):\n%s", diff)
	}
}

// A device that was written into a claim stays allocated until the informer has caught up, whatever it hears meanwhile, and
// also if the pod is not bound after all (kubernetes/kubernetes#136269).
func TestWrittenAllocationOutlivesInformerLag(t *testing.T) {
	m := newManager(t, nil)
	claims := m.ResourceClaims()
	m.claimStored(claim("a", 5))
	if err := claims.SignalClaimPendingAllocation("a-uid", claim("a", 5, "gpu")); err != nil {
		t.Fatal(err)
	}
	checkAllocated(t, m, "gpu")
	if err := claims.AssumeClaimAfterAPICall(claim("a", 10, "gpu")); err != nil {
		t.Fatal(err)
	}
	claims.MaybeRemoveClaimPendingAllocation("a-uid", true)
	checkAllocated(t, m, "gpu")
	claims.AssumedClaimRestore("default", "a")
	checkAllocated(t, m, "gpu")
	m.claimStored(claim("a", 7)) // an update that happened before
	checkAllocated(t, m, "gpu")
	m.claimStored(claim("a", 10, "gpu"))
	checkAllocated(t, m, "gpu")
	m.claimStored(claim("a", 11))
	checkAllocated(t, m)
}

// A new leader knows what the last one wrote, though its informer lags, and what becomes of it.
func TestCatchUpWithTheLastLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(claim("known", 2, "gpu-0"), claim("new", 3, "gpu-1"), claim("gone", 4, "gpu-2"), claim("free", 5))
		m := newManager(t, nil)
		m.claimStored(claim("known", 1))
		follow, err := m.CatchUp(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		checkAllocated(t, m, "gpu-0", "gpu-1", "gpu-2")
		m.claimStored(claim("known", 1)) // the informer is behind
		m.claimStored(claim("new", 3, "gpu-1"))
		if err := client.ResourceV1().ResourceClaims("default").Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		follow(t.Context())
		checkAllocated(t, m, "gpu-0", "gpu-1")
		m.claimDeleted(claim("new", 3))
		checkAllocated(t, m, "gpu-0")
		if m.awaitsClaims() {
			t.Error("claims are still awaited")
		}
	})
}

// What a deleted claim had is free, although the informer never saw that it had it, or saw something else last
// (kubernetes/kubernetes#140831).
func TestDeletedClaimGivesEverythingBack(t *testing.T) {
	for name, last := range map[string]any{
		"older version": claim("a", 5), "tombstone": clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: claim("a", 5)},
		"deallocated already": claim("a", 12),
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, nil)
			m.claimStored(claim("a", 5))
			if err := m.ResourceClaims().AssumeClaimAfterAPICall(claim("a", 10, "gpu")); err != nil {
				t.Fatal(err)
			}
			checkAllocated(t, m, "gpu")
			m.claimDeleted(last)
			checkAllocated(t, m)
		})
	}
}

// A claim that takes the name of another is another, even if the informer missed that the first one was deleted.
func TestClaimOfTheSameName(t *testing.T) {
	m := newManager(t, nil)
	m.claimStored(claim("a", 5, "gpu"))
	other := claim("a", 8)
	other.UID = "other"
	m.claimStored(other)
	checkAllocated(t, m)
	if err := m.ResourceClaims().AssumeClaimAfterAPICall(claim("a", 9, "gpu")); err == nil {
		t.Error("a claim that is gone was assumed")
	}
}

// A device goes to one claim, whoever was first.
func TestTakenDeviceIsRefused(t *testing.T) {
	m := newManager(t, nil)
	claims := m.ResourceClaims()
	m.claimStored(claim("a", 1))
	m.claimStored(claim("b", 2))
	if err := claims.SignalClaimPendingAllocation("a-uid", claim("a", 1, "gpu")); err != nil {
		t.Fatal(err)
	}
	if err := claims.SignalClaimPendingAllocation("b-uid", claim("b", 2, "gpu")); err == nil {
		t.Error("one device was set aside for two claims")
	}
	if claims.MaybeRemoveClaimPendingAllocation("b-uid", true) {
		t.Error("an allocation that was refused is pending")
	}
	checkAllocated(t, m, "gpu")
	m.claimStored(claim("c", 3, "gpu")) // by another scheduler
	if !claims.MaybeRemoveClaimPendingAllocation("a-uid", false) {
		t.Error("the pending allocation is gone")
	}
	checkAllocated(t, m, "gpu")
}

func TestSharersOfPendingAllocation(t *testing.T) {
	m := newManager(t, nil)
	claims := m.ResourceClaims()
	m.claimStored(claim("a", 1))
	for range 2 {
		if err := claims.SignalClaimPendingAllocation("a-uid", claim("a", 1, "gpu")); err != nil {
			t.Fatal(err)
		}
	}
	if claims.MaybeRemoveClaimPendingAllocation("a-uid", false) {
		t.Error("the first of two sharers took the allocation away")
	}
	if !claims.MaybeRemoveClaimPendingAllocation("a-uid", false) || claims.GetPendingAllocation("a-uid") != nil {
		t.Error("the last sharer left the allocation behind")
	}
	if err := claims.SignalClaimPendingAllocation("x", claim("x", 1, "gpu")); err == nil {
		t.Error("a claim that there is not has a pending allocation")
	}
}

// Handlers hear of everything, in order, also of what they cause themselves, and see the claim that they hear of.
func TestHandlersHearInOrder(t *testing.T) {
	m := newManager(t, nil)
	var heard []string
	handler := clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			heard = append(heard, "add "+added.(*resourceapi.ResourceClaim).ResourceVersion)
			if err := m.ResourceClaims().AssumeClaimAfterAPICall(claim("a", 3, "gpu")); err != nil {
				t.Error(err)
			}
		},
		UpdateFunc: func(old, current any) {
			heard = append(heard, "update "+old.(*resourceapi.ResourceClaim).ResourceVersion+" "+current.(*resourceapi.ResourceClaim).ResourceVersion)
		},
		DeleteFunc: func(deleted any) {
			heard = append(heard, "delete "+deleted.(*resourceapi.ResourceClaim).ResourceVersion)
		},
	}
	if _, err := m.AddHandler(fwk.ResourceClaim, handler); err != nil {
		t.Fatal(err)
	}
	m.claimStored(claim("a", 1))
	m.claimStored(claim("a", 2))
	m.claimStored(claim("a", 3, "gpu"))
	m.claimStored(claim("a", 4))
	m.claimDeleted(claim("a", 2))
	m.claimDeleted(claim("a", 2))
	if diff := cmp.Diff([]string{"add 1", "update 1 3", "update 3 4", "delete 4"}, heard); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// model recomputes from claims and pending allocations what is allocated.
type model struct {
	claims  map[string]*resourceapi.ResourceClaim
	pending map[types.UID]*resourceapi.ResourceClaim
	slices  map[string]*resourceapi.ResourceSlice
}

func (m *model) state(pools func(driver, pool string) bool) structured.AllocatedState {
	state := newState()
	count := func(allocation *resourceapi.AllocationResult) {
		for _, result := range allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			switch {
			case ptr.Deref(result.AdminAccess, false) || !pools(result.Driver, result.Pool):
			case result.ShareID == nil:
				state.AllocatedDevices.Insert(id)
			default:
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	counted := sets.New[types.UID]()
	for _, claim := range m.claims {
		if claim.Status.Allocation != nil {
			counted.Insert(claim.UID)
			count(claim.Status.Allocation)
		}
	}
	for uid, claim := range m.pending {
		if !counted.Has(uid) {
			count(claim.Status.Allocation)
		}
	}
	return *state
}

// seen returns the names of the slices of the pools in which a node can reach a slice, and these pools.
func (m *model) seen(node string) (names []string, pools sets.Set[poolID]) {
	pools = sets.New[poolID]()
	for _, slice := range m.slices {
		if ptr.Deref(slice.Spec.AllNodes, false) || ptr.Deref(slice.Spec.NodeName, "") == node {
			pools.Insert(poolOf(slice))
		}
	}
	all := sets.New[string]()
	for name, slice := range m.slices {
		if pools.Has(poolOf(slice)) {
			all.Insert(name)
		}
	}
	return sets.List(all), pools
}

// count returns how many devices of slices a node can reach.
func (m *model) count(node string) Count {
	state := m.state(func(string, string) bool { return true })
	var count Count
	for _, slice := range m.slices {
		if !ptr.Deref(slice.Spec.AllNodes, false) && ptr.Deref(slice.Spec.NodeName, "") != node {
			continue
		}
		for _, device := range slice.Spec.Devices {
			count.Devices++
			if structured.IsDeviceAllocated(structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name), &state) {
				count.Allocated++
			}
		}
	}
	return count
}

type stateText struct{ devices, shared, capacity, slices string }

func textOf(state structured.AllocatedState, slices []string) stateText {
	devices, shared, capacity := sets.New[string](), sets.New[string](), sets.New[string]()
	for id := range state.AllocatedDevices {
		devices.Insert(id.String())
	}
	for id := range state.AllocatedSharedDeviceIDs {
		shared.Insert(id.String())
	}
	for id, of := range state.AggregatedCapacity {
		for name, quantity := range of {
			capacity.Insert(fmt.Sprint(id, name, quantity))
		}
	}
	return stateText{fmt.Sprint(sets.List(devices)), fmt.Sprint(sets.List(shared)), fmt.Sprint(sets.List(capacity)), fmt.Sprint(slices)}
}

// TestModel changes claims, pending allocations and slices at random. What a node sees is always what a computation from
// scratch says, and whenever it changes either the node was touched or the shared version is another one: what is
// remembered of nodes rests on that.
func TestModel(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		touched := sets.New[string]()
		m := newManager(t, func(node string) { touched.Insert(node) })
		want := &model{map[string]*resourceapi.ResourceClaim{}, map[types.UID]*resourceapi.ResourceClaim{}, map[string]*resourceapi.ResourceSlice{}}
		before := map[string]stateText{}
		nodes := []string{"n1", "n2", "n3"}
		shared, class := m.SharedVersion(), &resourceapi.DeviceClass{}
		for version := range 300 {
			want.change(t, random, m, version+1)
			for _, node := range nodes {
				names, pools := want.seen(node)
				expected := textOf(want.state(func(driver, pool string) bool { return pools.Has(poolID{driver, pool}) }), names)
				count, err := m.Count(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, class)
				if diff := cmp.Diff(want.count(node), count); err != nil || diff != "" {
					t.Fatalf("seed %d, step %d: the devices of %s are counted wrong (-want +got): %v\n%s", seed, version, node, err, diff)
				}
				view := m.View(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
				var slices []string
				for _, slice := range view.Slices {
					slices = append(slices, slice.Name)
				}
				got := textOf(view.State, sets.List(sets.New(slices...)))
				if diff := cmp.Diff(expected, got, cmp.AllowUnexported(stateText{})); diff != "" {
					t.Fatalf("seed %d, step %d: %s sees something else (-want +got):\n%s", seed, version, node, diff)
				}
				if got != before[node] && version > 0 && !touched.Has(node) && m.SharedVersion() == shared {
					t.Fatalf("seed %d, step %d: what %s sees changed from %v to %v, without notification", seed, version, node, before[node], got)
				}
				before[node] = got
			}
			all, _ := m.ResourceClaims().GatherAllocatedState()
			if diff := cmp.Diff(textOf(want.state(func(string, string) bool { return true }), nil), textOf(*all, nil), cmp.AllowUnexported(stateText{})); diff != "" {
				t.Fatalf("seed %d, step %d: what is allocated differs (-want +got):\n%s", seed, version, diff)
			}
			shared = m.SharedVersion()
			touched.Clear()
		}
	}
}

func (w *model) change(t *testing.T, random *rand.Rand, m *Manager, version int) {
	name := fmt.Sprintf("c%d", random.IntN(5))
	claims := m.ResourceClaims()
	switch random.IntN(6) {
	case 0, 1:
		stored := randomClaim(random, name, version)
		m.claimStored(stored)
		w.claims[name] = stored
	case 2:
		m.claimDeleted(claim(name, 0))
		delete(w.claims, name)
	case 3:
		pending := randomClaim(random, name, version)
		if pending.Status.Allocation == nil || w.claims[name] == nil || w.claims[name].Status.Allocation != nil || w.pending[pending.UID] != nil {
			return
		}
		if err := claims.SignalClaimPendingAllocation(pending.UID, pending); err == nil {
			w.pending[pending.UID] = pending
		}
	case 4:
		uid := types.UID(name + "-uid")
		if removed := claims.MaybeRemoveClaimPendingAllocation(uid, true); removed != (w.pending[uid] != nil) {
			t.Fatalf("removing a pending allocation: %v", removed)
		}
		delete(w.pending, uid)
	case 5:
		slice := randomSlice(random)
		if old := w.slices[slice.Name]; old != nil && random.IntN(2) == 0 {
			m.sliceChanged(old, nil)
			delete(w.slices, slice.Name)
		} else {
			m.sliceChanged(old, slice)
			w.slices[slice.Name] = slice
		}
	}
}

func randomClaim(random *rand.Rand, name string, version int) *resourceapi.ResourceClaim {
	made := claim(name, version)
	for range random.IntN(3) {
		result := resourceapi.DeviceRequestAllocationResult{
			Driver: "d", Pool: fmt.Sprintf("pool-%d", random.IntN(4)), Device: fmt.Sprintf("gpu-%d", random.IntN(4)),
		}
		switch random.IntN(5) {
		case 0:
			result.AdminAccess = ptr.To(true)
		case 1:
			result.ShareID = ptr.To(types.UID(fmt.Sprintf("share-%d-%d", version, random.Uint64())))
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1Gi")}
		}
		if made.Status.Allocation == nil {
			made.Status.Allocation = &resourceapi.AllocationResult{}
		}
		made.Status.Allocation.Devices.Results = append(made.Status.Allocation.Devices.Results, result)
	}
	return made
}

func randomSlice(random *rand.Rand) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("slice-%d", random.IntN(6))}}
	slice.Spec.Driver, slice.Spec.Pool.Name = "d", fmt.Sprintf("pool-%d", random.IntN(4))
	for i := range random.IntN(4) {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	switch random.IntN(5) {
	case 0:
		slice.Spec.AllNodes = ptr.To(true)
	case 1:
		slice.Spec.NodeSelector = &v1.NodeSelector{}
	default:
		slice.Spec.NodeName = ptr.To(fmt.Sprintf("n%d", 1+random.IntN(3)))
	}
	return slice
}

// zoned returns a slice of a pool whose devices can be used in one zone.
func zoned(pool, zone string) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool + "-" + zone}}
	slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.NodeSelector = "d", pool, inZone(zone)
	slice.Spec.Devices = []resourceapi.Device{{Name: zone}}
	return slice
}

func inZone(zone string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}
}

func nodeIn(name, zone string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}}
}

// TestKindsOutliveOtherPools has nodes that use different devices of one pool, while other pools come and go.
func TestKindsOutliveOtherPools(t *testing.T) {
	m := newManager(t, nil)
	m.sliceChanged(nil, zoned("p", "east"))
	m.sliceChanged(nil, zoned("p", "west"))
	east, west := nodeIn("n1", "east"), nodeIn("n2", "west")
	ofEast, ofWest := m.View(east).Kind, m.View(west).Kind
	for i := range 50 {
		m.sliceChanged(nil, zoned(fmt.Sprint("other", i), "north"))
		if m.View(east).Kind == ofWest || m.View(west).Kind == ofEast {
			t.Fatalf("after %d changes of other pools a node has what is known of one in another zone", i+1)
		}
	}
}

// TestRelabelledNodeIsOfAnotherKind has a slice whose devices say each which nodes may use it.
func TestRelabelledNodeIsOfAnotherKind(t *testing.T) {
	m := newManager(t, nil)
	slice := zoned("p", "east")
	slice.Spec.NodeSelector, slice.Spec.PerDeviceNodeSelection = nil, ptr.To(true)
	slice.Spec.Devices = []resourceapi.Device{{Name: "e", NodeSelector: inZone("east")}, {Name: "w", NodeSelector: inZone("west")}}
	m.sliceChanged(nil, slice)
	if before := m.View(nodeIn("n1", "east")); m.View(nodeIn("n1", "west")).Kind == before.Kind {
		t.Error("a node has what is known of it from when it was in another zone")
	}
}
