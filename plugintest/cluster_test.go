// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

func TestCluster(t *testing.T) {
	cluster := plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), fullCluster())
	cluster.Create(objects.Pod("free").Build())
	cluster.Settle()
	cluster.ExpectBound("free", "n1")
	cluster.ExpectRejected("web", limitName)

	cluster.Delete(running())
	if got := cluster.Pod("default/web"); got.Pool != simulate.PoolBackoff || got.WokenBy != "AssignedPodDelete" {
		t.Errorf("got %+v, want the pod woken by AssignedPodDelete", got)
	}
	cluster.Advance(time.Second)
	cluster.ExpectBound("default/web", "n1")

	cluster.Create(limited("second").Namespace("shop").Build(), limited("third").Build())
	cluster.Settle()
	cluster.ExpectRejected("shop/second", limitName)
	cluster.Patch(fullNode(), `{"metadata": {"annotations": {"limit": "2"}}}`)
	cluster.Settle()
	cluster.ExpectBound("shop/second", "n1")
	cluster.ExpectRejected("third", limitName)
	cluster.Update(objects.Pod("third").Build())
	cluster.Settle()
	cluster.ExpectBound("third", "n1")
}

func TestClusterHasDefaultProfile(t *testing.T) {
	cluster := plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), plugintest.Options{
		Nodes: []*v1.Node{objects.Node("n1").Capacity("cpu", "1").Build(), objects.Node("n2").Build()},
		Pods:  []*v1.Pod{limited("running").Node("n2").Build(), limited("big").Requests("cpu", "2").NodeSelector("disk", "ssd").Build()},
		Objects: []apiruntime.Object{
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}},
		},
	})
	cluster.Settle()
	cluster.ExpectRejected("big", "NodeAffinity")
	cluster.Patch(objects.Node("n1").Build(), `{"metadata": {"labels": {"disk": "ssd"}}}`)
	cluster.Settle()
	cluster.ExpectRejected("big", "NodeResourcesFit", "NodeAffinity")
	if _, err := cluster.Client().StorageV1().StorageClasses().Get(t.Context(), "fast", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestClusterReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	scenario := `
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: limit}
spec:
  steps:
  - expect: {pods: [{name: web, rejectedBy: [Limit]}]}
  - delete: {apiVersion: v1, kind: Pod, metadata: {name: running}}
  - expect: {pods: [{name: web, node: NODE, wokenBy: AssignedPodDelete}]}
`
	write := func(node string) {
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(scenario, "NODE", node)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("n1")
	plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), fullCluster()).Replay(path)

	write("n2")
	recorded := record(t, func(t plugintest.TB) {
		cluster := plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), fullCluster())
		cluster.Replay(path)
		cluster.Create(running())
		cluster.Replay(path) // says it again, and nothing of the first time
	})
	if len(recorded.failures) != 3 || !strings.Contains(recorded.failures[0], "wanted node n2; found node n1") {
		t.Errorf("got %d failures, want one of the first replay and two of the second:\n%s",
			len(recorded.failures), strings.Join(recorded.failures, "\n"))
	}
	recorded = record(t, func(t plugintest.TB) {
		plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), fullCluster()).Replay(path + ".none")
	})
	if !recorded.ended {
		t.Error("the test goes on without the scenario")
	}
}

// placer is a plugin that binds pods with a label, and leaves others to the next plugin.
type placer struct{ bound *[]string }

func (placer) Name() string { return "Placer" }

func (p placer) Bind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if pod.Labels["place"] == "" {
		return fwk.NewStatus(fwk.Skip)
	}
	*p.bound = append(*p.bound, pod.Name+" to "+node)
	return nil
}

func TestClusterAsksBinderFirst(t *testing.T) {
	var bound []string
	factory := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return placer{&bound}, nil }
	cluster := plugintest.NewCluster(t, "Placer", factory, plugintest.Options{
		Nodes: []*v1.Node{fullNode()},
		Pods:  []*v1.Pod{objects.Pod("placed").Label("place", "x").Build(), objects.Pod("other").Build()},
	})
	cluster.Settle()
	cluster.ExpectBound("other", "n1")
	if diff := cmp.Diff([]string{"placed to n1"}, bound); diff != "" {
		t.Errorf("bound by the plugin (-want +got):\n%s", diff)
	}
}

func TestClusterWithPluginThatSorts(t *testing.T) {
	cluster := plugintest.NewCluster(t, "Reverse", newReverse, plugintest.Options{
		Nodes: []*v1.Node{objects.Node("n1").Capacity("pods", "1").Build()},
		Pods:  []*v1.Pod{objects.Pod("high").Priority(10).PreemptionPolicy(v1.PreemptNever).Build(), objects.Pod("low").Priority(1).Build()},
	})
	cluster.Settle()
	cluster.ExpectBound("low", "n1")
	cluster.ExpectRejected("high", "NodeResourcesFit")
}

func TestClusterFailures(t *testing.T) {
	const reason = "0/1 nodes are available: 1 node is at its limit. " +
		"preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	const history = "what happened to the pods:\n" +
		"0s        attempt   default/web\n" +
		"0s        rejected  default/web by Limit: " + reason
	tests := []struct {
		name string
		test func(c *plugintest.Cluster)
		want string
		ends bool
	}{
		{"wrong node", func(c *plugintest.Cluster) { c.ExpectBound("running", "n2") },
			"at 0s: pod running should be on node n2, but is bound on node n1", false},
		{"not bound", func(c *plugintest.Cluster) { c.ExpectBound("web", "n1") },
			"at 0s: pod web should be on node n1, but is unschedulable, rejected by Limit: " + reason, false},
		{"other rejector", func(c *plugintest.Cluster) { c.ExpectRejected("web", "NodeName", "Limit") },
			"at 0s: pod web should wait, rejected by Limit, NodeName, but is unschedulable, rejected by Limit: " +
				reason, false},
		{"not waiting", func(c *plugintest.Cluster) { c.ExpectRejected("running") },
			"at 0s: pod running should wait, rejected by no plugin, but is bound on node n1", false},
		{"no pod", func(c *plugintest.Cluster) { c.Pod("shop/none") }, "there is no pod shop/none", true},
		{"existing", func(c *plugintest.Cluster) { c.Create(running()) },
			`creating Pod default/running: pods "running" already exists`, true},
		{"deleting", func(c *plugintest.Cluster) { c.Delete(limited("none").Build()) }, `deleting Pod default/none: pods "none" not found`, true},
		{"updating", func(c *plugintest.Cluster) { c.Update(limited("none").Build()) }, `updating Pod default/none: pods "none" not found`, true},
		{"patching", func(c *plugintest.Cluster) { c.Patch(limited("none").Build(), "{}") }, `patching Pod default/none: pods "none" not found`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorded := record(t, func(t plugintest.TB) {
				cluster := plugintest.NewCluster(t, limitName, newLimit(limitEvents()...), fullCluster())
				cluster.Settle()
				test.test(cluster)
			})
			if diff := cmp.Diff([]string{test.want}, recorded.failures); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{history}, recorded.logs); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if recorded.ended != test.ends {
				t.Errorf("the test ended: %t, want %t", recorded.ended, test.ends)
			}
		})
	}
}

func TestClusterCannotBeBuilt(t *testing.T) {
	tests := []struct {
		name string
		test func(t plugintest.TB)
		want string
	}{
		{"name of an in-tree plugin", func(t plugintest.TB) {
			plugintest.NewCluster(t, nodename.Name, nodename.New, plugintest.Options{})
		}, `building a cluster with plugin "NodeName": a plugin named NodeName already exists`},
		{"no factory", func(t plugintest.TB) {
			plugintest.NewCluster(t, limitName, nil, plugintest.Options{})
		}, `building a cluster with plugin "Limit": plugin "Limit" has no factory`},
		{"objects twice", func(t plugintest.TB) {
			plugintest.NewCluster(t, limitName, newLimit(), plugintest.Options{Pods: []*v1.Pod{waiting(), waiting()}})
		}, `putting the objects of the options into the cluster: creating Pod default/web: pods "web" already exists`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorded := record(t, test.test)
			if diff := cmp.Diff([]string{test.want}, recorded.failures); diff != "" || !recorded.ended {
				t.Errorf("ended %t, failures (-want +got):\n%s", recorded.ended, diff)
			}
		})
	}
}
