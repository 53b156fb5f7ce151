// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// spreadApp is a Score plugin that prefers the nodes with the fewest pods of the same app.
type spreadApp struct{}

var _ framework.ScoreKeyPlugin = spreadApp{}

func (spreadApp) Name() string { return "SpreadApp" }

func (spreadApp) Score(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	var count int64
	for _, info := range node.GetPods() {
		if other := info.GetPod(); other.Namespace == pod.Namespace && other.Labels["app"] == pod.Labels["app"] {
			count++
		}
	}
	return count, nil
}

func (p spreadApp) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore implements fwk.ScoreExtensions, for kube-scheduler and wherever scores are not cached.
func (spreadApp) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, true, scores)
}

// AppendScoreKey implements framework.ScoreKeyPlugin: Score reads the namespace and the app of the pod.
func (spreadApp) AppendScoreKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	key = framework.AppendKeyString(key, pod.Namespace)
	return framework.AppendKeyString(key, pod.Labels["app"]), true
}

// Scale implements framework.ScoreKeyPlugin: it says what NormalizeScore does.
func (spreadApp) Scale() framework.Scale { return framework.ScaleToHighestReversed }

// The framework caches the raw scores of this plugin, and scales them by itself.
func ExampleScoreKeyPlugin() {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: map[string]string{"app": "web"}}}
	plugin, state := spreadApp{}, framework.NewCycleState()
	key, ok := plugin.AppendScoreKey(nil, state, pod)
	fmt.Printf("%q %t\n", key, ok)

	var scores fwk.NodeScoreList
	for name, node := range []*framework.NodeInfo{framework.NewNodeInfo(pod, pod), framework.NewNodeInfo(pod), framework.NewNodeInfo()} {
		score, _ := plugin.Score(context.Background(), state, pod, node)
		scores = append(scores, fwk.NodeScore{Name: fmt.Sprint("n", name), Score: score})
	}
	fmt.Println("raw:", scores)
	plugin.NormalizeScore(context.Background(), state, pod, scores)
	fmt.Println("scaled:", scores)
	// Output:
	// "\x04shop\x03web" true
	// raw: [{n0 2} {n1 1} {n2 0}]
	// scaled: [{n0 0} {n1 50} {n2 100}]
}
