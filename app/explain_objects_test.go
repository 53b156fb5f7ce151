// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// foreignPods is a cluster with pods of another scheduler, one of which that has rejected.
func foreignPods(t *testing.T) (server *apiServer, kubeconfig string) {
	t.Helper()
	server = waitingPods(t)
	rejected := `,"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","lastTransitionTime":"2026-01-01T10:00:00Z","message":"0/1 nodes are available: 1 Insufficient cpu."}]`
	server.objects["pods"][1] = strings.Replace(server.objects["pods"][1], `"phase":"Pending"`, `"phase":"Pending"`+rejected, 1)
	server.objects["namespaces"] = []string{`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","uid":"shop"}}`}
	kubeconfig = write(t, t.TempDir(), "kubeconfig", fmt.Sprintf(
		"{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}, {name: d, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}", server.URL))
	return server, kubeconfig
}

func TestExplainPodOfAnyScheduler(t *testing.T) {
	server, kubeconfig := foreignPods(t)
	server.forbidden = []string{"poddisruptionbudgets", "csinodes"}
	server.absent = []string{"devicetaintrules"}
	got := rouse(t, []string{"explain", "pod", "web", "--kubeconfig", kubeconfig, "--context", "c"})
	for _, want := range []string{
		"Pod shop/web waits for an event: the only node does not take it.\nRejected since 2026-01-01T10:00:00Z; it is 2",
		"\nIts scheduler says: 0/1 nodes are available: 1 Insufficient cpu.\n",
		"Each of these would let it be scheduled\n\n  - free 6 cpu on n1 (ending shop/db would do)\n",
		"Rejected now by\n\n  PLUGIN            NODES  REASON\n  NodeResourcesFit      1  Insufficient cpu\n",
		"  NodeResourcesFit  a pod on a node ends or asks for less; ",
	} {
		if !strings.Contains(got.stdout, strings.Replace(want, "Each of these", "This", 1)) {
			t.Errorf("the text does not contain %q:\n%s%s", want, got.stdout, got.stderr)
		}
	}
	if want := "Warning: you may not list csinodes, poddisruptionbudgets, so they are left out as if there were none; it takes a ClusterRole with the verb list for them\n"; got.stderr != want {
		t.Errorf("standard error %q, want %q", got.stderr, want)
	}
	server.change(func() { server.forbidden = nil })
	for pod, want := range map[string]string{
		"shop/db":    "Pod shop/db is on node n1.\nSince 2026-01-01T09:30:00Z; it is 2",
		"shop/gated": "Pod shop/gated is not tried before its scheduling gate example.com/quota is removed.\n",
	} {
		if text := succeed(t, []string{"explain", "pod", pod, "--kubeconfig", kubeconfig}); !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", pod, want, text)
		}
	}
	for args, want := range map[string]string{
		"pod none --kubeconfig " + kubeconfig:            "there is no pod shop/none at ",
		"pod web --context e --kubeconfig " + kubeconfig: `context "e" does not exist`,
		"pod web --at 5s --kubeconfig " + kubeconfig:     "--at cannot be used with --context",
		"pod shop/others --kubeconfig " + kubeconfig:     `no profile is called "another"`,
		"pod web more --kubeconfig " + kubeconfig:        `takes one pod here, but got "more" as well`,
		"pod web -f nothing.yaml":                        "nothing.yaml",
	} {
		if got := rouse(t, append([]string{"explain"}, strings.Fields(args)...)); got.code != 2 || !strings.Contains(got.stderr, want) {
			t.Errorf("explain %s: code %d, %s", args, got.code, got.stderr)
		}
	}
}

// TestSnapshot explains pods of a snapshot as those of the cluster itself, with the names and without.
func TestSnapshot(t *testing.T) {
	_, kubeconfig := foreignPods(t)
	snapshot := write(t, t.TempDir(), "cluster.yaml", succeed(t, []string{"snapshot", "--kubeconfig", kubeconfig}))
	text := succeed(t, []string{"explain", "pod", "shop/web", "-f", snapshot})
	if want := "\n  - free 6 cpu on n1 (ending shop/db would do)\n"; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
	redacted := succeed(t, []string{"snapshot", "--kubeconfig", kubeconfig, "--redact"})
	for _, name := range []string{"shop", "web", "n1", "example.com/quota"} {
		if strings.Contains(redacted, name) {
			t.Errorf("%s is in the redacted snapshot:\n%s", name, redacted)
		}
	}
	report := succeed(t, []string{"simulate", "--quiet", write(t, t.TempDir(), "redacted.yaml", redacted)})
	if !strings.Contains(report, "Insufficient cpu") {
		t.Errorf("the redacted snapshot gives\n%s", report)
	}
}

// TestKubectlPlugin calls the binary as kubectl does: without flags it is about the cluster and the namespace of the context.
func TestKubectlPlugin(t *testing.T) {
	_, kubeconfig := foreignPods(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(t.TempDir(), "kubectl-rouse")
	if err := os.Symlink(self, plugin); err != nil {
		t.Fatal(err)
	}
	call := func(arguments string) (string, int) {
		command := exec.CommandContext(t.Context(), plugin)
		command.Env = append(os.Environ(), argumentsVariable+"="+arguments, "KUBECONFIG="+kubeconfig)
		out, _ := command.CombinedOutput() // the code says the rest
		return string(out), command.ProcessState.ExitCode()
	}
	for arguments, want := range map[string]string{
		"explain pod web":              "Pod shop/web waits for an event: ",
		"explain po/db":                "Pod shop/db is on node n1.",
		"explain pods web -o json":     `"suggestions": [`,
		"explain --help":               "kubectl rouse explain",
		"events --plugin NodeAffinity": "NodeUpdateNodeLabel",
		"__complete explain pod w":     "web\n",
		"__complete explain pod/d":     "pod/db\n",
	} {
		if out, code := call(arguments); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: code %d, want %q in\n%s", arguments, code, want, out)
		}
	}
	if out, code := call("explain pod none"); code != 2 || !strings.Contains(out, "there is no pod shop/none") {
		t.Errorf("code %d for a pod that does not exist: %s", code, out)
	}
	if out, code := call("explain pod web -n other"); code != 2 || !strings.Contains(out, `did you mean "shop/web"?`) {
		t.Errorf("code %d for another namespace: %s", code, out)
	}
}
