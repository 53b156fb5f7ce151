// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// This file is about the claims of pods in histories. A pod with claims is bound as schedulers bind it, by both of them,
// each of which writes to claims of its own.

// reservedPod is a pod with claims between its cycle and its binding.
type reservedPod struct {
	assumed *v1.Pod
	their   fwk.CycleState
	task    func() // binds in Rouse
}

// serve returns what answers requests for claims; nil in a history without devices.
func (h history) serve(client *fake.Clientset, w world) *claimServer {
	if !h.devices {
		return nil
	}
	server := serveClaims(client, w)
	server.driver = func(claim *resourceapi.ResourceClaim) { server.makeReady(claim.DeepCopy()) }
	return server
}

// makeReady is a driver, which says a second after an allocation was written that its devices are ready, or that they never
// will be: of some claims it says this, and of others that. The scheduler waits for it by then.
func (s *claimServer) makeReady(claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation == nil || len(claim.Status.Devices) > 0 {
		return
	}
	condition := "Ready"
	if claim.Name[len(claim.Name)-1]%4 == 0 {
		condition = "Failed"
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if len(result.BindingConditions) > 0 {
			claim.Status.Devices = append(claim.Status.Devices, resourceapi.AllocatedDeviceStatus{
				Driver: result.Driver, Pool: result.Pool, Device: result.Device,
				Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "R", Message: "m"}},
			})
		}
	}
	if len(claim.Status.Devices) == 0 {
		return
	}
	time.AfterFunc(time.Second, func() {
		if now := s.claims[claim.Namespace+"/"+claim.Name]; now != nil && now.ResourceVersion == claim.ResourceVersion {
			s.put(claim)
		}
	})
}

// writes returns how often something was written to claims.
func (s *claimServer) writes() int {
	if s == nil {
		return 0
	}
	return s.version
}

func (s *ourScheduler) wantsDevices(pod *v1.Pod) bool {
	return s.server != nil && (len(pod.Spec.ResourceClaims) > 0 || (&deviceCycle{pod: pod}).asksForExtended())
}

// bind binds a pod that is reserved, in both schedulers, or fails to do so after the claims were written. It reports whether
// the pod is bound; those without claims are at once.
func (s *ourScheduler) bind(uid types.UID, succeeds bool) bool {
	reserved, ok := s.reserved[uid]
	if !ok {
		return true
	}
	delete(s.reserved, uid)
	pod := reserved.assumed
	for _, server := range []*claimServer{s.server, s.their.server} {
		server.pods[pod.Namespace+"/"+pod.Name] = pod
	}
	f := s.their.framework()
	status := f.RunPreBindPreFlights(s.ctx, reserved.their, pod, pod.Spec.NodeName)
	if status.IsSuccess() || status.IsSkip() {
		status = f.RunPreBindPlugins(s.ctx, reserved.their, pod, pod.Spec.NodeName)
	}
	s.binding, s.failure = succeeds, nil
	reserved.task()
	s.binding = false
	about := subject{kind: kind{what: "history: reservation"}, pod: fmt.Sprintf("bound after cycle %d, pod %s", s.cycles, pod.Name)}
	if !succeeds || !status.IsSuccess() {
		s.their.release(s.ctx, pod, reserved.their)
	}
	if s.failure != nil {
		waiting := pod.DeepCopy()
		waiting.Spec.NodeName = ""
		s.withdrawNomination(waiting)
	}
	s.want[about] = fmt.Sprintf("bound %t, %s", succeeds && status.IsSuccess(), s.their.server.written())
	s.got[about] = fmt.Sprintf("bound %t, %s", s.failure == nil, s.server.written())
	return s.failure == nil
}

// written describes the devices of all claims, and whom they are for.
func (s *claimServer) written() string {
	var lines []string
	for key, claim := range s.claims {
		text, err := json.Marshal(claim.Status)
		if err != nil {
			return err.Error()
		}
		lines = append(lines, key+" "+differsEveryTime().ReplaceAllString(string(text), "$1"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// compareAllocations compares what the claims of a pod are about to get.
func (s *ourScheduler) compareAllocations(pod *v1.Pod) {
	about := subject{kind: kind{what: "history: reservation"}, pod: s.about}
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		claim := s.server.claims[pod.Namespace+"/"+*name]
		about.node = *name
		for _, side := range []struct {
			v       verdicts
			manager fwk.SharedDRAManager
		}{{s.want, s.their.framework().SharedDRAManager()}, {s.got, s.framework().SharedDRAManager()}} {
			text, _ := json.Marshal(side.manager.ResourceClaims().GetPendingAllocation(claim.UID))
			side.v[about] = differsEveryTime().ReplaceAllString(string(text), "$1")
		}
	}
}

// giveBack does to kube-scheduler's claims what PostFilter in Rouse did to its own: of several that can be given back,
// kube-scheduler takes any.
func (s *ourScheduler) giveBack() {
	if s.server == nil {
		return
	}
	for key, claim := range s.their.server.claims {
		switch now := s.server.claims[key]; {
		case now == nil:
			_ = s.their.server.remove(claim)
		case claim.Status.Allocation != nil && now.Status.Allocation == nil:
			freed := claim.DeepCopy()
			freed.Status = resourceapi.ResourceClaimStatus{}
			s.their.server.put(freed)
		}
	}
}

// changeClaim makes the change of a step. A claim comes without devices that are about to be another's: a binding that has
// begun then fails in Rouse alone.
func (s *ourScheduler) changeClaim(step step) {
	if claim := step.Object.(*resourceapi.ResourceClaim); s.takesAllocated(claim) {
		claim = claim.DeepCopy()
		claim.Status = resourceapi.ResourceClaimStatus{}
		step.Object = claim
	}
	for _, server := range []*claimServer{s.their.server, s.server} {
		_ = server.apply(step) // fails for kinds without informers alone
	}
}

// takesAllocated reports whether a device of a claim is allocated, or about to be.
func (s *ourScheduler) takesAllocated(claim *resourceapi.ResourceClaim) bool {
	allocated, err := s.framework().SharedDRAManager().ResourceClaims().ListAllAllocatedDevices()
	if err != nil || claim.Status.Allocation == nil {
		return err != nil
	}
	return slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(result resourceapi.DeviceRequestAllocationResult) bool {
		return allocated.Has(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
	})
}
