// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	own := fwk.NewStatus(fwk.Unschedulable, "pods with topology constraints are not signable")
	byDefault := fwk.NewStatus(fwk.Unschedulable, "pods with default topology constraints are not signable")
	tests := []struct {
		name string
		args apiruntime.Object
		pod  *v1.Pod
		want *fwk.Status
	}{
		{"own constraints", list(), web(constraintOn(1, zone, soft)), own},
		{"own constraints and those of the system", nil, web(constraintOn(1, zone, hard)), own},
		{"constraints of the system", nil, web(), byDefault},
		{"constraints of the profile", list(constraintOn(1, zone, hard, selectingNothing)), web(), byDefault},
		{"no constraints", list(), web(), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fragments, status := newPlugin(t, tt.args, nil).SignPod(t.Context(), tt.pod)
			fixture.CheckStatus(t, status, tt.want)
			if len(fragments) > 0 {
				t.Errorf("got fragments %v, want none", fragments)
			}
		})
	}
}

func TestHintClass(t *testing.T) {
	zones := constraintOn(1, zone, hard)
	defaults := list(constraintOn(1, zone, hard, selectingNothing))
	owned := controlledBy("apps/v1", "ReplicaSet", "o")
	tests := []struct {
		name  string
		args  apiruntime.Object
		a, b  *v1.Pod
		alike bool
	}{
		{"same constraints", nil, web(zones), web(zones), true},
		{"other labels don't matter with own constraints", nil, web(zones), with(web(zones), withLabels(labelMap("app", "db"))), true},
		{"soft constraints don't matter", nil, web(zones), web(zones, constraintOn(1, host, soft)), true},
		{"the skew does not matter", nil, web(zones), web(constraintOn(2, zone, hard)), true},
		{"tolerations don't matter", nil, web(zones), with(web(zones), tolerates(v1.Toleration{Key: "k"})), true},
		{"other namespace", nil, web(zones), with(web(zones), inNamespace("other")), false},
		{"other key", nil, web(zones), web(constraintOn(1, host, hard)), false},
		{"other selector", nil, web(zones), web(constraintOn(1, zone, hard, selecting("app", "db"))), false},
		{"no selector is not an empty one", nil, web(constraintOn(1, zone, hard, selectingNothing)), web(constraintOn(1, zone, hard, selecting())), false},
		{"other policy for taints", nil, web(zones), web(constraintOn(1, zone, hard, taintsPolicy(honor))), false},
		{"a policy as by default", nil, web(zones), web(constraintOn(1, zone, hard, taintsPolicy(ignore))), true},
		{"the same values for the keys of labels", nil, web(constraintOn(1, zone, hard, matchingKeys("app"))),
			with(web(constraintOn(1, zone, hard, matchingKeys("app"))), withLabels(labelMap("app", "web", "x", "y"))), true},
		{"other values for the keys of labels", nil, web(constraintOn(1, zone, hard, matchingKeys("app"))),
			with(web(constraintOn(1, zone, hard, matchingKeys("app"))), withLabels(labelMap("app", "db"))), false},
		{"constraints of the system are soft", nil, web(), with(web(), owned), true},
		{"constraints of the profile, same labels", defaults, web(), with(web(), onNode("n1")), true},
		{"constraints of the profile, other labels", defaults, web(), with(web(), withLabels(nil)), false},
		{"constraints of the profile, other controller", defaults, web(), with(web(), owned), false},
		{"constraints of the profile are replaced by own", defaults, web(zones), with(web(zones), owned), true},
		{"constraints of the profile are replaced by own soft ones", defaults, web(), web(constraintOn(1, zone, soft)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, tt.args, nil)
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}

// TestHintClassCoversHints asks the hints of random pods of the same class about the same random events. Services come
// and go after the classes were made.
func TestHintClassCoversHints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	factory := fixture.Informers(t)
	built, err := New(t.Context(), list(constraintOn(1, zone, hard, selectingNothing, taintsPolicy(honor))),
		&fixture.Handle{Informers: factory})
	if err != nil {
		t.Fatal(err)
	}
	pl := built.(*plugin)
	var pods []*v1.Pod
	for i := range 1000 {
		pods = append(pods, randomPod(random, fmt.Sprintf("p%d", i)))
	}
	classes := fixture.NewHintClasses(t, pl, pods)
	podHint, nodeHint := fixture.Hint(t, pl, fwk.AssignedPod, podActions), fixture.Hint(t, pl, fwk.Node, nodeActions)
	for range 20 {
		fixture.Store(t, factory, service("s", randomLabels(random)), replicaSet("o", requiring("app", pick(random, "web", "db"))))
		other := with(randomPod(random, "other"), onNode("n1"))
		relabelled := with(other, withLabels(randomLabels(random)))
		oldNode, newNode := randomNode(random, 0).Node(), randomNode(random, 0).Node()
		classes.CheckAnswers(t,
			fixture.HintCall{Hint: podHint, New: other}, fixture.HintCall{Hint: podHint, Old: other},
			fixture.HintCall{Hint: podHint, Old: other, New: relabelled},
			fixture.HintCall{Hint: nodeHint, New: newNode}, fixture.HintCall{Hint: nodeHint, Old: oldNode},
			fixture.HintCall{Hint: nodeHint, Old: oldNode, New: newNode},
		)
	}
}
