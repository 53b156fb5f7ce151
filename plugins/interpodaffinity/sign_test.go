// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestSignPod(t *testing.T) {
	refused := fwk.NewStatus(fwk.Unschedulable, "pods with InterPodAffinity are not signable")
	ignoring := &configv1.InterPodAffinityArgs{HardPodAffinityWeight: ptr.To[int32](1), IgnorePreferredTermsOfExistingPods: true}
	signed := []fwk.SignFragment{{Key: fwk.LabelsSignerName, Value: labelMap("app", "web")}}
	nodeAffinity := func(pod *v1.Pod) { pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}} }
	tests := []struct {
		name   string
		args   apiruntime.Object
		pod    *v1.Pod
		want   []fwk.SignFragment
		status *fwk.Status
	}{
		{"no affinity", nil, pod("p", "web"), signed, nil},
		{"node affinity only", nil, pod("p", "web", nodeAffinity), signed, nil},
		{"no affinity, preferences of others ignored", ignoring, pod("p", "web"), nil, nil},
		{"pod affinity", nil, pod("p", "web", to(term("zone", "db"))), nil, refused},
		{"preferred pod affinity", nil, pod("p", "web", rather(weighted(1, term("zone", "db")))), nil, refused},
		{"pod anti-affinity, preferences of others ignored", ignoring, pod("p", "web", from(term("zone", "db"))), nil, refused},
		{"empty pod affinity", nil, pod("p", "web", to()), nil, refused},
		{"empty pod anti-affinity", nil, pod("p", "web", from()), nil, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fragments, status := newPlugin(t, tt.args, nil).SignPod(t.Context(), tt.pod)
			fixture.CheckStatus(t, status, tt.status)
			if diff := cmp.Diff(tt.want, fragments); diff != "" {
				t.Errorf("fragments differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHintClass(t *testing.T) {
	likes, dislikes := to(term("zone", "db")), from(term("zone", "db"))
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"nothing", pod("a", "web"), pod("b", "web"), true},
		{"same terms", pod("a", "web", likes), pod("b", "web", likes), true},
		{"preferences don't matter", pod("a", "web", likes), pod("b", "web", likes, rather(weighted(1, term("zone", "x")))), true},
		{"other labels", pod("a", "web"), pod("b", "db"), false},
		{"other namespace", pod("a", "web"), pod("b", "web", inNamespace("a1")), false},
		{"affinity or none", pod("a", "web"), pod("b", "web", likes), false},
		{"affinity or anti-affinity", pod("a", "web", likes), pod("b", "web", dislikes), false},
		{"other key", pod("a", "web", likes), pod("b", "web", to(term("host", "db"))), false},
		{"other selector", pod("a", "web", likes), pod("b", "web", to(term("zone", "x"))), false},
		{"other namespaces of a term", pod("a", "web", likes), pod("b", "web", to(term("zone", "db", of("a1")))), false},
	}
	pl := newPlugin(t, nil, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}

// TestHintClassCoversHints asks the hints of random pods of the same class about the same random events.
func TestHintClassCoversHints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pl := newPlugin(t, nil, nil, namespaces()...)
	var pods []*v1.Pod
	for i := range 1500 {
		pods = append(pods, randomPod(random, fmt.Sprintf("p%d", i)))
	}
	classes := fixture.NewHintClasses(t, pl, pods)
	podHint, nodeHint := fixture.Hint(t, pl, fwk.AssignedPod, podActions), fixture.Hint(t, pl, fwk.Node, nodeActions)
	for range 10 {
		other := with(randomPod(random, "other"), fixture.OnNode("n1"))
		relabelled := with(other, fixture.Labelled(labelMap("app", pick(random, "web", "db"))))
		oldNode, newNode := randomNode(random, 0).Node(), randomNode(random, 0).Node()
		classes.CheckAnswers(t,
			fixture.HintCall{Hint: podHint, New: other}, fixture.HintCall{Hint: podHint, Old: other},
			fixture.HintCall{Hint: podHint, Old: other, New: relabelled},
			fixture.HintCall{Hint: nodeHint, New: newNode}, fixture.HintCall{Hint: nodeHint, Old: oldNode},
			fixture.HintCall{Hint: nodeHint, Old: oldNode, New: newNode},
		)
	}
}
