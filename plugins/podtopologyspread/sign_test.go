// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
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
		{"own constraints", list(), web(constraint(1, zone, soft)), own},
		{"own constraints and those of the system", nil, web(constraint(1, zone, hard)), own},
		{"constraints of the system", nil, web(), byDefault},
		{"constraints of the profile", list(constraint(1, zone, hard, selectingNothing)), web(), byDefault},
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
	zones := constraint(1, zone, hard)
	defaults := list(constraint(1, zone, hard, selectingNothing))
	owned := controlledBy("apps/v1", "ReplicaSet", "o")
	tests := []struct {
		name  string
		args  apiruntime.Object
		a, b  *v1.Pod
		alike bool
	}{
		{"same constraints", nil, web(zones), web(zones), true},
		{"other labels don't matter with own constraints", nil, web(zones), with(web(zones), fixture.Labelled(labels("app", "db"))), true},
		{"soft constraints don't matter", nil, web(zones), web(zones, constraint(1, host, soft)), true},
		{"the skew does not matter", nil, web(zones), web(constraint(2, zone, hard)), true},
		{"tolerations don't matter", nil, web(zones), with(web(zones), fixture.Tolerating(v1.Toleration{Key: "k"})), true},
		{"other namespace", nil, web(zones), with(web(zones), inNamespace("other")), false},
		{"other key", nil, web(zones), web(constraint(1, host, hard)), false},
		{"other selector", nil, web(zones), web(constraint(1, zone, hard, selecting("app", "db"))), false},
		{"no selector is not an empty one", nil, web(constraint(1, zone, hard, selectingNothing)), web(constraint(1, zone, hard, selecting())), false},
		{"other policy for taints", nil, web(zones), web(constraint(1, zone, hard, taintsPolicy(honor))), false},
		{"a policy as by default", nil, web(zones), web(constraint(1, zone, hard, taintsPolicy(ignore))), true},
		{"the same values for the keys of labels", nil, web(constraint(1, zone, hard, matchingKeys("app"))),
			with(web(constraint(1, zone, hard, matchingKeys("app"))), fixture.Labelled(labels("app", "web", "x", "y"))), true},
		{"other values for the keys of labels", nil, web(constraint(1, zone, hard, matchingKeys("app"))),
			with(web(constraint(1, zone, hard, matchingKeys("app"))), fixture.Labelled(labels("app", "db"))), false},
		{"constraints of the system are soft", nil, web(), with(web(), owned), true},
		{"constraints of the profile, same labels", defaults, web(), with(web(), fixture.OnNode("n1")), true},
		{"constraints of the profile, other labels", defaults, web(), with(web(), fixture.Labelled(nil)), false},
		{"constraints of the profile, other controller", defaults, web(), with(web(), owned), false},
		{"constraints of the profile are replaced by own", defaults, web(zones), with(web(zones), owned), true},
		{"constraints of the profile are replaced by own soft ones", defaults, web(), web(constraint(1, zone, soft)), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, tt.args, nil)
			a, okA := pl.HintClass(tt.a)
			b, okB := pl.HintClass(tt.b)
			if !okA || !okB || (a == b) != tt.alike {
				t.Errorf("got classes %q (%v) and %q (%v), want alike %v", a, okA, b, okB, tt.alike)
			}
		})
	}
}

// TestHintClassCoversHints asks the hints of random pods of the same class about the same random events. Services come
// and go after the classes were made.
func TestHintClassCoversHints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	factory := fixture.Informers(t)
	plugin, err := podtopologyspread.New(t.Context(), list(constraint(1, zone, hard, selectingNothing, taintsPolicy(honor))),
		&fixture.Handle{Informers: factory})
	if err != nil {
		t.Fatal(err)
	}
	pl := plugin.(*podtopologyspread.Plugin)
	classes := map[string][]*v1.Pod{}
	for i := range 1000 {
		pod := randomPod(random, fmt.Sprintf("p%d", i))
		class, ok := pl.HintClass(pod)
		if !ok {
			t.Fatal("no class")
		}
		classes[class] = append(classes[class], pod)
	}
	podHint := fixture.Hint(t, pl, fwk.AssignedPod, podActions)
	nodeHint := fixture.Hint(t, pl, fwk.Node, nodeActions)
	shared := 0
	for range 20 {
		fixture.Store(t, factory, service("s", randomLabels(random)), replicaSet("o", requiring("app", pick(random, "web", "db"))))
		other := with(randomPod(random, "other"), fixture.OnNode("n1"))
		relabelled := with(other, fixture.Labelled(randomLabels(random)))
		oldNode, newNode := randomNode(random, 0).Node(), randomNode(random, 0).Node()
		for class, pods := range classes {
			ask := func(pod *v1.Pod) string {
				var answers []fwk.QueueingHint
				for _, objects := range [][2]any{{nil, other}, {other, nil}, {other, relabelled}} {
					answer, err := podHint(klog.Logger{}, pod, objects[0], objects[1])
					if err != nil {
						t.Fatal(err)
					}
					answers = append(answers, answer)
				}
				for _, objects := range [][2]any{{nil, newNode}, {oldNode, nil}, {oldNode, newNode}} {
					answer, err := nodeHint(klog.Logger{}, pod, objects[0], objects[1])
					if err != nil {
						t.Fatal(err)
					}
					answers = append(answers, answer)
				}
				return fmt.Sprint(answers)
			}
			first := ask(pods[0])
			for _, pod := range pods[1:] {
				shared++
				if answers := ask(pod); answers != first {
					t.Fatalf("class %s: pods %s and %s get answers %s and %s", class, pods[0].Name, pod.Name, first, answers)
				}
			}
		}
	}
	if shared == 0 {
		t.Error("no two pods share a class, nothing was tested")
	}
}
