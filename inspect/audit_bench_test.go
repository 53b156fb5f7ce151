// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"fmt"
	"testing"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
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
			for i := range nodes {
				must(cluster.Create(objects.Node(fmt.Sprintf("node-%d", i)).Capacity("cpu", "64", "memory", "64Gi", "pods", "10000").Build()))
			}
			for i := range 40 {
				must(cluster.Create(objects.Pod(fmt.Sprintf("waiting-%d", i)).Requests("cpu", fmt.Sprintf("%dm", 100_000+i%20)).Build()))
			}
			must(cluster.Settle())
			for i := 0; b.Loop(); i++ {
				must(cluster.Create(objects.Pod(fmt.Sprintf("pod-%d", i)).Requests("cpu", "1m").Build()))
				must(cluster.Advance(0))
			}
			if audit := auditor.Audit(); audit.Summary.MissedWakeups > 0 || audit.Incomplete {
				b.Errorf("the audit found %+v", audit)
			}
		})
	}
}
