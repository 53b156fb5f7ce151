// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// keepsAway is a Filter plugin without a key that rejects the nodes whose names begin with a text.
type keepsAway struct {
	prefix string
	asked  atomic.Int64 // nodes
}

var _ framework.BatchFilterPlugin = &keepsAway{}

func (*keepsAway) Name() string { return "KeepsAway" }

func (k *keepsAway) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	k.asked.Add(1)
	if strings.HasPrefix(node.Node().Name, k.prefix) {
		return fwk.NewStatus(fwk.Unschedulable, "kept away")
	}
	return nil
}

func (k *keepsAway) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	for i, index := range indexes {
		statuses[i] = k.Filter(ctx, state, pod, nodes.NodeAt(index))
	}
	return nil
}

// A pod that all the best nodes reject gets one of the best among the others, and the plugin that rejects them is not asked about
// all nodes for that.
func TestBestNodesThatRejectThePod(t *testing.T) {
	plugin := &keepsAway{prefix: "large"}
	f := newFixture(t, plugin)
	const large, medium, small = 300, 3, 3000
	for i := range large {
		f.nodeAdded(objects.Node(fmt.Sprintf("large-%d", i)).Capacity("cpu", "100").Build())
	}
	for i := range medium {
		f.nodeAdded(objects.Node(fmt.Sprintf("medium-%d", i)).Capacity("cpu", "50").Build())
	}
	for i := range small {
		f.nodeAdded(objects.Node(fmt.Sprintf("small-%d", i)).Capacity("cpu", "8").Build())
	}
	for i := range 4 {
		name := fmt.Sprintf("p%d", i)
		plugin.asked.Store(0)
		f.add(objects.Pod(name).Requests("cpu", "5").Build())
		f.attempt()
		if i == 0 {
			continue // no scores of such pods are known yet
		}
		if node := f.seen.bound[name]; !strings.HasPrefix(node, "medium") {
			t.Errorf("pod %s is bound to %q, want one of the medium nodes", name, node)
		}
		if asked := plugin.asked.Load(); asked > 2*(large+medium) {
			t.Errorf("pod %s: the plugin was asked about %d of %d nodes", name, asked, large+medium+small)
		}
	}
}
