// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

const dynamicResources = "DynamicResources"

// compareDevices compares what becomes of pods with claims, one after the other: what every extension point says, what is
// written, and what counts as allocated after each step.
func (m *machine) compareDevices(r round) {
	synctest.Test(r.T, func(t *testing.T) {
		g := newGenerator(r.seed)
		c := trial{profile: all([]configv1.Plugin{{Name: dynamicResources}}), label: "devices"}
		var pod func(string) *v1.Pod
		c.cluster, pod = g.deviceCluster()
		c.pending = []*v1.Pod{pod("pod-0"), pod("pod-1"), pod("pod-2")}
		differ := func(c trial) (string, verdicts) {
			their, our := deviceVerdicts(t, c, theirs), deviceVerdicts(t, c, ours)
			return difference(their, our), their
		}
		diff, said := differ(c)
		if diff != "" {
			c = shrink(c, smallerTrials, func(c trial) bool { diff, _ := differ(c); return diff != "" })
			smaller, _ := differ(c)
			t.Fatalf("SEED=%d N=1: devices (-kube-scheduler +rouse):\n%s\nand smaller:\n%s\n%s", r.seed, diff, smaller, caseText(c))
		}
		m.add(said.count())
	})
}

// deviceCycle is the way of one pod through the plugin.
type deviceCycle struct {
	*side
	ctx   context.Context
	pod   *v1.Pod
	state fwk.CycleState
	v     verdicts
	// statuses are those of the nodes that were rejected.
	statuses *framework.NodeToStatus
}

func deviceVerdicts(t *testing.T, c trial, build builder) verdicts {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := build(ctx, c.cluster, c.profile)
	if err != nil {
		t.Fatal(err)
	}
	serveClaims(s.client, s.world)
	nodes, err := s.nodes()
	if err != nil {
		t.Fatal(err)
	}
	v := verdicts{}
	for _, pod := range c.pending {
		if _, err := s.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.client.ClearActions()
		(&deviceCycle{side: s, ctx: ctx, pod: pod, state: s.newState(), v: v, statuses: framework.NewDefaultNodeToStatus()}).run(nodes)
	}
	return v
}

// say notes a verdict. What happens to few pods is counted as one kind.
func (d *deviceCycle) say(what, node, verdict string) {
	counted := what
	switch {
	case strings.HasPrefix(what, "allocated"):
		counted = "devices allocated"
	case slices.Contains([]string{"Score", "NormalizeScore", "PostFilter"}, what):
		counted = "Score or PostFilter with devices"
	case !slices.Contains([]string{"PreEnqueue", "PreFilter", "Filter"}, what):
		counted = "binding with devices"
	}
	d.v[subject{kind: kind{counted, dynamicResources}, pod: d.pod.Name, node: strings.TrimSpace(what + " " + node)}] = verdict
}

// wrote returns what was asked of the API server since it was last called, without what is different every time. When the
// finalizer is written is not compared, only that the allocation goes with it: Rouse creates claims that have it.
func (d *deviceCycle) wrote() string {
	asked := requests(d.client.Actions())
	d.client.ClearActions()
	asked = slices.DeleteFunc(asked, func(request string) bool { return strings.HasPrefix(request, "update  ") || request == "get " })
	for i := range asked {
		if strings.HasPrefix(asked[i], "create ") {
			asked[i] = strings.Replace(asked[i], `,"finalizers":["resource.kubernetes.io/delete-protection"]`, "", 1)
		}
	}
	for len(d.recorder.Events) > 0 {
		asked = append(asked, <-d.recorder.Events)
	}
	text := strings.Join(asked, "\n")
	for _, random := range []string{`"shareID":"[^"]*"`, `,?"allocationTimestamp":"[^"]*"`, `"resourceVersion":"[^"]*",`, `"uid":"[0-9a-f]{8}-[^"]*"`} {
		text = regexp.MustCompile(random).ReplaceAllString(text, "")
	}
	return text
}

func (d *deviceCycle) allocated() string {
	state, err := d.devices.ResourceClaims().GatherAllocatedState()
	if err != nil {
		return err.Error()
	}
	var lines []string
	for id := range state.AllocatedDevices {
		lines = append(lines, id.String())
	}
	for id := range state.AggregatedCapacity {
		for name, quantity := range state.AggregatedCapacity[id] {
			lines = append(lines, fmt.Sprint(id, name, quantity))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func (d *deviceCycle) run(nodes []fwk.NodeInfo) {
	plugin := d.plugins[dynamicResources]
	d.say("PreEnqueue", "", describe(plugin.(fwk.PreEnqueuePlugin).PreEnqueue(d.ctx, d.pod)))
	_, status := plugin.(fwk.PreFilterPlugin).PreFilter(d.ctx, d.state, d.pod, nodes)
	d.say("PreFilter", "", describe(status))
	if !status.IsSuccess() {
		return
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		status := plugin.(fwk.FilterPlugin).Filter(d.ctx, d.state, d.pod, node)
		d.say("Filter", name, describe(status))
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			d.statuses.Set(name, status)
		}
	}
	if len(feasible) == 0 {
		d.postFilter(plugin)
		return
	}
	d.score(plugin.(fwk.ScorePlugin), feasible)
	// kube-scheduler makes an empty claim if a pod has claims and all its extended resources are on the node, and then
	// fails.
	feasible = slices.DeleteFunc(feasible, func(node fwk.NodeInfo) bool {
		return len(d.pod.Spec.ResourceClaims) > 0 && node.GetAllocatable().GetScalarResources()[served] > 0
	})
	if len(feasible) > 0 {
		d.bind(plugin, feasible[len(feasible)-1].Node().Name)
	}
}

// postFilter leaves out pods with more than one claim in the way: kube-scheduler takes any of them.
func (d *deviceCycle) postFilter(plugin fwk.Plugin) {
	if len(d.pod.Spec.ResourceClaims) > 1 {
		return
	}
	_, status := plugin.(fwk.PostFilterPlugin).PostFilter(d.ctx, d.state, d.pod, d.statuses)
	d.say("PostFilter", "", describe(status)+" "+d.wrote())
	d.say("allocated after PostFilter", "", d.allocated())
}

func (d *deviceCycle) score(plugin fwk.ScorePlugin, feasible []fwk.NodeInfo) {
	var scores fwk.NodeScoreList
	for _, node := range feasible {
		score, status := plugin.Score(d.ctx, d.state, d.pod, node)
		d.say("Score", node.Node().Name, fmt.Sprint(describe(status), " ", score))
		scores = append(scores, fwk.NodeScore{Name: node.Node().Name, Score: score})
	}
	status := plugin.ScoreExtensions().NormalizeScore(d.ctx, d.state, d.pod, scores)
	d.say("NormalizeScore", "", fmt.Sprint(describe(status), " ", scores))
}

func (d *deviceCycle) bind(plugin fwk.Plugin, node string) {
	reserve, prebind := plugin.(fwk.ReservePlugin), plugin.(fwk.PreBindPlugin)
	d.say("Reserve", node, describe(reserve.Reserve(d.ctx, d.state, d.pod, node)))
	d.say("allocated after Reserve", node, d.allocated())
	if d.pod.Name == "pod-2" {
		reserve.Unreserve(d.ctx, d.state, d.pod, node)
		d.say("allocated after Unreserve", node, d.allocated()+d.wrote())
		return
	}
	_, status := prebind.PreBindPreFlight(d.ctx, d.state, d.pod, node)
	d.say("PreBindPreFlight", node, describe(status))
	status = prebind.PreBind(d.ctx, d.state, d.pod, node)
	d.say("PreBind", node, describe(status)+" "+d.wrote())
	// Until a wait for devices is over, kube-scheduler counts what they consume twice, as pending and as written.
	d.say("allocated after PreBind", node, regexp.MustCompile(`memory\d+Gi`).ReplaceAllString(d.allocated(), ""))
	if !status.IsSuccess() || d.pod.Name == "pod-1" {
		reserve.Unreserve(d.ctx, d.state, d.pod, node)
		d.say("Unreserve after PreBind", node, d.wrote())
		d.say("allocated after Unreserve", node, d.allocated())
	}
}
