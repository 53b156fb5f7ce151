// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// doubter watches an auditor: what it takes for true of a class must be what all plugins say when they are asked about
// every node.
type doubter struct {
	*Auditor
	t       *testing.T
	checked int
}

func (d *doubter) Changed(change simulate.Change) {
	d.Auditor.Changed(change)
	d.doubt()
}

func (d *doubter) Worked() {
	d.Auditor.Worked()
	d.doubt()
}

func (d *doubter) doubt() {
	for _, known := range d.truth.classes {
		believed, err := d.truth.judge(known)
		if err != nil {
			d.t.Fatal(err)
		}
		d.checked++
		fresh := &class{profile: known.profile, hooks: known.hooks, pod: known.pod}
		q := d.truth.ask(fresh)
		fresh.verdicts = q.all(nil)
		all := judgementOf(d.truth.names, fresh.verdicts)
		if room := q.preempt(nil); all.fits == 0 && (room.node == "") != (believed.room.node == "") {
			d.t.Errorf("%v: preemption makes room for pod %s on node %q, but the auditor believes %q",
				d.cluster.Now(), known.pod.Name, room.node, believed.room.node)
		}
		if all.fits != believed.fits {
			d.t.Errorf("%v: pod %s fits %d nodes, but the auditor believes %d", d.cluster.Now(), known.pod.Name, all.fits, believed.fits)
		}
		for i, plugin := range all.rejectedBy {
			if believed := believed.rejectedBy[i]; (plugin == "") != (believed == "") {
				d.t.Errorf("%v: pod %s on node %s is rejected by %q, but the auditor believes %q",
					d.cluster.Now(), known.pod.Name, all.names[i], plugin, believed)
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

// doubted is of how many scenarios one has every judgement of the auditor compared with what all plugins say.
const doubted = 10

// TestRandomClustersMissNoWakeup audits the default profile while everything that its plugins look at changes: no plugin
// misses a wake-up, and what the auditor takes for true is what the plugins say.
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
		t.Errorf("the clusters are too quiet to show anything: %d judgements compared, %+v", checked, total)
	}
}

func auditRandomCluster(t *testing.T, seed uint64, checked *int) *Audit {
	t.Helper()
	var options simulate.Options
	doubter := &doubter{Auditor: NewAuditor(t.Context()), t: t}
	doubter.Observe(&options)
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	doubter.Watch(cluster)
	if seed%doubted == 0 {
		cluster.Watch(doubter)
	}
	newRandomCluster(t, cluster, seed).run()
	*checked += doubter.checked
	return doubter.Audit()
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
