// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// careless is a plugin that accepts everything and changes whatever it is given, which the official interfaces don't
// forbid.
type careless struct {
	lister func() fwk.NodeInfoLister
	// change is what it does to lists of nodes.
	change func([]fwk.NodeInfo)
	mu     sync.Mutex // it is as careful as not to race with itself
}

func (*careless) Name() string { return "Careless" }

func (p *careless) changeLists(lists ...[]fwk.NodeInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, _ := p.lister().List()
	affinity, _ := p.lister().HavePodsWithAffinityList()
	antiAffinity, _ := p.lister().HavePodsWithRequiredAntiAffinityList()
	for _, list := range append(lists, all, affinity, antiAffinity) {
		p.change(list)
	}
}

func (p *careless) PreFilter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	p.changeLists(nodes)
	return nil, nil
}

func (*careless) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *careless) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	p.changeLists()
	return nil
}

// PostFilter comes last in a cycle that finds no node.
func (p *careless) PostFilter(_ context.Context, state fwk.CycleState, _ *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	p.changeLists()
	state.GetSkipFilterPlugins().Insert("NodeResourcesFit")
	for i := range 20 {
		if status := statuses.Get(fmt.Sprint("n", i)); status != nil {
			status.SetPlugin("Careless")
			status.AppendReason("careless")
		}
	}
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// Reserve comes last in a cycle that finds a node.
func (p *careless) Reserve(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	p.changeLists()
	state.GetSkipFilterPlugins().Insert("NodeResourcesFit")
	if skipped := state.GetSkipScorePlugins(); skipped != nil { // of one node, no score is asked for
		skipped.Insert("NodeResourcesFit")
	}
	return nil
}

func (*careless) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

func TestDecisionsDoNotDependOnWhatPluginsDoToTheirInput(t *testing.T) {
	changes := map[string]func([]fwk.NodeInfo){
		"sort": func(nodes []fwk.NodeInfo) {
			slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return strings.Compare(b.Node().Name, a.Node().Name) })
		},
		"clear": func(nodes []fwk.NodeInfo) { clear(nodes) },
	}
	searches := map[string]func(*Options){
		"all nodes":   func(*Options) {},
		"each pod":    func(options *Options) { options.Features.DisableVerdictCaches = true },
		"some nodes":  func(options *Options) { options.Configuration.PercentageOfNodesToScore = 50 },
		"in parallel": func(options *Options) { options.Configuration.Parallelism = 4 },
	}
	for searchName, search := range searches {
		want := decisionsWith(t, search, func([]fwk.NodeInfo) {})
		for changeName, change := range changes {
			t.Run(searchName+", "+changeName, func(t *testing.T) {
				if diff := cmp.Diff(want, decisionsWith(t, search, change)); diff != "" {
					t.Errorf("decisions (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// decisionsWith returns the nodes of pods, or why they have none, next to a plugin that changes what it is given.
func decisionsWith(t *testing.T, options func(*Options), change func([]fwk.NodeInfo)) map[string]string {
	t.Helper()
	var f *fixture
	plugin := &careless{change: change, lister: func() fwk.NodeInfoLister {
		return f.profile().SnapshotSharedLister().NodeInfos()
	}}
	f = newFixtureWith(t, options, plugin)
	for i := range 20 {
		f.nodeAdded(objects.Node(fmt.Sprint("n", i)).Capacity("cpu", fmt.Sprint(2+i%5), "memory", "8Gi").With(func(node *v1.Node) {
			node.Labels[v1.LabelTopologyZone] = fmt.Sprint("z", i%3)
		}).Build())
	}
	decisions := map[string]string{}
	for i := range 30 {
		pod := objects.Pod(fmt.Sprint("p", i)).Requests("cpu", fmt.Sprint(1+i%6)).With(func(pod *v1.Pod) {
			pod.Labels = map[string]string{"app": fmt.Sprint(i % 2)}
		}).Build()
		if i%4 == 0 {
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
					TopologyKey: v1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
				}},
			}}
		}
		f.add(pod)
		f.attempt()
	}
	for pod, node := range f.seen.bound {
		decisions[pod] = node
	}
	for _, failure := range f.seen.failures {
		decisions[failure.Pod.Name] = fmt.Sprintf("%s by %v", failure.Status.Message(), f.rejectors(failure.Pod.Name))
	}
	return decisions
}
