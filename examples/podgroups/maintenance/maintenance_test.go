// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"

	"example.com/podgroups/maintenance"
)

func of(zone string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.example.com/v1alpha1", "kind": "Maintenance",
		"metadata": map[string]any{"name": "disks"}, "spec": map[string]any{"zone": zone},
	}}
}

func options(maintenances ...apiruntime.Object) plugintest.Options {
	return plugintest.Options{
		Nodes: []*v1.Node{
			objects.Node("n1").Label(v1.LabelTopologyZone, "a").Build(), objects.Node("n2").Label(v1.LabelTopologyZone, "b").Build(),
		},
		Pods:    []*v1.Pod{objects.Pod("web").NodeSelector(v1.LabelTopologyZone, "a").Build()},
		Objects: maintenances,
	}
}

func TestFilter(t *testing.T) {
	f := plugintest.NewFramework(t, maintenance.Name, maintenance.New, options(of("a")))
	want := map[string]*fwk.Status{"n1": fwk.NewStatus(fwk.UnschedulableAndUnresolvable, maintenance.Reason), "n2": nil}
	if diff := cmp.Diff(want, f.FilterAll(objects.Pod("web").Build())); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// TestEndOfMaintenance has a pod that waits for the only zone that it may be in. The informer of the plugin knows of a change before
// the pod is woken by it.
func TestEndOfMaintenance(t *testing.T) {
	for name, end := range map[string]func(*plugintest.Cluster){
		"moved":   func(c *plugintest.Cluster) { c.Update(of("b")) },
		"deleted": func(c *plugintest.Cluster) { c.Delete(of("a")) },
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plugintest.NewCluster(t, maintenance.Name, maintenance.New, options(of("a")))
			cluster.Settle()
			cluster.ExpectRejected("web", maintenance.Name, "NodeAffinity")
			end(cluster)
			cluster.Settle()
			cluster.ExpectBound("web", "n1")
			if got := cluster.Pod("web"); got.Attempts != 2 {
				t.Errorf("%d attempts, want 2", got.Attempts)
			}
		})
	}
}

func TestWakeUps(t *testing.T) {
	world := options(of("a"))
	world.Nodes = world.Nodes[:1]
	plugintest.CheckRequeue(t, maintenance.Name, maintenance.New, world,
		plugintest.Deleted(of("a")),
		plugintest.Updated(of("a"), of("b")),
		plugintest.Added(objects.Node("n2").Label(v1.LabelTopologyZone, "b").Build()),
		plugintest.Updated(world.Nodes[0], objects.Node("n1").Build()),
	)
}
