// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"math/rand/v2"
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
	for _, class := range d.truth.classes {
		believed, err := d.truth.judge(class)
		if err != nil {
			d.t.Fatal(err)
		}
		d.checked++
		all := d.truth.ask(class).all()
		if all.fits != believed.fits {
			d.t.Errorf("%v: pod %s fits %d nodes, but the auditor believes %d", d.cluster.Now(), class.pod.Name, all.fits, believed.fits)
		}
		for i, plugin := range all.rejectedBy {
			if known := believed.rejectedBy[i]; (plugin == "") != (known == "") {
				d.t.Errorf("%v: pod %s on node %s is rejected by %q, but the auditor believes %q",
					d.cluster.Now(), class.pod.Name, all.names[i], plugin, known)
			}
		}
	}
}

// knownGaps are what the hints of kube-scheduler's plugins miss, which the in-tree plugins follow.
func knownGaps() map[string]string {
	const first = "pods may be the first of their kind when there are no others any more"
	return map[string]string{
		"InterPodAffinity AssignedPodDelete":         first,
		"InterPodAffinity AssignedPodUpdatePodLabel": first,
		"InterPodAffinity NodeUpdateNodeLabel":       first + "; pods of others keep pods out of another domain than before",
		"InterPodAffinity NodeAdd":                   "pods that only others keep away fit a new node",
		"InterPodAffinity NodeDelete":                "the pods of a deleted node count no more, some time before they are deleted themselves",
		"VolumeRestrictions NodeDelete":              "likewise, as users of a claim",
		"PodTopologySpread NodeUpdateNodeLabel":      "labels decide which nodes count, by the node affinity of the pod",
	}
}

// TestTruthOfRandomClusters audits the in-tree plugins while everything that they look at changes: the truth is what the
// plugins say, and the plugins miss nothing else than is known.
func TestTruthOfRandomClusters(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	total, known := AuditSummary{}, knownGaps()
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var options simulate.Options
			doubter := &doubter{Auditor: NewAuditor(t.Context()), t: t}
			doubter.Observe(&options)
			cluster, err := simulate.NewCluster(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			doubter.Watch(cluster)
			cluster.Watch(doubter)
			random := &randomCluster{Cluster: cluster, t: t, random: rand.New(rand.NewPCG(seed, 1))}
			random.run(200)
			found := doubter.Audit()
			for i := range found.Missed {
				for _, blame := range found.Missed[i].Blame {
					if known[blame.Plugin+" "+blame.Event] == "" {
						t.Errorf("%v %+v", &found.Missed[i], blame)
					}
				}
			}
			if len(found.Warnings) > 0 {
				t.Errorf("warnings: %q", found.Warnings)
			}
			if doubter.checked == 0 {
				t.Error("nothing was checked")
			}
			total.RightWakeups += found.Summary.RightWakeups
			total.WastedWakeups += found.Summary.WastedWakeups
			total.RightSkips += found.Summary.RightSkips
		})
	}
	if total.RightWakeups == 0 || total.WastedWakeups == 0 || total.RightSkips == 0 {
		t.Errorf("the clusters are too quiet to show anything: %+v", total)
	}
	t.Logf("%+v", total)
}
