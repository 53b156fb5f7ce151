// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func TestClaimedColumnKnowsWhoseClaimsItSaw(t *testing.T) {
	first, second := &framework.PodInfo{Pod: &v1.Pod{}}, &framework.PodInfo{Pod: &v1.Pod{}}
	claimed := func(slot int, pods ...fwk.PodInfo) claimedNode { return claimedNode{slot, pods} }
	log := &changeLog{}
	column := &claimedColumn{position: -1}
	column.sync(log)
	column.keep(claimed(3, first), accepted)
	column.keep(claimed(4, first, second), firstRejection)

	for _, test := range []struct {
		what  string
		node  claimedNode
		want  verdict
		known bool
	}{
		{"the same pod", claimed(3, first), accepted, true},
		{"the same pods", claimed(4, first, second), firstRejection, true},
		{"another pod", claimed(3, second), accepted, false},
		{"a further pod", claimed(3, first, second), accepted, false},
		{"a pod less", claimed(4, first), firstRejection, false},
		{"another node", claimed(5, first), unknown, false},
	} {
		if v, known := column.find(test.node); known != test.known || known && v != test.want {
			t.Errorf("%s: got %d, known: %v; want %d, %v", test.what, v, known, test.want, test.known)
		}
	}

	log.slots = append(log.slots, 3)
	column.sync(log)
	if _, known := column.find(claimed(3, first)); known {
		t.Error("a verdict on a node outlived a change of the node")
	}
	if _, known := column.find(claimed(4, first, second)); !known {
		t.Error("a verdict was forgotten when another node changed")
	}
	log.forget()
	column.sync(log)
	if _, known := column.find(claimed(4, first, second)); known {
		t.Error("a verdict outlived changes that nobody remembers")
	}
}
