// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// BenchmarkAuditedPod schedules one pod under an auditor while pods of several classes wait. What that costs does not depend on
// the number of nodes: the auditor evaluates only the node that changed.
func BenchmarkAuditedPod(b *testing.B) {
	for _, nodes := range []int{500, 5_000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var options simulate.Options
			auditor := inspect.NewAuditor(b.Context())
			auditor.Observe(&options)
			cluster, err := simulate.NewCluster(b.Context(), options)
			if err != nil {
				b.Fatal(err)
			}
			defer cluster.Close()
			auditor.Watch(cluster)
			must := func(err error) {
				b.Helper()
				if err != nil {
					b.Fatal(err)
				}
			}
			capacity := v1.ResourceList{v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("10000")}
			for i := range nodes {
				must(cluster.Create(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}, Status: v1.NodeStatus{Allocatable: capacity}}))
			}
			podOf := func(name string, cpu int64) *v1.Pod {
				requests := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)}
				return &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
					Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}}},
				}
			}
			for i := range 40 {
				must(cluster.Create(podOf(fmt.Sprintf("waiting-%d", i), int64(100_000+i%20))))
			}
			must(cluster.Settle())
			for i := 0; b.Loop(); i++ {
				must(cluster.Create(podOf(fmt.Sprintf("pod-%d", i), 1)))
				must(cluster.Advance(0))
			}
			if audit := auditor.Audit(); audit.Summary.MissedWakeups > 0 || audit.Incomplete {
				b.Errorf("the audit found %+v", audit)
			}
		})
	}
}
