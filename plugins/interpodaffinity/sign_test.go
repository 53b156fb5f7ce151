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
	"github.com/rouse-scheduler/rouse/plugintest/objects"
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
		{"no affinity", nil, objects.Pod("p").Label("app", "web").Build(), signed, nil},
		{"node affinity only", nil, objects.Pod("p").Label("app", "web").With(nodeAffinity).Build(), signed, nil},
		{"no affinity, preferences of others ignored", ignoring, objects.Pod("p").Label("app", "web").Build(), nil, nil},
		{"pod affinity", nil, objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), nil, refused},
		{"preferred pod affinity", nil, objects.Pod("p").Label("app", "web").With(rather(weighted(1, term("zone", "db")))).Build(), nil, refused},
		{"pod anti-affinity, preferences of others ignored", ignoring, objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), nil, refused},
		{"empty pod affinity", nil, objects.Pod("p").Label("app", "web").With(to()).Build(), nil, refused},
		{"empty pod anti-affinity", nil, objects.Pod("p").Label("app", "web").With(from()).Build(), nil, refused},
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
		{"nothing", objects.Pod("a").Label("app", "web").Build(), objects.Pod("b").Label("app", "web").Build(), true},
		{"same terms", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(likes).Build(), true},
		{"preferences don't matter", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(likes).With(rather(weighted(1, term("zone", "x")))).Build(), true},
		{"other labels", objects.Pod("a").Label("app", "web").Build(), objects.Pod("b").Label("app", "db").Build(), false},
		{"other namespace", objects.Pod("a").Label("app", "web").Build(), objects.Pod("b").Label("app", "web").With(inNamespace("a1")).Build(), false},
		{"affinity or none", objects.Pod("a").Label("app", "web").Build(), objects.Pod("b").Label("app", "web").With(likes).Build(), false},
		{"affinity or anti-affinity", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(dislikes).Build(), false},
		{"other key", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(to(term("host", "db"))).Build(), false},
		{"other selector", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(to(term("zone", "x"))).Build(), false},
		{"other namespaces of a term", objects.Pod("a").Label("app", "web").With(likes).Build(), objects.Pod("b").Label("app", "web").With(to(term("zone", "db", of("a1")))).Build(), false},
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
		other := objects.PodFrom(randomPod(random, "other")).Node("n1").Build()
		relabelled := objects.PodFrom(other).Label("app", pick(random, "web", "db")).Build()
		oldNode, newNode := randomNode(random, 0).Node(), randomNode(random, 0).Node()
		classes.CheckAnswers(t,
			fixture.HintCall{Hint: podHint, New: other}, fixture.HintCall{Hint: podHint, Old: other},
			fixture.HintCall{Hint: podHint, Old: other, New: relabelled},
			fixture.HintCall{Hint: nodeHint, New: newNode}, fixture.HintCall{Hint: nodeHint, Old: oldNode},
			fixture.HintCall{Hint: nodeHint, Old: oldNode, New: newNode},
		)
	}
}
