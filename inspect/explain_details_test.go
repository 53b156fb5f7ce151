// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/randomcluster"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

func TestShortage(t *testing.T) {
	const gibi = 1 << 30
	tests := []struct {
		resource              string
		wanted, free, offered int64
		want                  string
	}{
		{"cpu", 2000, 1500, 4000, "cpu: asks 2, free 1.5 of 4"},
		{"cpu", 100, 0, 333, "cpu: asks 0.1, free 0 of 0.33"},
		{"memory", 2 * gibi, gibi + gibi/2, 8 * gibi, "memory: asks 2Gi, free 1.5Gi of 8Gi"},
		{"memory", 2 * gibi, 2*gibi - 1, 8 * gibi, "memory: asks 2Gi, free 2147483647 of 8Gi"},
		{"memory", 512, 3, 1023, "memory: asks 512, free 3 of 1023"},
		{"cpu", 1004, 1003, 4000, "cpu: asks 1004m, free 1003m of 4"},
		{"ephemeral-storage", 3 * gibi, 0, 0, "ephemeral-storage: asks 3Gi, free 0 of 0"},
		{"hugepages-2Mi", 4 << 20, 2 << 20, 2 << 20, "hugepages-2Mi: asks 4Mi, free 2Mi of 2Mi"},
		{"example.com/card", 3, 1, 2, "example.com/card: asks 3, free 1 of 2"},
	}
	for _, test := range tests {
		if got := shortage(test.resource, test.wanted, test.free, test.offered); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestNodeAffinityDetails(t *testing.T) {
	requirement := func(key string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	expressions := func(requirements ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: requirements}
	}
	zone := requirement("zone", v1.NodeSelectorOpIn, "a", "b")
	tests := map[string]struct {
		terms []v1.NodeSelectorTerm
		added []v1.NodeSelectorTerm
		want  []string
	}{
		"matches": {terms: []v1.NodeSelectorTerm{expressions(requirement("zone", v1.NodeSelectorOpExists))}},
		"one term, two expressions": {
			terms: []v1.NodeSelectorTerm{expressions(zone, requirement("rack", v1.NodeSelectorOpExists), requirement("disk", v1.NodeSelectorOpExists))},
			want:  []string{"node affinity zone In [a b]: the node has c", "node affinity rack Exists: the node has no such label"},
		},
		"two terms": {
			terms: []v1.NodeSelectorTerm{expressions(zone, requirement("cores", v1.NodeSelectorOpGt, "8")), expressions(requirement("disk", v1.NodeSelectorOpDoesNotExist))},
			want:  []string{"node affinity zone In [a b]: the node has c and cores Gt [8]: the node has 4, or disk DoesNotExist: the node has it without a value"},
		},
		"one of two terms matches": {terms: []v1.NodeSelectorTerm{expressions(zone), expressions(requirement("disk", v1.NodeSelectorOpExists))}},
		"by name": {
			terms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{requirement("metadata.name", v1.NodeSelectorOpIn, "n2")}}},
			want:  []string{"node affinity metadata.name In [n2]: the node is n1"},
		},
		"empty term": {terms: []v1.NodeSelectorTerm{{}}, want: []string{"node affinity has an empty term, which matches no node"}},
		"profile":    {added: []v1.NodeSelectorTerm{expressions(zone)}, want: []string{"the profile's affinity zone In [a b]: the node has c"}},
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "c", "disk": "", "cores": "4"}}}
	info := framework.NewNodeInfo()
	info.SetNode(node)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			about := &subject{pod: &v1.Pod{}}
			if test.terms != nil {
				about.pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: test.terms},
				}}
			}
			if test.added != nil {
				about.addedAffinity = &v1.NodeSelector{NodeSelectorTerms: test.added}
			}
			if diff := cmp.Diff(test.want, nodeAffinityDetails(about, info, nil)); diff != "" {
				t.Errorf("details differ (-want +got):\n%s", diff)
			}
		})
	}
}

// neighbourhood is a node in each of two zones, with a pod on each: db in east, and web in west, which does not want
// another web near.
func neighbourhood(t *testing.T) (east, west fwk.NodeInfo) {
	t.Helper()
	place := func(zone, app string, antiAffinity *v1.PodAntiAffinity) fwk.NodeInfo {
		pod := objects.Pod(app+"-1").Label("app", app).Build()
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: antiAffinity}
		info := framework.NewNodeInfo(pod)
		info.SetNode(objects.Node("n-"+zone).Label("zone", zone).Build())
		return info
	}
	return place("east", "db", nil), place("west", "web", &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near("zone", "web")})
}

func near(key, app string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
}

func TestPodAffinityDetails(t *testing.T) {
	east, west := neighbourhood(t)
	pod := objects.Pod("web-2").Label("app", "web").Build()
	pod.Spec.Affinity = &v1.Affinity{
		PodAffinity:     &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: append(near("zone", "db"), near("rack", "db")...)},
		PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near("zone", "db")},
	}
	about := &subject{pod: pod, nodes: []fwk.NodeInfo{east, west}, namespaceLabels: func(string) labels.Set { return nil }}
	tests := []struct {
		name   string
		node   fwk.NodeInfo
		reason string
		want   []string
	}{
		{"missing company", west, interpodaffinity.ReasonAffinity, []string{"no pod with app=db in zone=west", "the node has no label rack"}},
		{"unwanted company", east, interpodaffinity.ReasonAntiAffinity, []string{"pod default/db-1 with app=db is in zone=east"}},
		{"unwelcome", west, interpodaffinity.ReasonExistingAntiAffinity, []string{"pod default/web-1 keeps pods with app=web out of zone=west"}},
		{"another reason", west, "something new", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, podAffinityDetails(about, test.node, []string{test.reason})); diff != "" {
				t.Errorf("details differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpreadDetails(t *testing.T) {
	east, west := neighbourhood(t)
	constraint := v1.TopologySpreadConstraint{
		TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	changed := func(change func(*v1.TopologySpreadConstraint)) v1.TopologySpreadConstraint {
		c := constraint
		change(&c)
		return c
	}
	soft := changed(func(c *v1.TopologySpreadConstraint) { c.WhenUnsatisfiable = v1.ScheduleAnyway })
	rack := changed(func(c *v1.TopologySpreadConstraint) { c.TopologyKey = "rack" })
	three := changed(func(c *v1.TopologySpreadConstraint) {
		c.MinDomains = ptr.To[int32](3)
		c.LabelSelector = &metav1.LabelSelector{}
		c.MaxSkew = 1
		c.MatchLabelKeys = []string{"app"}
	})
	tests := map[string]struct {
		constraints []v1.TopologySpreadConstraint
		node        fwk.NodeInfo
		want        []string
	}{
		"too many":        {[]v1.TopologySpreadConstraint{constraint, soft}, west, []string{"zone=west has 1 pod with app=web, the fewest anywhere is 0, and maxSkew is 1"}},
		"no label":        {[]v1.TopologySpreadConstraint{rack}, east, []string{"the node has no label rack"}},
		"fits":            {[]v1.TopologySpreadConstraint{constraint}, east, nil},
		"no constraints":  {nil, west, nil},
		"too few domains": {[]v1.TopologySpreadConstraint{three}, west, []string{"zone=west has 1 pod with app=web, the fewest anywhere is 0, and maxSkew is 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := objects.Pod("web-2").Label("app", "web").Build()
			pod.Spec.TopologySpreadConstraints = test.constraints
			about := &subject{pod: pod, nodes: []fwk.NodeInfo{east, west}}
			if diff := cmp.Diff(test.want, spreadDetails(about, test.node, []string{"node(s) didn't match pod topology spread constraints"})); diff != "" {
				t.Errorf("details differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProbeAgreesWithAttempts asks the plugins one by one about the waiting pods of random clusters: nothing is in the
// way exactly where an attempt would succeed, and what rejects the pod there is among what is in the way. The details
// never leave an blocker of the plugins that have some unexplained.
func TestProbeAgreesWithAttempts(t *testing.T) {
	checked := 0
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cluster, err := simulate.NewCluster(t.Context(), simulate.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			randomcluster.New(t, cluster, seed+1000).Run()
			known := newEvaluator(t.Context(), cluster)
			if err := known.refresh(); err != nil {
				t.Fatal(err)
			}
			waiting, _ := cluster.Scheduler().Queue().PendingPods()
			for _, pod := range waiting {
				class := known.classOf(pod)
				judged, err := known.evaluate(class)
				if err != nil {
					t.Fatal(err)
				}
				seen := podSnapshot{scheduler: cluster.Scheduler(), pod: pod}
				describer := newDescriber(seen.scheduler.Configuration(), class.profile, seen.pod, known.nodes())
				built := newProbe(t.Context(), class.profile, pod, known.nodes())
				for i, node := range known.nodes() {
					rejections := built.rejections(node)
					for _, everywhere := range built.everywhere {
						rejections = append(rejections, nodeRejection{status: everywhere})
					}
					by := judged.rejectorOn(i)
					if (by == "") != (len(rejections) == 0) || by != "" && !rejectedBy(rejections, by) {
						t.Errorf("pod %s on node %s is rejected by %q, but the blockers are %+v", pod.Name, judged.names[i], by, rejections)
					}
					for _, rejection := range rejections {
						blocker := describer.blocker(rejection)
						if describer.details[blocker.Plugin] != nil && rejection.status.IsRejected() && len(blocker.Details) == 0 && rejection.node != nil &&
							blocker.Reason != "node(s) had no available disk" {
							t.Errorf("pod %s on node %s: nothing is known about %+v", pod.Name, judged.names[i], blocker)
						}
						checked++
					}
				}
			}
		})
	}
	if checked < 100 {
		t.Errorf("only %d blockers were checked; the clusters are too quiet", checked)
	}
}
