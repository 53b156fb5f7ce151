// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"k8s.io/client-go/kubernetes/fake"
	basemetrics "k8s.io/component-base/metrics"

	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// The registry is one of one's own here. A program that has only one scheduler passes legacyregistry.Register instead, and
// serves legacyregistry.HandlerWithReset.
func Example() {
	registry := basemetrics.NewKubeRegistry()
	m, err := metrics.New(registry.Register, metrics.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := fake.NewClientset()
	options := scheduler.Options{Client: client, Informers: scheduler.NewInformerFactory(client)}
	m.Attach(&options)
	// Make a scheduler of the options, and start m.Run.

	answer := httptest.NewRecorder()
	basemetrics.HandlerFor(registry, basemetrics.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "scheduler_pending_pods") {
			fmt.Print(line)
		}
	}
	// Output:
	// scheduler_pending_pods{queue="active"} 0
	// scheduler_pending_pods{queue="backoff"} 0
	// scheduler_pending_pods{queue="gated"} 0
	// scheduler_pending_pods{queue="incomplete"} 0
	// scheduler_pending_pods{queue="pending"} 0
	// scheduler_pending_pods{queue="unschedulable"} 0
}
