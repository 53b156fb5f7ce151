// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	goruntime "runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// quits is a plugin that ends its goroutine when it is asked about nodes with a label.
func quits(name, label string) *scripted {
	return &scripted{name: name, reason: "no", accepts: func(_ fwk.Handle, _ *v1.Pod, node *v1.Node) bool {
		if node.Labels[label] != "" {
			goruntime.Goexit()
		}
		return false
	}, events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)}}
}

// A plugin that ends its goroutine only when the auditor asks it, since no event wakes the pod, is reported.
func TestAuditReportsPluginsThatEndItsGoroutine(t *testing.T) {
	found := audit(t, documents(node("n1", ""), node("n2", ""), pod("web", "1", ""), scenario(
		patchNode("10s", "n2", "labels: {quit: now}"), patchNode("20s", "n2", "labels: {quit: null}"))), withPlugins(t, quits("Rack", "quit")))
	if len(found.Failures) != 1 || found.Failures[0].Plugin != "Rack" || !strings.Contains(found.Failures[0].Message, "goroutine") {
		t.Errorf("failures %+v, want one of Rack that says so", found.Failures)
	}
	if found.Summary.Failed == 0 || len(found.Missed) > 0 {
		t.Errorf("summary %+v, missed %+v", found.Summary, found.Missed)
	}
}

// The auditor asks plugins each on its own, about nodes that others reject.
func TestAuditSurvivesPluginsThatEndItsGoroutineOnTheirOwn(t *testing.T) {
	zone := &scripted{name: "Zone", accepts: wantsLabel("zone"), reason: "no zone", events: []fwk.ClusterEventWithHint{on(fwk.Node, fwk.Add, nil)}}
	found := audit(t, documents(node("n1", ""), pod("web", "1", ""), scenario(
		patchNode("10s", "n1", "labels: {rack: r7}"))), withPlugins(t, rack(), zone, quits("Quit", "rack")))
	if len(found.Missed) > 0 || found.Summary.Pods != 1 {
		t.Errorf("missed %+v, summary %+v; want a pod that misses nothing, as Zone rejects it", found.Missed, found.Summary)
	}
}
