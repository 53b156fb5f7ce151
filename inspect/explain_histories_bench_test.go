// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// BenchmarkRemember is what a scheduler pays for being able to explain: for a pod that fits none of 5,000 nodes, and for
// an event about which 10,000 pods were asked at once, of which one was asked for.
func BenchmarkRemember(b *testing.B) {
	var m podHistories
	now := time.Now()
	b.Run("failure", func(b *testing.B) {
		statuses := []*fwk.Status{
			fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu", "Insufficient memory").WithPlugin("NodeResourcesFit"),
			fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu").WithPlugin("NodeResourcesFit"),
			fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)").WithPlugin("TaintToleration"),
		}
		which := make([]int32, 5000)
		for i := range which {
			which[i] = int32(1 + i%len(statuses))
		}
		fit := &framework.FitError{NumAllNodes: len(which), Diagnosis: framework.Diagnosis{
			NodeToStatus:         framework.NewNodeStatusList(make([]fwk.NodeInfo, len(which)), nil, which, statuses),
			UnschedulablePlugins: sets.New("NodeResourcesFit", "TaintToleration"),
		}}
		failure := scheduler.Failure{Status: fwk.AsStatus(fit), Diagnosis: &fit.Diagnosis}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			m.addFailure(uid(i%maxFailures), newFailedAttempt(failure, now))
		}
	})
	b.Run("hint", func(b *testing.B) {
		pods := make([]*v1.Pod, 10000)
		for i := range pods {
			pods[i] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid(1e9 + i)}}
		}
		m.get(pods[0].UID, now)
		b.ReportAllocs()
		for b.Loop() {
			m.addEvent(now, slices.Values(pods), RecentEvent{Event: "NodeAdd", Answer: AnswerSkip})
		}
	})
}
