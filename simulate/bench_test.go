// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// manyPods is nodes, and five pods of 40 shapes for each of them.
func manyPods(nodes int) string {
	var text strings.Builder
	for i := range nodes {
		fmt.Fprintf(&text, `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n%d"}, "status": {"allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110", "example.com/gpu": "8"}}}`+"\n", i)
	}
	for i := range 5 * nodes {
		fmt.Fprintf(&text, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p%d"}, "spec": {"containers": [{"name": "c", "image": "i",
			"resources": {"requests": {"cpu": "%dm", "memory": "1Gi", "example.com/gpu": "1"}}}]}}`+"\n", i, 100+i%40)
	}
	return text.String()
}

// BenchmarkRun has two sizes, so that the cost of a pod can be seen to grow.
func BenchmarkRun(b *testing.B) {
	for _, nodes := range []int{200, 2000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			input, err := simulate.Parse("crowd.yaml", []byte(manyPods(nodes)))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				report, err := simulate.Run(b.Context(), input, simulate.Options{})
				if err != nil || report.Summary.Bound != 5*nodes {
					b.Fatalf("got %v and error %v, want every pod bound", report, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*5*nodes), "us/pod")
		})
	}
}

// BenchmarkParse measures how long it takes to read a cluster.
func BenchmarkParse(b *testing.B) {
	text := []byte(manyPods(500))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := simulate.Parse("crowd.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}
