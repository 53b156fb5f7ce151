// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// TestPodsThatDifferShareNoTable has a plugin that has just counted for one pod filter the nodes for another one, which
// differs in a detail.
func TestPodsThatDifferShareNoTable(t *testing.T) {
	zones := func(changes ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		return web(constraintOn(1, zone, hard, changes...))
	}
	tolerating := tolerates(v1.Toleration{Key: "k", Operator: v1.TolerationOpExists})
	tests := []struct {
		name              string
		a, b              *v1.Pod
		ofA, ofB          string
		secondZoneTainted bool
	}{
		{name: "namespace", a: zones(), b: with(zones(), inNamespace("other")), ofA: firstZoneFull, ofB: allOK},
		{name: "topology key", a: zones(), b: web(constraintOn(1, host, hard)), ofA: firstZoneFull, ofB: "n1=skew n2=ok n3=skew n4=ok"},
		{name: "selector", a: zones(), b: zones(selecting("app", "db")), ofA: firstZoneFull, ofB: allOK},
		{name: "skew", a: zones(), b: web(constraintOn(2, zone, hard)), ofA: firstZoneFull, ofB: allOK},
		{name: "number of domains", a: zones(), b: zones(minDomains(3)), ofA: firstZoneFull, ofB: "n1=skew n2=skew n3=skew n4=skew"},
		{name: "nodes that the pod may use", a: zones(), b: with(zones(), nodeSelector(zone, "z1")), ofA: firstZoneFull, ofB: allOK},
		{name: "other nodes that the pod may use", a: with(zones(minDomains(2)), nodeSelector(zone, "z1")), b: with(zones(minDomains(2)), nodeSelector(zone, "z2")), ofA: firstZoneFull, ofB: "n1=ok n2=ok n3=skew n4=skew"},
		{name: "policy for nodes", a: with(zones(), nodeSelector(zone, "z1")), b: with(zones(affinityPolicy(ignore)), nodeSelector(zone, "z1")), ofA: allOK, ofB: firstZoneFull},
		{name: "tolerations", a: zones(taintsPolicy(honor)), b: with(zones(taintsPolicy(honor)), tolerating), ofA: allOK, ofB: firstZoneFull, secondZoneTainted: true},
		{name: "policy for taints", a: zones(), b: zones(taintsPolicy(honor)), ofA: firstZoneFull, ofB: allOK, secondZoneTainted: true},
		{
			name: "values of labels", ofA: firstZoneFull, ofB: allOK,
			a: with(zones(selecting(), matchingKeys("app")), withLabels(labelMap("app", "web"))),
			b: with(zones(selecting(), matchingKeys("app")), withLabels(labelMap("app", "db"))),
		},
		{
			name: "controller", ofA: firstZoneFull, ofB: allOK,
			a: with(web(), controlledBy("apps/v1", "ReplicaSet", "web")), b: with(web(), controlledBy("apps/v1", "ReplicaSet", "db")),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := fourNodes("web web || web |")
			if tt.secondZoneTainted {
				for i := 2; i < 4; i++ {
					nodes[i] = changed(nodes[i], tainted(v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule}))
				}
			}
			var snapshot fixture.IndexedNodes
			snapshot.Fill(nodes)
			objects := []apiruntime.Object{replicaSet("web", requiring("app", "web")), replicaSet("db", requiring("app", "db"))}
			built, err := New(t.Context(), list(constraintOn(1, zone, hard, selectingNothing)),
				&fixture.Handle{Snapshot: &snapshot, Informers: fixture.Informers(t, objects...)})
			if err != nil {
				t.Fatal(err)
			}
			pl := built.(*plugin)
			list, _ := snapshot.List()
			for _, one := range []struct {
				pod  *v1.Pod
				want string
			}{{tt.a, tt.ofA}, {tt.b, tt.ofB}, {tt.a, tt.ofA}} {
				state := framework.NewCycleState()
				_, status := pl.PreFilter(t.Context(), state, one.pod, list)
				fixture.CheckStatus(t, status, nil)
				if got := verdicts(t, pl, state, one.pod, nodes); got != one.want {
					t.Errorf("got %s, want %s", got, one.want)
				}
			}
		})
	}
}
