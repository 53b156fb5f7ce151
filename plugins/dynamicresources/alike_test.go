// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// forgetful is the handle of a plugin that remembers nothing, because its manager is not one of ours.
type forgetful struct{ handle }

func (h forgetful) SharedDRAManager() fwk.SharedDRAManager {
	return struct{ fwk.SharedDRAManager }{h.manager}
}

const (
	alikeNodes = 8
	alikePods  = 40
)

// alikeCluster has nodes of which many have the same devices, by themselves and together.
func alikeCluster(random *rand.Rand) []apiruntime.Object {
	var existing []apiruntime.Object
	for i := range alikeNodes {
		node := objects.Node(fmt.Sprintf("n%d", i)).Build()
		node.Labels = map[string]string{"zone": []string{"east", "west"}[i%2]}
		if random.IntN(5) == 0 {
			node.Status.Allocatable = v1.ResourceList{"example.com/gpu": resource.MustParse("0")}
		}
		existing = append(existing, node)
		for _, slice := range alikeSlices(node.Name, random.IntN(5)) {
			existing = append(existing, slice)
		}
	}
	if kind := random.IntN(3); kind > 0 {
		for i, zone := range []string{"east", "west"} {
			pool := gpus("zone-"+zone, "z0", "z1", "z2")
			pool.Spec.NodeName, pool.Spec.NodeSelector = nil, zoneSelector(zone)
			if kind == 1 { // one pool, of which they reach parts
				pool = gpus("zone-"+zone, [][]string{{"z0", "z1", "z2"}, {"z3"}}[i]...)
				pool.Spec.NodeName, pool.Spec.NodeSelector = nil, zoneSelector(zone)
				pool.Spec.Pool.Name, pool.Spec.Pool.ResourceSliceCount = "zones", 2
			}
			existing = append(existing, pool)
		}
	}
	if random.IntN(3) == 0 {
		pool := gpus("everywhere", "e0", "e1")
		pool.Spec.NodeName, pool.Spec.AllNodes = nil, ptr.To(true)
		existing = append(existing, pool)
	}
	if random.IntN(3) == 0 {
		pool := gpus("each", "s0", "s1", "s2")
		pool.Spec.NodeName, pool.Spec.PerDeviceNodeSelection = nil, ptr.To(true)
		pool.Spec.Devices[0].NodeSelector, pool.Spec.Devices[1].NodeSelector = zoneSelector("east"), zoneSelector("west")
		pool.Spec.Devices[2].NodeName = ptr.To("n1")
		existing = append(existing, pool)
	}
	served := gpuClass()
	served.Spec.ExtendedResourceName = ptr.To("example.com/gpu")
	large := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	large.Spec.Selectors = modelSelector("large") // fails on devices without a model
	existing = append(existing, served, large)
	for i := range alikePods {
		existing = append(existing, alikeClaim(random, i))
	}
	return existing
}

func zoneSelector(zone string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}},
	}}}}
}

func modelSelector(model string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
		Expression: `device.attributes["gpu.example.com"].model == "` + model + `"`,
	}}}
}

// alikeSlices returns the devices of a node, of one of five kinds.
func alikeSlices(node string, kind int) []*resourceapi.ResourceSlice {
	slice := gpus(node, "d0", "d1", "d2")
	for i := range slice.Spec.Devices {
		d := &slice.Spec.Devices[i]
		d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model": {StringValue: ptr.To([]string{"large", "small", "small"}[(i+kind)%3])}, "numa": {IntValue: ptr.To(int64(i % 2))},
		}
		d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("16Gi")}}
	}
	memory := func(n int64) map[string]resourceapi.Counter {
		return map[string]resourceapi.Counter{"memory": {Value: *resource.NewQuantity(n, resource.DecimalSI)}}
	}
	switch kind {
	case 0:
		return []*resourceapi.ResourceSlice{slice}
	case 1:
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].AllowMultipleAllocations = ptr.To(true)
		}
		return []*resourceapi.ResourceSlice{slice}
	case 2:
		sets := gpus(node)
		sets.Name, sets.Spec.SharedCounters = "counters-"+node, []resourceapi.CounterSet{{Name: "card", Counters: memory(2)}}
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "card", Counters: memory(1)}}
		}
		slice.Spec.Pool.ResourceSliceCount, sets.Spec.Pool.ResourceSliceCount = 2, 2
		return []*resourceapi.ResourceSlice{slice, sets}
	case 3:
		return nil
	}
	slice.Spec.Devices[1].Attributes = nil
	return []*resourceapi.ResourceSlice{slice}
}

func alikeClaim(random *rand.Rand, i int) *resourceapi.ResourceClaim {
	claim := gpuClaim(fmt.Sprintf("c%d", i))
	request := &claim.Spec.Devices.Requests[0]
	switch random.IntN(9) {
	case 0:
		request.Exactly.Count = 2
		claim.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{
			{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName("gpu.example.com/numa"))},
		}
	case 1:
		request.Exactly.DeviceClassName = "large"
	case 2:
		request.Exactly.AllocationMode, request.Exactly.Count = resourceapi.DeviceAllocationModeAll, 0
	case 3, 8:
		request.Exactly.Capacity = &resourceapi.CapacityRequirements{
			Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("8Gi")},
		}
	case 4:
		request.Exactly.AdminAccess = ptr.To(true)
	case 6:
		request.Exactly.Count = int64(2 + random.IntN(4))
	case 5:
		request.Exactly = nil
		for _, model := range []string{"large", "small"} {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: model, DeviceClassName: "gpu", Count: 1, AllocationMode: resourceapi.DeviceAllocationModeExactCount,
				Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
					Expression: `device.attributes["gpu.example.com"].?model.orValue("") == "` + model + `"`,
				}}},
			})
		}
	}
	return claim
}

// TestAlikeNodesAreJudgedAsEach has pods take devices and give them back, while slices and labels of nodes change. What
// the plugin says of each node, remembering what it said of others that are alike, is what one says that remembers
// nothing and looks at all slices; and what it says can be had can be reserved.
func TestAlikeNodesAreJudgedAsEach(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		inWorld(t, alikeCluster(random), func(t *testing.T, w *world) {
			snapshot := &fixture.IndexedNodes{}
			for i, info := range w.nodes.Infos {
				snapshot.Set(i, info)
			}
			w.snapshot = snapshot
			plain, err := New(t.Context(), nil, forgetful{handle{Framework: w.framework, client: w.client, manager: w.manager}})
			if err != nil {
				t.Fatal(err)
			}
			c := &comparison{world: w, plain: plain.(*plugin), random: random, snapshot: snapshot}
			for i := range alikePods {
				c.change()
				c.place(alikePod(random, i))
			}
			if len(c.placed) == 0 {
				t.Error("no pod was placed")
			}
		})
	}
}

func alikePod(random *rand.Rand, i int) *v1.Pod {
	pod := podOf(fmt.Sprintf("p%d", i), fmt.Sprintf("c%d", i))
	if random.IntN(4) == 0 {
		pod = objects.PodFrom(pod).Requests("example.com/gpu", "1").Build()
		if random.IntN(2) == 0 {
			pod.Spec.ResourceClaims = nil
		}
	}
	return pod
}

type comparison struct {
	*world
	plain    *plugin
	random   *rand.Rand
	snapshot *fixture.IndexedNodes
	placed   []placedPod
}

type placedPod struct {
	pod   *v1.Pod
	state fwk.CycleState
	node  string
}

// place compares what both say, and reserves a node.
func (c *comparison) place(pod *v1.Pod) {
	c.t.Helper()
	ctx, state, plainState := c.t.Context(), framework.NewCycleState(), framework.NewCycleState()
	_, status := c.PreFilter(ctx, state, pod, nil)
	_, plain := c.plain.PreFilter(ctx, plainState, pod, nil)
	fixture.CheckStatus(c.t, status, plain)
	if !status.IsSuccess() {
		return
	}
	var feasible []string
	for _, info := range c.snapshot.Infos() {
		status, plain := c.Filter(ctx, state, pod, info), c.plain.Filter(ctx, plainState, pod, info)
		fixture.CheckStatus(c.t, status, plain)
		if !status.IsSuccess() {
			continue
		}
		feasible = append(feasible, info.Node().Name)
		score, status := c.Score(ctx, state, pod, info)
		plainScore, plain := c.plain.Score(ctx, plainState, pod, info)
		fixture.CheckStatus(c.t, status, plain)
		if score != plainScore {
			c.t.Errorf("pod %s, node %s: score %d, want %d", pod.Name, info.Node().Name, score, plainScore)
		}
	}
	if len(feasible) == 0 {
		return
	}
	node := feasible[c.random.IntN(len(feasible))]
	fixture.CheckStatus(c.t, c.Reserve(ctx, state, pod, node), nil)
	c.placed = append(c.placed, placedPod{pod, state, node})
}

func (c *comparison) change() {
	if len(c.placed) > 3 && c.random.IntN(3) > 0 {
		i := c.random.IntN(len(c.placed))
		c.Unreserve(c.t.Context(), c.placed[i].state, c.placed[i].pod, c.placed[i].node)
		c.placed = slices.Delete(c.placed, i, i+1)
	}
	i := c.random.IntN(alikeNodes)
	switch c.random.IntN(8) {
	case 0:
		node := c.snapshot.NodeAt(i).Node().DeepCopy()
		node.Labels["zone"] = []string{"east", "west"}[c.random.IntN(2)]
		c.snapshot.Set(i, fixture.NodeInfo(node))
	case 1:
		slice := alikeSlices(fmt.Sprintf("n%d", i), 4*c.random.IntN(2))[0]
		slice.Spec.Pool.Generation = int64(2 + len(c.placed))
		// It does not matter if there is no such slice.
		_, _ = c.client.ResourceV1().ResourceSlices().Update(c.t.Context(), slice, metav1.UpdateOptions{})
		synctest.Wait()
	case 2:
		c.changeUnrelated()
	}
}

// changeUnrelated adds or removes a shared pool that no pod asks for.
func (c *comparison) changeUnrelated() {
	c.t.Helper()
	slice := gpus(fmt.Sprintf("other-%d", c.random.IntN(3)), "o0")
	slice.Spec.Driver, slice.Spec.NodeName, slice.Spec.AllNodes = "other.example.com", nil, ptr.To(true)
	client := c.client.ResourceV1().ResourceSlices()
	if _, err := client.Create(c.t.Context(), slice, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		err = client.Delete(c.t.Context(), slice.Name, metav1.DeleteOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
	}
	synctest.Wait()
}
