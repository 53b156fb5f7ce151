// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func TestNominatedVerdictsAreForTheSameNominatedPods(t *testing.T) {
	first, second := &framework.PodInfo{Pod: &v1.Pod{}}, &framework.PodInfo{Pod: &v1.Pod{}}
	pods := func(pods ...fwk.PodInfo) []fwk.PodInfo { return pods }
	log := &ChangeLog{}
	cached := NewNominated()
	cached.Sync(log)
	cached.Put(3, pods(first), Accepted)
	cached.Put(4, pods(first, second), FirstRejection)

	for _, test := range []struct {
		what  string
		node  int
		pods  []fwk.PodInfo
		want  Verdict
		known bool
	}{
		{"the same pod", 3, pods(first), Accepted, true},
		{"the same pods", 4, pods(first, second), FirstRejection, true},
		{"another pod", 3, pods(second), Accepted, false},
		{"a further pod", 3, pods(first, second), Accepted, false},
		{"a pod less", 4, pods(first), FirstRejection, false},
		{"another node", 5, pods(first), Unknown, false},
	} {
		if v, known := cached.Get(test.node, test.pods); known != test.known || known && v != test.want {
			t.Errorf("%s: got %d, known: %v; want %d, %v", test.what, v, known, test.want, test.known)
		}
	}

	log.changed = append(log.changed, 3)
	cached.Sync(log)
	if _, known := cached.Get(3, pods(first)); known {
		t.Error("a verdict on a node outlived a change of the node")
	}
	if _, known := cached.Get(4, pods(first, second)); !known {
		t.Error("a verdict was forgotten when another node changed")
	}
	log.forget()
	cached.Sync(log)
	if _, known := cached.Get(4, pods(first, second)); known {
		t.Error("a verdict outlived changes that are not in the log any more")
	}
}
