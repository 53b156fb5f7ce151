// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"bytes"
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// teamNodes is a Filter plugin that reserves the nodes with the label of a team for the pods of that team.
type teamNodes struct{}

var _ framework.FilterKeyPlugin = teamNodes{}

func (teamNodes) Name() string { return "TeamNodes" }

func (teamNodes) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	owner := node.Node().Labels["example.com/team"]
	if owner != "" && owner != pod.Labels["example.com/team"] {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) reserved for another team")
	}
	return nil
}

// AppendFilterKey implements framework.FilterKeyPlugin: the team is all that Filter reads of the pod.
func (teamNodes) AppendFilterKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	return framework.AppendKeyString(key, pod.Labels["example.com/team"]), true
}

// The framework caches the verdicts of this plugin: for pods of one team, Filter is called again only for nodes that changed.
func ExampleFilterKeyPlugin() {
	keyOf := func(podName, team string) []byte {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName, Labels: map[string]string{"example.com/team": team}}}
		key, _ := teamNodes{}.AppendFilterKey(nil, framework.NewCycleState(), pod)
		return key
	}
	fmt.Println("same team, same verdicts:", bytes.Equal(keyOf("web-1", "shop"), keyOf("web-2", "shop")))
	fmt.Println("other team, same verdicts:", bytes.Equal(keyOf("web-1", "shop"), keyOf("web-1", "search")))
	// Output:
	// same team, same verdicts: true
	// other team, same verdicts: false
}
