// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// TestTablesFollowHistory compares a plugin that keeps tables from pod to pod with one that counts everything again.
func TestTablesFollowHistory(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	rejected, between, grouped := 0, 0, 0
	for range 12 {
		h := fixture.NewHistory(t, random)
		h.Node = func(i int) *v1.Node {
			node := randomNode(random, i).Node()
			if random.IntN(6) == 0 {
				node.Labels[zone] = ""
			}
			return node
		}
		h.Pod = func(name string) *v1.Pod {
			pod := randomPod(random, name)
			if random.IntN(10) == 0 {
				pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			}
			return pod
		}
		objects := fixture.Informers(t, &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
			Spec:       v1.ServiceSpec{Selector: labelMap("app", "web")},
		})
		newCounting := func(handle *fixture.Handle) *plugin {
			handle.Informers = objects
			pl, err := New(t.Context(), nil, handle)
			if err != nil {
				t.Fatal(err)
			}
			return pl.(*plugin)
		}
		keeping := newCounting(&fixture.Handle{Snapshot: &h.Nodes})
		for i := range 150 {
			h.Step()
			fresh := newCounting(&fixture.Handle{Nodes: fixture.Nodes{Infos: h.Nodes.Infos()}})
			some, mixed := fixture.CheckDecisions(t, keeping, fresh, h, randomPod(random, fmt.Sprintf("incoming%d", i)))
			rejected, between = rejected+some, between+mixed
		}
		grouped += h.Grouped
	}
	if rejected < 1000 || between < 500 || grouped < 500 {
		t.Errorf("%d rejections, %d scores between the highest and the lowest, %d nodes like others: too few to be a test", rejected, between, grouped)
	}
}
