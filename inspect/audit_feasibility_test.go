// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/randomcluster"
	"github.com/rouse-scheduler/rouse/simulate"
)

// crossChecker watches an auditor: what it takes for true of a class must be what all plugins say when they are asked about
// every node.
type crossChecker struct {
	*auditObserver
	t       *testing.T
	checked int
}

func (d *crossChecker) Changed(change simulate.Change) {
	d.auditObserver.Changed(change)
	d.doubt()
}

func (d *crossChecker) Worked() {
	d.auditObserver.Worked()
	d.doubt()
}

func (d *crossChecker) doubt() {
	for _, known := range d.evaluator.classes {
		believed, err := d.evaluator.evaluate(known)
		if err != nil {
			d.t.Fatal(err)
		}
		d.checked++
		fresh := newPodClass(known.profile, known.pod)
		d.evaluator.forget(fresh)
		q := d.evaluator.newEvaluation(fresh)
		q.filterNodes()
		room := q.dryRunPreemption()
		d.evaluator.setLatest(fresh, room)
		all := fresh.latest
		if all.feasibleNodes == 0 && (room.node == "") != (believed.preemption.node == "") {
			d.t.Errorf("%v: preemption makes room for pod %s on node %q, but the auditor believes %q",
				d.cluster.Now(), known.pod.Name, room.node, believed.preemption.node)
		}
		if all.feasibleNodes != believed.feasibleNodes {
			d.t.Errorf("%v: pod %s fits %d nodes, but the auditor believes %d", d.cluster.Now(), known.pod.Name, all.feasibleNodes, believed.feasibleNodes)
		}
		for i, plugin := range all.rejectedBy {
			if (plugin == noPlugin) != (believed.rejectedBy[i] == noPlugin) {
				d.t.Errorf("%v: pod %s on node %s is rejected by %q, but the auditor believes %q",
					d.cluster.Now(), known.pod.Name, all.names[i], all.rejectorOn(i), believed.rejectorOn(i))
			}
		}
	}
}

// scenariosSetting is the environment variable for how many random clusters are audited; make audit has it.
const scenariosSetting = "SCENARIOS"

func scenarios(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(scenariosSetting)
	if text == "" {
		return 8
	}
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil || number == 0 {
		t.Fatalf("%s is %q, which is no number of scenarios", scenariosSetting, text)
	}
	return number
}

// crossChecked is the one in how many scenarios in which every evaluation of the auditor is compared with calling all plugins.
const crossChecked = 10

// TestRandomClustersMissNoWakeup audits the default profile while everything that its plugins look at changes: no plugin
// misses a wake-up, and what the auditor evaluates is what the plugins say.
func TestRandomClustersMissNoWakeup(t *testing.T) {
	total, checked := AuditSummary{}, 0
	for seed := range scenarios(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			found := auditRandomCluster(t, seed, &checked)
			for i := range found.Missed {
				t.Errorf("%+v", found.Missed[i])
			}
			if len(found.Warnings) > 0 {
				t.Errorf("warnings: %q", found.Warnings)
			}
			addUp(&total, found)
		})
	}
	if checked == 0 || total.RightWakeups == 0 || total.WastedWakeups == 0 || total.RightSkips == 0 {
		t.Errorf("the clusters are too quiet to show anything: %d evaluations compared, %+v", checked, total)
	}
}

func auditRandomCluster(t *testing.T, seed uint64, checked *int) *Audit {
	t.Helper()
	var options simulate.Options
	crossChecker := &crossChecker{auditObserver: &auditObserver{Auditor: NewAuditor(t.Context())}, t: t}
	crossChecker.Observe(&options)
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	crossChecker.Watch(cluster)
	if seed%crossChecked == 0 {
		cluster.Watch(crossChecker)
	}
	randomcluster.New(t, cluster, seed).Run()
	*checked += crossChecker.checked
	return crossChecker.Audit()
}

// addUp adds what an audit found to a total.
func addUp(total *AuditSummary, found *Audit) {
	total.Pods += found.Summary.Pods
	total.Nodes += found.Summary.Nodes
	total.RightWakeups += found.Summary.RightWakeups
	total.WastedWakeups += found.Summary.WastedWakeups
	total.RightSkips += found.Summary.RightSkips
	total.MissedWakeups += found.Summary.MissedWakeups
	total.VirtualSeconds += found.Summary.VirtualSeconds
}
