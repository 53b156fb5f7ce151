// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

// service returns a service; nil pairs give it no selector.
func service(name string, selector map[string]string) *v1.Service {
	return &v1.Service{ObjectMeta: meta(name), Spec: v1.ServiceSpec{Selector: selector}}
}

func replicaSet(name string, selector *metav1.LabelSelector) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: meta(name), Spec: appsv1.ReplicaSetSpec{Selector: selector}}
}

func statefulSet(name string, selector *metav1.LabelSelector) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{Selector: selector}}
}

func replicationController(name string, selector map[string]string) *v1.ReplicationController {
	return &v1.ReplicationController{ObjectMeta: meta(name), Spec: v1.ReplicationControllerSpec{Selector: selector}}
}

func requiring(pairs ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labelMap(pairs...)}
}

// TestDefaultSelector finds out which pods the constraints of the profile count: those with app=web, those that have
// tier=front too, or none, which means that the constraints do not apply.
func TestDefaultSelector(t *testing.T) {
	const (
		skipped = "skipped"
		webPods = "pods with app=web"
		both    = "pods with app=web and tier=front"
	)
	selectors := map[string]map[string]string{"web": labelMap("app", "web"), "front": labelMap("tier", "front")}
	pod := func(changes ...func(*v1.Pod)) *v1.Pod {
		return with(labelled("incoming", "app", "web", "tier", "front"), changes...)
	}
	elsewhere := service("s", selectors["web"])
	elsewhere.Namespace = "other"
	notController := func(pod *v1.Pod) { pod.OwnerReferences[0].Controller = nil }
	exists := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}

	tests := []struct {
		name    string
		pod     *v1.Pod
		objects []apiruntime.Object
		want    string
	}{
		{"nothing", pod(), nil, skipped},
		{"a service", pod(), []apiruntime.Object{service("s", selectors["web"])}, webPods},
		{"two services are merged", pod(), []apiruntime.Object{service("s", selectors["web"]), service("t", selectors["front"])}, both},
		{"a service that also wants a label that the pod lacks", pod(), []apiruntime.Object{service("s", labelMap("app", "web", "track", "new"))}, skipped},
		{"a service that selects other pods", pod(), []apiruntime.Object{service("s", labelMap("app", "db"))}, skipped},
		{"a service without a selector", pod(), []apiruntime.Object{service("s", nil)}, skipped},
		{"a service with an empty selector", pod(), []apiruntime.Object{service("s", labelMap())}, skipped},
		{"a service of another namespace", pod(), []apiruntime.Object{elsewhere}, skipped},
		{"a replica set", pod(controlledBy("apps/v1", "ReplicaSet", "o")), []apiruntime.Object{replicaSet("o", requiring("app", "web"))}, webPods},
		{"a replica set with an expression", pod(controlledBy("apps/v1", "ReplicaSet", "o")), []apiruntime.Object{replicaSet("o", exists)}, webPods},
		{"a replica set and a service", pod(controlledBy("apps/v1", "ReplicaSet", "o")),
			[]apiruntime.Object{replicaSet("o", requiring("app", "web")), service("s", selectors["front"])}, both},
		{"a stateful set", pod(controlledBy("apps/v1", "StatefulSet", "o")), []apiruntime.Object{statefulSet("o", requiring("app", "web"))}, webPods},
		{"a replication controller", pod(controlledBy("v1", "ReplicationController", "o")),
			[]apiruntime.Object{replicationController("o", selectors["web"])}, webPods},
		{"a replication controller and a service", pod(controlledBy("v1", "ReplicationController", "o")),
			[]apiruntime.Object{replicationController("o", selectors["web"]), service("s", selectors["front"])}, both},
		{"an owner that is not the controller", pod(controlledBy("apps/v1", "ReplicaSet", "o"), notController),
			[]apiruntime.Object{replicaSet("o", requiring("app", "web"))}, skipped},
		{"a replica set of another version", pod(controlledBy("apps/v1beta1", "ReplicaSet", "o")),
			[]apiruntime.Object{replicaSet("o", requiring("app", "web"))}, skipped},
		{"an invalid version", pod(controlledBy("a/b/c", "ReplicaSet", "o")),
			[]apiruntime.Object{replicaSet("o", requiring("app", "web")), service("s", selectors["web"])}, webPods},
		{"another kind of controller", pod(controlledBy("batch/v1", "Job", "o")),
			[]apiruntime.Object{replicaSet("o", requiring("app", "web")), service("s", selectors["web"])}, webPods},
		{"a replica set that is gone", pod(controlledBy("apps/v1", "ReplicaSet", "gone")), []apiruntime.Object{service("s", selectors["web"])}, webPods},
		{"a stateful set that is gone", pod(controlledBy("apps/v1", "StatefulSet", "gone")), nil, skipped},
		{"a replication controller that is gone", pod(controlledBy("v1", "ReplicationController", "gone")), nil, skipped},
		{"a selector that does not parse", pod(controlledBy("apps/v1", "ReplicaSet", "o")),
			[]apiruntime.Object{replicaSet("o", invalid), service("s", selectors["web"])}, webPods},
		{"a selector that matches nothing adds nothing", pod(controlledBy("apps/v1", "StatefulSet", "o")),
			[]apiruntime.Object{statefulSet("o", nil), service("s", selectors["web"])}, webPods},
	}
	// Each of two nodes has a pod that one of the selectors does not select.
	onlyWeb, onlyFront := node("n1", "z1"), node("n2", "z2")
	onlyWeb.AddPod(labelled("a", "app", "web"))
	onlyFront.AddPod(labelled("b", "tier", "front"))
	nodes := []*framework.NodeInfo{onlyWeb, onlyFront, node("n3", "z3")}
	meaning := map[string]string{
		"n1=skew n2=ok n3=ok": webPods,
		"n1=ok n2=ok n3=ok":   both,
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, list(constraintOn(1, zone, hard, selectingNothing)), nil, tt.objects...)
			state, got := framework.NewCycleState(), skipped
			_, status := pl.PreFilter(t.Context(), state, tt.pod, asLister(nodes))
			if !status.IsSkip() {
				fixture.CheckStatus(t, status, nil)
				got = meaning[verdicts(t, pl, state, tt.pod, nodes)]
			}
			if got != tt.want {
				t.Errorf("counted %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDefaultConstraints(t *testing.T) {
	ofWeb := service("s", labelMap("app", "web"))
	tests := []struct {
		name string
		args apiruntime.Object
		pod  *v1.Pod
		want string // of Filter; empty if it is skipped
	}{
		{"constraints of the system never filter", nil, web(), ""},
		{"soft constraints of the profile don't filter", list(constraintOn(1, zone, soft, selectingNothing)), web(), ""},
		{"hard constraint of the profile", list(constraintOn(1, zone, hard, selectingNothing)), web(), firstZoneFull},
		{"own constraints replace those of the profile", list(constraintOn(1, zone, hard, selectingNothing)), web(constraintOn(9, host, hard)), allOK},
		{"own soft constraints replace them too", list(constraintOn(1, zone, hard, selectingNothing)), web(constraintOn(9, host, soft)), ""},
		{
			"keys of labels don't narrow what services select",
			list(constraintOn(1, zone, hard, selectingNothing, matchingKeys("version"))),
			with(web(), withLabels(labelMap("app", "web", "version", "2"))), firstZoneFull,
		},
		{"minDomains of the profile", list(constraintOn(2, zone, hard, selectingNothing, minDomains(3))), web(), firstZoneFull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state, nodes := newPlugin(t, tt.args, nil, ofWeb), framework.NewCycleState(), fourNodes("web | web ||")
			_, status := pl.PreFilter(t.Context(), state, tt.pod, asLister(nodes))
			if tt.want == "" {
				fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
				return
			}
			fixture.CheckStatus(t, status, nil)
			if got := verdicts(t, pl, state, tt.pod, nodes); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
