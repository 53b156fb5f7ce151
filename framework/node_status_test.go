// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// nodeList lists nodes by name. The interface is there for the methods that no test calls.
type nodeList struct {
	fwk.NodeInfoLister
	names []string
	err   error
}

func (l nodeList) List() ([]fwk.NodeInfo, error) {
	var nodes []fwk.NodeInfo
	for _, name := range l.names {
		nodes = append(nodes, nodeInfo(name))
	}
	return nodes, l.err
}

func (l nodeList) Get(name string) (fwk.NodeInfo, error) {
	for _, known := range l.names {
		if known == name {
			return nodeInfo(name), nil
		}
	}
	return nil, fmt.Errorf("node %s is gone", name)
}

func nodeInfo(name string) fwk.NodeInfo {
	n := framework.NewNodeInfo()
	n.SetNode(objects.Node(name).Build())
	return n
}

func TestNodeToStatus(t *testing.T) {
	cpu := fwk.NewStatus(fwk.Unschedulable, "cpu")
	taint := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "taint")
	m := framework.NewDefaultNodeToStatus()
	if got := m.Get("a").Code(); got != fwk.UnschedulableAndUnresolvable || m.Len() != 0 {
		t.Errorf("default: code of an absent node %v, length %d, want UnschedulableAndUnresolvable and 0", got, m.Len())
	}
	m.Set("a", cpu)
	m.Set("b", cpu)
	m.Set("b", taint)
	m.Set("c", nil)
	m.SetAbsentNodesStatus(fwk.NewStatus(fwk.Pending, "absent"))
	got := map[string]string{}
	m.ForEachExplicitNode(func(name string, status *fwk.Status) { got[name] = status.Message() })
	if diff := cmp.Diff(map[string]string{"a": "cpu", "b": "taint", "c": ""}, got); diff != "" || m.Len() != 3 {
		t.Errorf("explicit nodes, length %d (-want +got):\n%s", m.Len(), diff)
	}
	if !m.Get("a").Equal(cpu) || !m.Get("b").Equal(taint) || m.Get("c") != nil || m.Get("d").Message() != "absent" || !m.AbsentNodesStatus().Equal(m.Get("d")) {
		t.Errorf("Get: a %v, b %v, c %v, d %v", m.Get("a"), m.Get("b"), m.Get("c"), m.Get("d"))
	}
	var zero framework.NodeToStatus
	zero.Set("a", cpu)
	if !zero.Get("a").Equal(cpu) || zero.Get("b") != nil {
		t.Errorf("zero value: a %v, b %v, want what was set and success", zero.Get("a"), zero.Get("b"))
	}
}

func TestNodesForStatusCode(t *testing.T) {
	statuses := map[string]*fwk.Status{
		"a": fwk.NewStatus(fwk.Unschedulable), "b": fwk.NewStatus(fwk.UnschedulableAndUnresolvable),
		"c": fwk.NewStatus(fwk.Unschedulable), "e": nil, "gone": fwk.NewStatus(fwk.Unschedulable),
	}
	lister := nodeList{names: []string{"d", "c", "b", "a", "e"}}
	tests := []struct {
		name   string
		absent *fwk.Status
		code   fwk.Code
		want   []string
	}{
		{"explicit ones, as listed", fwk.NewStatus(fwk.UnschedulableAndUnresolvable), fwk.Unschedulable, []string{"c", "a"}},
		{"absent ones too, as listed", fwk.NewStatus(fwk.Unschedulable), fwk.Unschedulable, []string{"d", "c", "a"}},
		{"absent ones, others explicit", fwk.NewStatus(fwk.UnschedulableAndUnresolvable), fwk.UnschedulableAndUnresolvable, []string{"d", "b"}},
		{"none", fwk.NewStatus(fwk.Unschedulable), fwk.Pending, nil},
		{"nil is success", nil, fwk.Success, []string{"d", "e"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 20 { // maps are walked in another order each time
				nodes, err := framework.NewNodeToStatus(statuses, test.absent).NodesForStatusCode(lister, test.code)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, node := range nodes {
					names = append(names, node.Node().Name)
				}
				if diff := cmp.Diff(test.want, names); diff != "" {
					t.Fatalf("nodes (-want +got):\n%s", diff)
				}
			}
		})
	}
	broken := nodeList{err: errors.New("out of order")}
	if _, err := framework.NewNodeToStatus(nil, nil).NodesForStatusCode(broken, fwk.Success); !errors.Is(err, broken.err) {
		t.Errorf("error of the lister = %v, want it to wrap %v", err, broken.err)
	}
}

func TestStatusesBelongToWhoeverAsksForThem(t *testing.T) {
	nodes := []fwk.NodeInfo{nodeInfo("a"), nodeInfo("b")}
	cpu := fwk.NewStatus(fwk.Unschedulable, "cpu").WithPlugin("Fit")
	for name, m := range map[string]*framework.NodeToStatus{
		"of a search": framework.NewNodeStatusList(nodes, nil, []int32{1, 1}, []*fwk.Status{cpu}),
		"by name":     framework.NewNodeToStatus(map[string]*fwk.Status{"a": cpu, "b": cpu}, nil),
		"of others":   framework.NewNodeToStatus(nil, cpu),
	} {
		t.Run(name, func(t *testing.T) {
			var plugins sync.WaitGroup
			for range 4 {
				plugins.Go(func() {
					status := m.Get("a")
					status.AppendReason("and more")
					status.SetPlugin("Other")
				})
			}
			plugins.Wait()
			for range 20 {
				if got := m.Get("b"); got.Message() != "cpu" || got.Plugin() != "Fit" {
					t.Fatalf("status of another node is %v of %s", got, got.Plugin())
				}
			}
		})
	}
}

// TestNodeToStatusIsReadTogether is for the race detector: PostFilter plugins look for nodes from many goroutines.
func TestNodeToStatusIsReadTogether(t *testing.T) {
	const count = 200
	nodes, which := make([]fwk.NodeInfo, count), make([]int32, count)
	for i := range nodes {
		nodes[i], which[i] = nodeInfo(fmt.Sprint("n", i)), int32(i%2)
	}
	m := framework.NewNodeStatusList(nodes, nil, which, []*fwk.Status{fwk.NewStatus(fwk.Unschedulable, "cpu")})
	var plugins sync.WaitGroup
	for range 8 {
		plugins.Go(func() {
			for i := range nodes {
				want := []fwk.Code{fwk.UnschedulableAndUnresolvable, fwk.Unschedulable}[i%2]
				if got := m.Get(fmt.Sprint("n", i)).Code(); got != want {
					t.Errorf("node n%d has code %v, want %v", i, got, want)
				}
			}
			explicit := 0
			m.ForEachExplicitNode(func(string, *fwk.Status) { explicit++ })
			if explicit != count/2 || m.Len() != count/2 {
				t.Errorf("%d nodes have a status of their own, Len is %d, want %d", explicit, m.Len(), count/2)
			}
		})
	}
	plugins.Wait()
	m.Set("n0", nil)
	if m.Get("n0") != nil || m.Get("n1").Code() != fwk.Unschedulable || m.Len() != count/2+1 {
		t.Errorf("after Set: n0 %v, n1 %v, %d statuses", m.Get("n0"), m.Get("n1"), m.Len())
	}
}
