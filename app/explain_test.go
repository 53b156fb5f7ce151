// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/app"
)

// documentedExplanation is the documented form of rouse explain -o json.
type documentedExplanation struct {
	Namespace     string   `json:"namespace"`
	Name          string   `json:"name"`
	SchedulerName string   `json:"schedulerName"`
	NominatedNode string   `json:"nominatedNode"`
	Victims       []string `json:"victims"`
	Terminating   bool     `json:"terminating"`
	Preempted     bool     `json:"preempted"`
	PreemptedFor  []string `json:"preemptedFor"`
	Phase         string   `json:"phase"`
	MissedWakeup  bool     `json:"missedWakeup"`
	At            string   `json:"at"`
	Pool          string   `json:"pool"`
	Since         string   `json:"since"`
	Node          string   `json:"node"`
	Permission    []string `json:"permission"`
	Attempts      int      `json:"attempts"`
	Message       string   `json:"message"`
	WokenBy       string   `json:"wokenBy"`
	TriedAgainAt  string   `json:"triedAgainAt"`
	RejectedAt    string   `json:"rejectedAt"`
	RejectedBy    []struct {
		Plugin  string `json:"plugin"`
		Gate    bool   `json:"gate"`
		Nodes   int    `json:"nodes"`
		Reasons []struct {
			Reason string `json:"reason"`
			Nodes  int    `json:"nodes"`
		} `json:"reasons"`
	} `json:"rejectedBy"`
	PostFilter string `json:"postFilter"`
	Wakes      []struct {
		Plugin string `json:"plugin"`
		Events []struct {
			Event string `json:"event"`
			Hint  bool   `json:"hint"`
		} `json:"events"`
	} `json:"wakes"`
	Heard []struct {
		At      string `json:"at"`
		Event   string `json:"event"`
		Object  string `json:"object"`
		Plugin  string `json:"plugin"`
		Answer  string `json:"answer"`
		Message string `json:"message"`
	} `json:"heard"`
	HeardSince string `json:"heardSince"`

	NotAsked   string    `json:"notAsked"`
	AllNodes   int       `json:"allNodes"`
	Everywhere []blocker `json:"everywhere"`
	Nodes      []struct {
		Name      string    `json:"name"`
		Things    int       `json:"things"`
		Obstacles []blocker `json:"obstacles"`
	} `json:"nodes"`

	Suggestions []struct {
		Node    string `json:"node"`
		Changes []struct {
			Action    string            `json:"action"`
			Text      string            `json:"text"`
			Kind      string            `json:"kind"`
			Namespace string            `json:"namespace"`
			Name      string            `json:"name"`
			Key       string            `json:"key"`
			Value     string            `json:"value"`
			Amounts   map[string]string `json:"amounts"`
			Pods      []string          `json:"pods"`
		} `json:"changes"`
	} `json:"suggestions"`
	Scores []struct {
		Node    string `json:"node"`
		Total   int64  `json:"total"`
		Plugins []struct {
			Plugin string `json:"plugin"`
			Score  int64  `json:"score"`
		} `json:"plugins"`
	} `json:"scores"`
}

type blocker struct {
	Plugin  string   `json:"plugin"`
	Reason  string   `json:"reason"`
	Details []string `json:"details"`
}

func TestExplainPod(t *testing.T) {
	text := succeed(t, []string{"explain", "pod", "wants-ssd", "--scenario", scenario(t), "--at", "5s"})
	for _, want := range []string{
		"Pod default/wants-ssd waits for an event: the only node does not take it.\nSince 0s, after 1 attempt; it is 5s now. Without an event it is tried again at 5m0s.\n",
		"This would let it be scheduled\n\n  - set the label disk=ssd on n1\n",
		"  NodeAffinity      1  node(s) didn't match Pod's node affinity/selector\n",
		"  NodeAffinity  a node is added or gets other labels\n",
		"  n1  1 blocker\n    NodeAffinity  node selector disk=ssd: the node has hdd\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not contain %q:\n%s", want, text)
		}
	}
	atTheEnd := "Pod default/wants-ssd is on node n1.\nSince 10s, after 2 attempts, the last one because of NodeUpdateNodeLabel; it is 10s now.\n\nThe best nodes, if it were placed now"
	if text := succeed(t, []string{"explain", "pod", "default/wants-ssd", "--scenario", scenario(t)}); !strings.HasPrefix(text, atTheEnd) {
		t.Errorf("at the end:\n%s\nwant\n%s", text, atTheEnd)
	}
}

func TestExplainPodJSON(t *testing.T) {
	got := decode[documentedExplanation](t, succeed(t, []string{"explain", "pod", "wants-ssd", "--scenario", scenario(t), "--at", "5s", "-o", "json"}))
	if got.Pool != "unschedulable" || got.At != "5s" || got.Attempts != 1 || got.AllNodes != 1 || got.SchedulerName != "default-scheduler" {
		t.Errorf("explanation %+v", got)
	}
	want := []blocker{{"NodeAffinity", "node(s) didn't match Pod's node affinity/selector", []string{"node selector disk=ssd: the node has hdd"}}}
	if len(got.Nodes) != 1 || got.Nodes[0].Name != "n1" || got.Nodes[0].Things != 1 {
		t.Fatalf("nodes %+v, want n1 with one blocker", got.Nodes)
	}
	if diff := cmp.Diff(want, got.Nodes[0].Obstacles); diff != "" {
		t.Errorf("obstacles differ (-want +got):\n%s", diff)
	}
	// Lists are never null.
	for _, form := range []string{"json", "yaml"} {
		if text := succeed(t, []string{"explain", "pod", "plain", "--scenario", scenario(t), "-o", form}); strings.Contains(text, "null") {
			t.Errorf("%s has null in it:\n%s", form, text)
		}
	}
}

func TestExplainTakesSeveralPaths(t *testing.T) {
	folder := filepath.Join("..", "testdata", "quickstart")
	cluster, timeline := filepath.Join(folder, "cluster.yaml"), filepath.Join(folder, "timeline.yaml")
	config := filepath.Join(folder, "scheduler.yaml")
	for _, args := range [][]string{
		{"--scenario", cluster, timeline},
		{"--scenario", cluster, "--scenario", timeline},
	} {
		text := succeed(t, append([]string{"explain", "pod", "huge", "--config", config, "--at", "65s", "--nodes", "1"}, args...))
		if !strings.Contains(text, "The closest 1 of 4 nodes\n\n  batch-1  1 blocker\n    NodeResourcesFit  cpu: asks 12, free 2 of 8\n") {
			t.Errorf("%v:\n%s", args, text)
		}
	}
	command := app.NewSchedulerCommand()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetIn(strings.NewReader(labelWakesPod))
	command.SetContext(t.Context())
	command.SetArgs([]string{"explain", "pod", "plain", "--scenario", "-"})
	if code := app.Run(command); code != 0 || !strings.HasPrefix(stdout.String(), "Pod default/plain is on node n1.\nSince 0s") {
		t.Errorf("standard input: exit code %d, %s%s", code, stdout.String(), stderr.String())
	}
}

func TestExplainWrongUsage(t *testing.T) {
	path := scenario(t)
	tests := map[string]struct {
		args []string
		want string
	}{
		"no pod":            {[]string{"pod"}, `needs the name of a pod`},
		"no scenario":       {[]string{"pod", "web"}, `needs --server, or --scenario with at least one file or folder`},
		"not a name":        {[]string{"pod", "a/b/c", "--scenario", path}, `"a/b/c" is not the name of a pod; write NAME or NAMESPACE/NAME`},
		"negative nodes":    {[]string{"pod", "plain", "--scenario", path, "--nodes", "-1"}, `--nodes is -1`},
		"before the start":  {[]string{"pod", "plain", "--scenario", path, "--at", "-1s"}, `before the start`},
		"misspelt pod":      {[]string{"pod", "wants-sdd", "--scenario", path}, `there is no pod default/wants-sdd at 10s; did you mean "default/wants-ssd"?`},
		"another namespace": {[]string{"pod", "shop/plain", "--scenario", path}, `there is no pod shop/plain at 10s; did you mean "default/plain"?`},
		"no such file":      {[]string{"pod", "plain", "--scenario", "nothing.yaml"}, `nothing.yaml`},
		"another object":    {[]string{"node", "n1"}, `unknown command "node" for "rouse explain"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rouse(t, append([]string{"explain"}, test.args...))
			if got.code != 2 || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
				t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, test.want)
			}
		})
	}
}

func TestExplainWithoutPods(t *testing.T) {
	path := write(t, t.TempDir(), "cluster.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}")
	got := rouse(t, []string{"explain", "pod", "web", "--scenario", path})
	if want := "Error: there is no pod default/web at 0s; there are no pods at all\n"; got.code != 2 || got.stderr != want {
		t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
}

// TestExplainTakesPodsAsKubectlDoes names one pod in all the ways that kubectl knows.
func TestExplainTakesPodsAsKubectlDoes(t *testing.T) {
	input := write(t, t.TempDir(), "cluster.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: c, image: i}]}}")
	for _, args := range []string{
		"pod shop/web", "pods shop/web", "po shop/web", "pod web -n shop", "pod -n shop web", "po web --namespace=shop", "pod shop/web -n shop",
		"pod/web -n shop", "pods/web -n shop", "po/shop/web", "pod/web --at 5 -n shop", "-n shop pod/web", "pod web -n shop --at 2.5",
	} {
		text := succeed(t, append(append([]string{"explain"}, strings.Fields(args)...), "--scenario", input))
		if !strings.HasPrefix(text, "Pod shop/web ") || strings.Contains(args, "--at 5") && !strings.Contains(text, "it is 5s now") {
			t.Errorf("explain %s:\n%s", args, text)
		}
	}
	for args, want := range map[string]string{
		"pod shop/web -n else": `--namespace is "else", but "shop/web" is in namespace "shop"`,
		"node/web":             `unknown command "node/web" for "rouse explain"`,
		"pod/":                 `unknown command "pod/" for "rouse explain"`,
		"pod web --at soon":    `invalid argument "soon" for "--at" flag`,
		"pod web --at 5x":      `invalid argument "5x" for "--at" flag`,
	} {
		got := rouse(t, append(append([]string{"explain"}, strings.Fields(args)...), "--scenario", input))
		if got.code != 2 || !strings.Contains(got.stderr, want) {
			t.Errorf("explain %s: code %d, %s", args, got.code, got.stderr)
		}
	}
}
