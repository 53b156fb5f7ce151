// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// amounts is a resource vector as tests write it; zero scalars count as absent.
type amounts struct {
	MilliCPU, Memory, EphemeralStorage int64
	Pods                               int
	Scalars                            map[v1.ResourceName]int64
}

func amountsOf(r fwk.Resource) amounts {
	result := amounts{MilliCPU: r.GetMilliCPU(), Memory: r.GetMemory(), EphemeralStorage: r.GetEphemeralStorage(),
		Pods: r.GetAllowedPodNumber()}
	for name, quantity := range r.GetScalarResources() {
		if quantity != 0 {
			if result.Scalars == nil {
				result.Scalars = map[v1.ResourceName]int64{}
			}
			result.Scalars[name] = quantity
		}
	}
	return result
}

type imageView struct {
	Size     int64
	NumNodes int
}

// nodeView is everything that a plugin can see of a node info, in a form that cmp can compare.
type nodeView struct {
	Node                            *v1.Node
	Pods                            map[types.UID]*v1.Pod
	Affinity, AntiAffinity          []types.UID
	Ports                           fwk.HostPortInfo
	Requested, NonZero, Allocatable amounts
	Claims                          map[string]int
	Images                          map[string]imageView
}

func viewOf(info fwk.NodeInfo) nodeView {
	view := nodeView{
		Node:         info.Node(),
		Pods:         map[types.UID]*v1.Pod{},
		Affinity:     podUIDs(info.GetPodsWithAffinity()),
		AntiAffinity: podUIDs(info.GetPodsWithRequiredAntiAffinity()),
		Ports:        fwk.HostPortInfo{},
		Requested:    amountsOf(info.GetRequested()),
		NonZero:      amountsOf(info.GetNonZeroRequested()),
		Allocatable:  amountsOf(info.GetAllocatable()),
		Claims:       map[string]int{},
		Images:       map[string]imageView{},
	}
	for _, podInfo := range info.GetPods() {
		view.Pods[podInfo.GetPod().UID] = podInfo.GetPod()
	}
	for ip, ports := range info.GetUsedPorts() {
		if len(ports) > 0 {
			view.Ports[ip] = ports
		}
	}
	for key, count := range info.GetPVCRefCounts() {
		view.Claims[key] = count
	}
	for name, state := range info.GetImageStates() {
		view.Images[name] = imageView{Size: state.Size, NumNodes: state.NumNodes}
	}
	return view
}

func podUIDs(infos []fwk.PodInfo) []types.UID {
	var result []types.UID
	for _, info := range infos {
		result = append(result, info.GetPod().UID)
	}
	slices.Sort(result)
	return result
}

func namesOf(infos []fwk.NodeInfo) []string {
	var names []string
	for _, info := range infos {
		names = append(names, info.Node().Name)
	}
	return names
}

func listedNames(t *testing.T, s *Snapshot) []string {
	t.Helper()
	infos, err := s.List()
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return namesOf(infos)
}

func affinityNames(t *testing.T, s *Snapshot) (affinity, antiAffinity []string) {
	t.Helper()
	infos, err := s.HavePodsWithAffinityList()
	if err != nil {
		t.Fatalf("HavePodsWithAffinityList: %v", err)
	}
	antiInfos, err := s.HavePodsWithRequiredAntiAffinityList()
	if err != nil {
		t.Fatalf("HavePodsWithRequiredAntiAffinityList: %v", err)
	}
	for _, info := range slices.Concat(infos, antiInfos) {
		if byName, err := s.Get(info.Node().Name); err != nil || byName != info {
			t.Errorf("Get(%q) = %p, %v; the affinity lists have %p", info.Node().Name, byName, err, info)
		}
	}
	return namesOf(infos), namesOf(antiInfos)
}

// snapshotView is everything that a plugin can see of a snapshot.
type snapshotView struct {
	Order                  []string
	Nodes                  map[string]nodeView
	Affinity, AntiAffinity []string
	UsedClaims             []string
}

// snapshotViewOf reads a snapshot through its methods; claims are those that it is asked for.
func snapshotViewOf(t *testing.T, s *Snapshot, claims []string) snapshotView {
	t.Helper()
	view := snapshotView{Order: listedNames(t, s), Nodes: map[string]nodeView{}}
	view.Affinity, view.AntiAffinity = affinityNames(t, s)
	infos, _ := s.List()
	for _, info := range infos {
		name := info.Node().Name
		view.Nodes[name] = viewOf(info)
		if byName, err := s.Get(name); err != nil || byName != info {
			t.Errorf("Get(%q) = %p, %v; want the listed %p", name, byName, err, info)
		}
	}
	for _, key := range claims {
		if s.StorageInfos().IsPVCUsedByPods(key) {
			view.UsedClaims = append(view.UsedClaims, key)
		}
	}
	return view
}

// checkFresh checks that a snapshot that was updated many times shows what one that never was before shows.
func checkFresh(t *testing.T, c *Cache, s *Snapshot, claims ...string) {
	t.Helper()
	var fresh Snapshot
	if err := c.UpdateSnapshot(&fresh); err != nil {
		t.Fatalf("UpdateSnapshot of an empty snapshot: %v", err)
	}
	if diff := cmp.Diff(snapshotViewOf(t, &fresh, claims), snapshotViewOf(t, s, claims)); diff != "" {
		t.Errorf("snapshot differs from one made from scratch (-scratch +updated):\n%s", diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || err.Error() != text {
		t.Errorf("got error %v, want %q", err, text)
	}
}

func wantCounts(t *testing.T, c *Cache, nodes, pods, assumed int) {
	t.Helper()
	if diff := cmp.Diff(Counts{Nodes: nodes, Pods: pods, AssumedPods: assumed}, c.Counts()); diff != "" {
		t.Errorf("Counts (-want +got):\n%s", diff)
	}
}

// update updates a snapshot and fails the test on an error.
func update(t *testing.T, c *Cache, s *Snapshot) {
	t.Helper()
	if err := c.UpdateSnapshot(s); err != nil {
		t.Fatalf("UpdateSnapshot: %v", err)
	}
}

// nodeInfo returns a node as a new snapshot of the cache shows it.
func nodeInfo(t *testing.T, c *Cache, name string) fwk.NodeInfo {
	t.Helper()
	var s Snapshot
	update(t, c, &s)
	info, err := s.Get(name)
	must(t, err)
	return info
}

func containsText(err error, text string) bool { return strings.Contains(err.Error(), text) }
