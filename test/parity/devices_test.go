// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// deviceKinds are the comparisons of pods with claims, of each of which there are enough in a full run.
func deviceKinds() []kind {
	var kinds []kind
	for _, what := range []string{
		"PreEnqueue", "PreFilter", "Filter", "PostFilter", "Score", "Reserve and allocation", "PreBind", "Unreserve", "validity of allocations",
	} {
		kinds = append(kinds, kind{what, dynamicResources})
	}
	return append(kinds, kind{"extended resources of devices", "NodeResourcesFit"},
		kind{"scores of devices", "NodeResourcesFit"}, kind{"scores of devices", "NodeResourcesBalancedAllocation"})
}

// compareDevices compares what becomes of pods with claims, one after the other: what every extension point says, what is
// written, and what counts as allocated after each step. Whatever is allocated must be valid, too.
func (m *machine) compareDevices(r round) {
	synctest.Test(r.T, func(t *testing.T) {
		h := newGenerator(r.seed).deviceHistory()
		their, our := playDevices(t, h, theirs), playDevices(t, h, ours)
		if diff := difference(their.v, our.v); diff != "" {
			h = shrink(h, smallerHistories, func(h history) bool { return difference(playDevices(t, h, theirs).v, playDevices(t, h, ours).v) != "" })
			t.Fatalf("SEED=%d N=1: devices (-kube-scheduler +rouse):\n%s\nand smaller:\n%s\n%s", r.seed, diff,
				difference(playDevices(t, h, theirs).v, playDevices(t, h, ours).v), h.text())
		}
		for _, side := range []struct {
			name    string
			build   builder
			invalid []string
		}{{"kube-scheduler", theirs, their.invalid}, {"Rouse", ours, our.invalid}} {
			if len(side.invalid) > 0 {
				kind := shapeOf(side.invalid[0])
				h = shrink(h, smallerHistories, func(h history) bool {
					return slices.ContainsFunc(playDevices(t, h, side.build).invalid, func(violation string) bool { return shapeOf(violation) == kind })
				})
				t.Fatalf("SEED=%d N=1: %s makes allocations that are not valid: %v\nand smaller: %v\n%s", r.seed, side.name, side.invalid,
					playDevices(t, h, side.build).invalid, h.text())
			}
		}
		m.add(their.v.count())
	})
}

// shapeOf returns a message without names and numbers.
func shapeOf(message string) string {
	words := slices.DeleteFunc(strings.Fields(message), func(word string) bool { return strings.ContainsAny(word, "0123456789/:") })
	return strings.Join(words, " ")
}

// played is what a side does in a history with devices.
type played struct {
	v       verdicts
	invalid []string
}

func playDevices(t *testing.T, h history, build builder) played {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := build(ctx, h.cluster, h.profile)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.nodes()
	if err != nil {
		t.Fatal(err)
	}
	result := &played{v: verdicts{}}
	server := serveClaims(s.client, s.world)
	for i, step := range h.steps {
		pod, ok := step.Object.(*v1.Pod)
		if !ok {
			if err := server.apply(step); err != nil {
				t.Fatal(err)
			}
			continue
		}
		server.pods[pod.Namespace+"/"+pod.Name] = pod
		cycle := &deviceCycle{
			side: s, played: result, server: server, ctx: ctx, pod: pod, number: i, before: map[types.UID]bool{},
			state: s.newState(), statuses: framework.NewDefaultNodeToStatus(),
		}
		for _, claim := range server.claims {
			cycle.before[claim.UID] = claim.Status.Allocation != nil
		}
		cycle.run(nodes)
	}
	return *result
}

// apply makes the change of a step. A claim comes without devices if another one has them by now.
func (s *claimServer) apply(step step) error {
	claim, ok := step.Object.(*resourceapi.ResourceClaim)
	switch {
	case !ok:
		return s.world.change(step.Object, step.Removed)
	case step.Removed:
		return s.remove(claim)
	}
	free := claim.DeepCopy()
	free.Status = resourceapi.ResourceClaimStatus{}
	s.put(free) // an allocation does not change into another one
	if claim.Status.Allocation != nil && !s.isTaken(claim) {
		s.put(claim.DeepCopy())
	}
	return nil
}

// deviceCycle is the way of one pod through the plugin.
type deviceCycle struct {
	*side
	*played
	server *claimServer
	ctx    context.Context
	pod    *v1.Pod
	number int // that of the pod
	// before are the claims that had devices when the cycle began.
	before map[types.UID]bool
	state  fwk.CycleState
	// statuses are those of the nodes that were rejected.
	statuses *framework.NodeToStatus
}

// say notes what an extension point says, or what came of it.
func (d *deviceCycle) say(point, what, verdict string) {
	d.v[subject{kind: kind{point, dynamicResources}, pod: d.pod.Name, node: what}] = verdict
}

// wrote returns what was asked of the API server since it was last called, without what is different every time. When the
// finalizer is written is not compared, only that the allocation goes with it: Rouse creates claims that have it.
func (d *deviceCycle) wrote() string {
	asked := requests(d.client.Actions())
	d.client.ClearActions()
	asked = slices.DeleteFunc(asked, func(request string) bool { return strings.HasPrefix(request, "update  ") || request == "get " })
	for i := range asked {
		if strings.HasPrefix(asked[i], "create ") {
			asked[i] = strings.Replace(asked[i], `,"finalizers":["resource.kubernetes.io/delete-protection"]`, "", 1)
		}
	}
	for len(d.recorder.Events) > 0 {
		asked = append(asked, <-d.recorder.Events)
	}
	return differsEveryTime().ReplaceAllString(strings.Join(asked, "\n"), "$1")
}

// differsEveryTime matches what differs from one allocation of the same devices to the next.
var differsEveryTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"shareID":"[^"]*"|("allocationTimestamp":)"[^"]*"|"resourceVersion":"[^"]*",|"uid":"[0-9a-f]{8}-[^"]*"`)
})

// consumedMemory matches what says how much of a device is consumed.
var consumedMemory = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`memory\d+Gi`) })

func (d *deviceCycle) allocated() string {
	state, err := d.devices.ResourceClaims().GatherAllocatedState()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for id := range state.AllocatedDevices {
		lines = append(lines, id.String())
	}
	for id := range state.AggregatedCapacity {
		for name, quantity := range state.AggregatedCapacity[id] {
			lines = append(lines, fmt.Sprint(id, name, quantity))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func (d *deviceCycle) run(nodes []fwk.NodeInfo) {
	plugin := d.plugins[dynamicResources]
	d.extendedResources(nodes)
	d.say("PreEnqueue", "", describe(plugin.(fwk.PreEnqueuePlugin).PreEnqueue(d.ctx, d.pod)))
	_, status := plugin.(fwk.PreFilterPlugin).PreFilter(d.ctx, d.state, d.pod, nodes)
	d.say("PreFilter", "", describe(status))
	if !status.IsSuccess() {
		return
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		status := plugin.(fwk.FilterPlugin).Filter(d.ctx, d.state, d.pod, node)
		d.say("Filter", name, describe(status))
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			d.statuses.Set(name, status)
		}
	}
	if len(feasible) == 0 {
		d.postFilter(plugin)
		return
	}
	d.score(plugin.(fwk.ScorePlugin), feasible)
	// kube-scheduler makes an empty claim if a pod has claims and all its extended resources are on the node, and then
	// fails.
	feasible = slices.DeleteFunc(feasible, func(node fwk.NodeInfo) bool {
		return len(d.pod.Spec.ResourceClaims) > 0 && node.GetAllocatable().GetScalarResources()[served] > 0
	})
	if d.asksForExtended() || d.hasDevices() { // what a pod has for extended resources, or has reserved already, is given back once
		feasible = feasible[:min(1, len(feasible))]
	}
	for i := range feasible {
		if node := feasible[(d.number+i)%len(feasible)].Node(); i < len(feasible)-1 {
			d.reserve(plugin.(fwk.ReservePlugin), node)
			d.unreserve(plugin.(fwk.ReservePlugin), node)
		} else {
			d.bind(plugin, node)
		}
	}
}

// postFilter leaves out pods with more than one claim that can be given back: kube-scheduler takes any of them.
func (d *deviceCycle) postFilter(plugin fwk.Plugin) {
	blockers := 0
	for _, claim := range d.server.claims {
		own := len(claim.Status.ReservedFor) == 0 || resourceclaim.IsReservedForPod(d.pod, claim, false)
		if own && (claim.Status.Allocation != nil || len(claim.OwnerReferences) > 0 && claim.OwnerReferences[0].UID == d.pod.UID) {
			blockers++
		}
	}
	if blockers > 1 && len(d.pod.Spec.ResourceClaims) > 1 {
		return
	}
	_, status := plugin.(fwk.PostFilterPlugin).PostFilter(d.ctx, d.state, d.pod, d.statuses)
	d.say("PostFilter", "", describe(status)+" "+d.wrote())
	d.say("PostFilter", "allocated after it", d.allocated())
}

func (d *deviceCycle) score(plugin fwk.ScorePlugin, feasible []fwk.NodeInfo) {
	var scores fwk.NodeScoreList
	for _, node := range feasible {
		score, status := plugin.Score(d.ctx, d.state, d.pod, node)
		d.say("Score", node.Node().Name, fmt.Sprint(describe(status), " ", score))
		scores = append(scores, fwk.NodeScore{Name: node.Node().Name, Score: score})
	}
	status := plugin.ScoreExtensions().NormalizeScore(d.ctx, d.state, d.pod, scores)
	d.say("Score", "normalized", fmt.Sprint(describe(status), " ", scores))
}

// reserve sets the devices aside that were chosen on a node.
func (d *deviceCycle) reserve(plugin fwk.ReservePlugin, node *v1.Node) {
	const reservation = "Reserve and allocation"
	status := plugin.Reserve(d.ctx, d.state, d.pod, node.Name)
	d.say(reservation, node.Name, describe(status))
	d.say(reservation, node.Name+", allocated", d.allocated())
	if status.IsSuccess() {
		d.validate(node, "reserved on "+node.Name, d.pending())
	}
}

func (d *deviceCycle) unreserve(plugin fwk.ReservePlugin, node *v1.Node) {
	plugin.Unreserve(d.ctx, d.state, d.pod, node.Name)
	d.say("Unreserve", node.Name+", writes", d.wrote())
	d.say("Unreserve", node.Name+", allocated", d.allocated())
}

// bind reserves and writes. Of two in three pods, the binding fails before or after the claims are written.
func (d *deviceCycle) bind(plugin fwk.Plugin, node *v1.Node) {
	reserve, prebind := plugin.(fwk.ReservePlugin), plugin.(fwk.PreBindPlugin)
	d.reserve(reserve, node)
	if d.number%3 == 2 {
		d.unreserve(reserve, node)
		return
	}
	_, status := prebind.PreBindPreFlight(d.ctx, d.state, d.pod, node.Name)
	d.say("PreBind", "flight", describe(status))
	status = prebind.PreBind(d.ctx, d.state, d.pod, node.Name)
	d.say("PreBind", node.Name, describe(status)+" "+d.wrote())
	// Until a wait for devices is over, kube-scheduler counts what they consume twice, as pending and as written.
	d.say("PreBind", "allocated", consumedMemory().ReplaceAllString(d.allocated(), ""))
	if status.IsSuccess() {
		d.validate(node, "written", d.written())
	}
	if !status.IsSuccess() || d.number%3 == 1 {
		d.unreserve(reserve, node)
	}
}

// pending returns the claims of the pod with the allocations that they are about to get.
func (d *deviceCycle) pending() []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for i := range d.pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(d.pod, &d.pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		claim := d.server.claims[d.pod.Namespace+"/"+*name]
		if claim == nil {
			continue
		}
		if allocation := d.devices.ResourceClaims().GetPendingAllocation(claim.UID); allocation != nil {
			claim = claim.DeepCopy()
			claim.Status.Allocation = allocation
			claims = append(claims, claim)
		}
	}
	return claims
}

// written returns the claims of the pod whose devices were written in this cycle, that for extended resources included.
// Those that had devices before are not for the scheduler to answer for.
func (d *deviceCycle) written() []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for _, claim := range d.server.claims {
		if claim.Status.Allocation != nil && !d.before[claim.UID] {
			claims = append(claims, claim)
		}
	}
	return claims
}

// validate says whether allocations are valid.
func (d *deviceCycle) validate(node *v1.Node, what string, claims []*resourceapi.ResourceClaim) {
	rules := d.server.rules(claims...)
	for _, claim := range claims {
		d.v[subject{kind: kind{"validity of allocations", dynamicResources}, pod: d.pod.Name, node: what + " " + claim.Name}] = "valid"
		for _, violation := range rules.violations(claim, node) {
			d.invalid = append(d.invalid, fmt.Sprintf("pod %s, %s: %s", d.pod.Name, what, violation))
		}
	}
}

// hasDevices reports whether a claim of the pod had devices when the cycle began.
func (d *deviceCycle) hasDevices() bool {
	for i := range d.pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(d.pod, &d.pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		if claim := d.server.claims[d.pod.Namespace+"/"+*name]; claim != nil && claim.Status.Allocation != nil {
			return true
		}
	}
	return false
}

func (d *deviceCycle) asksForExtended() bool {
	containers := slices.Concat(d.pod.Spec.InitContainers, d.pod.Spec.Containers)
	return slices.ContainsFunc(containers, func(c v1.Container) bool { return len(c.Resources.Requests) > 0 })
}

// extendedResources asks NodeResourcesFit about a pod that asks for extended resources.
func (d *deviceCycle) extendedResources(nodes []fwk.NodeInfo) {
	if !d.asksForExtended() {
		return
	}
	const fit = "NodeResourcesFit"
	say := func(what, verdict string) {
		d.v[subject{kind: kind{"extended resources of devices", fit}, pod: d.pod.Name, node: what}] = verdict
	}
	plugin, state := d.plugins[fit], d.newState()
	fragments, status := plugin.(fwk.SignPlugin).SignPod(d.ctx, d.pod)
	text, _ := json.Marshal(fragments)
	say("signature", describe(status)+string(text))
	_, status = plugin.(fwk.PreFilterPlugin).PreFilter(d.ctx, state, d.pod, nodes)
	say("PreFilter", describe(status))
	for _, node := range nodes {
		say("Filter "+node.Node().Name, describe(plugin.(fwk.FilterPlugin).Filter(d.ctx, state, d.pod, node)))
	}
	status = plugin.(fwk.PreScorePlugin).PreScore(d.ctx, state, d.pod, nodes)
	say("PreScore", describe(status))
	if !status.IsSuccess() {
		return
	}
	for _, node := range nodes {
		score, status := plugin.(fwk.ScorePlugin).Score(d.ctx, state, d.pod, node)
		say("Score "+node.Node().Name, fmt.Sprint(describe(status), " ", score))
	}
}
