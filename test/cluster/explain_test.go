// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// A user whom deploy's role allows it asks the scheduler why a pod waits, and does what it says until the pod has a node.
func TestWhatIsExplainedHelps(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	s := f.Rouse(t, "rouse", f.Front, nil)
	s.WaitReady(ctx, t)
	c := newCorner(t, f.Client, f.SchedulerName(t), 0)
	c.node("n1", func(node *v1.Node) {
		node.Labels["disk"] = "hdd"
		node.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "batch", Effect: v1.TaintEffectNoSchedule}}
	})
	c.pod("pod", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	c.waitRejected("pod", "untolerated taint")

	if _, err := s.explain(t, c.namespace+"/pod", f.Token); err == nil || !strings.Contains(err.Error(), `nonResourceURLs: ["/explain/pods/*"]`) {
		t.Errorf("a user without the role is answered with %v", err)
	}
	token := f.tokenWithRoles(ctx, t, f.Client, "default", "reader", "rouse-explain")
	explain := func() *inspect.Explanation {
		t.Helper()
		explanation, err := s.explain(t, c.namespace+"/pod", token)
		if err != nil {
			t.Fatal(err)
		}
		return explanation
	}
	first := explain()
	if len(first.Nodes) != 1 || first.Nodes[0].BlockerCount != 2 {
		t.Fatalf("the closest nodes are %+v, want two blockers on one node", first.Nodes)
	}
	c.changeNode(first.Nodes[0].Name, func(node *v1.Node) {
		taint := detail(t, first, `^taint (\S+)=(\S+):NoSchedule is not tolerated$`)
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(has v1.Taint) bool { return has.Key == taint[1] && has.Value == taint[2] })
	})
	var second *inspect.Explanation
	WaitFor(ctx, t, soon, func() (bool, string) {
		second = explain()
		return len(second.RecentEvents) > 0 && second.Pool == simulate.PoolUnschedulable, fmt.Sprintf("the pod to be tried again: %+v", second)
	})
	if event := second.RecentEvents[0]; event.Event != "NodeUpdateNodeTaint" || event.Plugin != "TaintToleration" || event.Answer != inspect.AnswerQueue {
		t.Errorf("recent events are %+v, want the change of the taints", second.RecentEvents)
	}
	c.changeNode(second.Nodes[0].Name, func(node *v1.Node) {
		label := detail(t, second, `^node selector (\S+)=(\S+): the node has hdd$`)
		node.Labels[label[1]] = label[2]
	})
	c.waitBound("pod", soon)
	WaitFor(ctx, t, soon, func() (bool, string) {
		bound := explain()
		return bound.Pool == simulate.PoolBound && bound.Node == "n1", fmt.Sprintf("the scheduler to know that the pod is bound: %+v", bound)
	})
}

// explain runs rouse explain pod.
func (s *Scheduler) explain(t *testing.T, pod, token string) (*inspect.Explanation, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), settings.Rouse, "explain", "pod", pod, "-o", "json",
		"--server", s.url, "--insecure-skip-tls-verify", "--token-file", file)
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, errors.String())
	}
	explanation := &inspect.Explanation{}
	if err := json.Unmarshal(output, explanation); err != nil {
		t.Fatalf("%v in:\n%s", err, output)
	}
	return explanation, nil
}

// detail returns the groups of a pattern in the blockers on the closest node.
func detail(t *testing.T, explanation *inspect.Explanation, pattern string) []string {
	t.Helper()
	for _, blocker := range explanation.Nodes[0].Blockers {
		for _, line := range blocker.Details {
			if groups := regexp.MustCompile(pattern).FindStringSubmatch(line); groups != nil {
				return groups
			}
		}
	}
	t.Fatalf("nothing in %+v looks like %s", explanation.Nodes[0], pattern)
	return nil
}
