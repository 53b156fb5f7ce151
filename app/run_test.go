// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

func TestRunServesAndEnds(t *testing.T) {
	r := start(t, newAPIServer(t), []string{"--leader-elect=false", open})
	r.answers("/readyz", 200)
	for path, wanted := range map[string]string{
		"/livez?verbose":                       `^\[\+\]ping ok\nlivez check passed\n$`,
		"/healthz?verbose":                     `^\[\+\]ping ok\nhealthz check passed\n$`,
		"/readyz?verbose":                      `^\[\+\]shutdown ok\n\[\+\]sched-handler-sync ok\n\[\+\]api-access ok\n\[\+\]scheduling-cycle ok\n\[\+\]event-resources ok\n\[\+\]custom-kinds ok\nreadyz check passed\n$`,
		"/readyz?verbose&exclude=custom-kinds": `\[\+\]custom-kinds excluded: ok`,
		"/readyz/sched-handler-sync":           `^ok$`,
		"/metrics":                             `scheduler_pending_pods\{`,
		"/metrics/resources":                   `^$`,
		"/metrics/slis":                        `kubernetes_healthcheck\{name="sched-handler-sync",type="readyz"\} 1`,
		"/flagz":                               `\nleader-elect\W+false\n`,
		"/statusz":                             `\nBinary version\W+1\.37\n`,
		"/debug/pprof/":                        `goroutine`,
		"/debug/pprof/cmdline":                 `test`,
		"/configz":                             `"resourceName":"kube-scheduler"`,
	} {
		want := regexp.MustCompile(wanted)
		if code, body := r.get(path); code != 200 || !want.MatchString(body) {
			t.Errorf("%s answers %d and not %q:\n%.2000s", path, code, want, body)
		}
	}
	for _, path := range []string{"/", "/nothing"} {
		if code, _ := r.get(path); code != 404 {
			t.Errorf("%s answers %d, want 404", path, code)
		}
	}
	if code, body := r.put("/debug/flags/v", "1"); code != 200 || !strings.Contains(body, "successfully set klog.logging.verbosity to 1") {
		t.Errorf("a new verbosity is answered with %d %s", code, body)
	}
	_, _ = r.put("/debug/flags/v", "0")
	var shown struct {
		Config struct {
			Kind     string
			Profiles []struct{ SchedulerName string }
		} `json:"componentconfig"`
	}
	if _, body := r.get("/configz"); json.Unmarshal([]byte(body), &shown) != nil ||
		shown.Config.Kind != "KubeSchedulerConfiguration" || len(shown.Config.Profiles) != 1 {
		t.Errorf("/configz answers %.300s", body)
	}
	if err := r.stop(); err != nil {
		t.Errorf("a process that is asked to end fails: %v", err)
	}
}

func TestRunMetricsOfTheProcess(t *testing.T) {
	r := start(t, newAPIServer(t), []string{"--leader-elect=false", open, "--feature-gates=GenericWorkload=true"})
	r.answers("/readyz", 200)
	_, body := r.get("/metrics")
	for _, series := range []string{
		`kubernetes_feature_enabled{name="SchedulerPopFromBackoffQ",stage="BETA"} 1`,
		`kubernetes_feature_enabled{name="GenericWorkload",stage="BETA"} 1`,
		"kubernetes_build_info{", "go_goroutines ", "process_start_time_seconds ",
		`rest_client_requests_total{code="`, "process_cpu_seconds_total ", "process_resident_memory_bytes ", // docs/metrics.md names them
		"registered_metrics_total{", `version_info{`, "scheduler_cache_size{",
	} {
		if !strings.Contains(body, series) {
			t.Errorf("/metrics does not have %s", series)
		}
	}
}

func TestRunWithoutPort(t *testing.T) {
	server := newAPIServer(t)
	r := start(t, server, []string{"--leader-elect=false", open, "--secure-port=0"})
	r.eventually("the cluster is watched", func() (bool, string) {
		server.mu.Lock()
		defer server.mu.Unlock()
		return slices.Contains(server.asked, "nodes"), "no request for nodes came"
	})
	if code, body := r.get("/livez"); code != 0 {
		t.Errorf("something answers %d %s", code, body)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestRunGuardsWhatItServes(t *testing.T) {
	r := start(t, newAPIServer(t), []string{"--leader-elect=false"})
	r.answers("/readyz", 200)
	code, body := r.get("/metrics")
	if code != 403 || !strings.Contains(body, `forbidden: User \"system:anonymous\" cannot get path \"/metrics\"`) {
		t.Errorf("/metrics answers %d %s", code, body)
	}
	if code, _ := r.get("/readyz/shutdown"); code != 403 {
		t.Errorf("a single check answers %d, want 403", code)
	}
}

func TestRunGates(t *testing.T) {
	r := start(t, newAPIServer(t), []string{"--leader-elect=false", open, "--profiling=false", "--feature-gates=ComponentFlagz=false,ComponentStatusz=false"})
	r.answers("/readyz", 200)
	for _, path := range []string{"/flagz", "/statusz", "/debug/pprof/", "/debug/flags/v"} {
		if code, _ := r.get(path); code != 404 {
			t.Errorf("%s answers %d, want 404", path, code)
		}
	}
}

func TestRunNamesMissingPermissions(t *testing.T) {
	server := newAPIServer(t)
	server.forbidden = []string{"nodes", "poddisruptionbudgets"}
	r := start(t, server, []string{"--leader-elect=false", open})
	r.eventually("both are named", func() (bool, string) {
		_, body := r.get("/readyz/api-access")
		return strings.Contains(body, "watch nodes") && strings.Contains(body, "watch poddisruptionbudgets.policy"), body
	})
	r.answers("/livez", 200)
	if code, body := r.get("/readyz"); code != 500 ||
		!strings.Contains(body, "[-]sched-handler-sync failed: reason withheld\n[-]api-access failed: reason withheld\n") {
		t.Errorf("/readyz answers %d %s", code, body)
	}
	if _, body := r.get("/readyz/sched-handler-sync"); !strings.Contains(body, "waiting for handlers to sync: ") || !strings.Contains(body, "Node") {
		t.Errorf("sched-handler-sync says %s", body)
	}
	server.change(func() { server.forbidden = nil })
	r.answers("/readyz", 200)
}

// kindWatcher waits for objects of a kind.
type kindWatcher struct{ resource fwk.EventResource }

func (kindWatcher) Name() string { return "KindWatcher" }

func (kindWatcher) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

func (w kindWatcher) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: w.resource, ActionType: fwk.Add}}}, nil
}

// startWatching runs a scheduler with a plugin that waits for objects of a kind.
func startWatching(t *testing.T, server *apiServer, resource fwk.EventResource) *running {
	t.Helper()
	config := filepath.Join(t.TempDir(), "scheduler.yaml")
	text := `--- {apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, leaderElection: {leaderElect: false},
clientConnection: {contentType: application/json}, profiles: [{plugins: {multiPoint: {enabled: [{name: KindWatcher}]}}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	factory := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return kindWatcher{resource}, nil
	}
	return start(t, server, []string{"--config=" + config, open}, app.WithPlugin("KindWatcher", factory))
}

// TestRunWithoutAKind is about kinds that are not defined yet, and those of the core group that may not be read.
func TestRunWithoutAKind(t *testing.T) {
	for resource, plural := range map[fwk.EventResource]string{"racks.v1.example.com": "racks", "configmaps.v1.": "configmaps"} {
		t.Run(plural, func(t *testing.T) {
			server := newAPIServer(t)
			server.absent = []string{plural}
			r := startWatching(t, server, resource)
			r.answers("/readyz/sched-handler-sync", 200)
			if code, body := r.get("/readyz/custom-kinds"); code != 500 || !strings.Contains(body, string(resource)) {
				t.Errorf("custom-kinds answers %d %s", code, body)
			}
			server.change(func() { server.absent = nil })
			r.answers("/readyz", 200)
			server.change(func() {
				if !slices.Contains(server.asked, plural) {
					t.Errorf("%s were never listed, only %q", plural, server.asked)
				}
			})
		})
	}
}

func TestRunWithEventsOfNoResource(t *testing.T) {
	r := startWatching(t, newAPIServer(t), "Nodes")
	r.answers("/readyz/sched-handler-sync", 200)
	code, body := r.get("/readyz/event-resources")
	if code != 500 || !strings.Contains(body, `"KindWatcher" registers events of "Nodes"`) || !strings.Contains(body, `did you mean "Node"?`) {
		t.Errorf("event-resources answers %d %s", code, body)
	}
	r.answers("/readyz?exclude=event-resources", 200)
}

func TestRunWritesTheConfiguration(t *testing.T) {
	server := newAPIServer(t)
	server.Close() // it is not needed
	file := filepath.Join(t.TempDir(), "written.yaml")
	r := start(t, server, []string{"--leader-elect-resource-name=mine", "--write-config-to=" + file})
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"kind: KubeSchedulerConfiguration\n", "  resourceName: mine\n", "    name: VolumeBinding\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the file does not have %q:\n%s", line, text)
		}
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "    name: "); found {
			names = append(names, name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("arguments are in the order %q", names)
	}
}

func TestRunUsage(t *testing.T) {
	for _, test := range []struct {
		args    []string
		wantErr string
	}{
		{args: []string{"run", "foo"}, wantErr: `"rouse run" does not take any arguments, got ["foo"]`},
		{args: []string{"run", "--nope"}, wantErr: "unknown flag: --nope"},
		{args: []string{"run", "--feature-gates=Nope=true"}, wantErr: "unrecognized feature gate: Nope"},
		{args: []string{"run", "--logging-format=foo"}, wantErr: `format: Invalid value: "foo": Unsupported log format`},
		{args: []string{"run", "--secure-port=-1"}, wantErr: "--secure-port -1 must be between 0 and 65535"},
		{args: []string{"run", "--config=/none.yaml"}, wantErr: "open /none.yaml"},
		{args: []string{"run", "--leader-elect-retry-period=1h"}, wantErr: "renewDeadline"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			command := app.NewSchedulerCommand()
			command.SetArgs(test.args)
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one with %q", err, test.wantErr)
			}
			if code := app.CodeOf(err); code != app.ExitUsage {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestRunCannotBegin(t *testing.T) {
	first := start(t, newAPIServer(t), []string{"--leader-elect=false", open})
	first.answers("/readyz", 200)
	port := first.url[strings.LastIndex(first.url, ":")+1:]
	second := start(t, newAPIServer(t), []string{"--leader-elect=false", open, "--secure-port=" + port})
	if err := second.wait(); app.CodeOf(err) != app.ExitCheckFailed {
		t.Errorf("with a port that is taken, the exit code is %d (%v)", app.CodeOf(err), err)
	}
}

func TestFlagsAloneRunTheScheduler(t *testing.T) {
	server := newAPIServer(t)
	server.Close() // it is not needed
	file := filepath.Join(t.TempDir(), "written.yaml")
	command := app.NewSchedulerCommand()
	command.SetArgs([]string{"--master=" + server.URL, "--secure-port=0", "--write-config-to=" + file})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{}, {"--v=1"}, {"--help"}} {
		if out := succeed(t, args); !strings.Contains(out, "simulate") || strings.Contains(out, "--leader-elect") {
			t.Errorf("rouse %q does not print the help of the group:\n%s", args, out)
		}
	}
	if out := succeed(t, []string{"run", "--version"}); !strings.Contains(out, "Kubernetes 1.37") {
		t.Errorf("version: %s", out)
	}
}

func TestRunHelp(t *testing.T) {
	out := succeed(t, []string{"run", "--help"})
	at := 0
	for _, section := range []string{
		"Usage:\n  rouse run [flags]", "\nMisc flags:\n", "      --config string ", "\nSecure serving flags:\n", "\nAuthentication flags:\n",
		"\nAuthorization flags:\n", "\nDeprecated flags:\n", "      --kubeconfig string ", "\nLeader election flags:\n", "\nFeature gate flags:\n",
		"kube:SchedulerPopFromBackoffQ=true|false (BETA - default=true)", "\nMetrics flags:\n", "\nLogs flags:\n", "--logging-format string",
	} {
		next := strings.Index(out[at:], section)
		if next < 0 {
			t.Fatalf("the help text has no %q after the first %d bytes:\n%s", section, at, out)
		}
		at += next
	}
}

func TestRunCannotReadFiles(t *testing.T) {
	folder := t.TempDir()
	notOne := write(t, folder, "broken", "this is none")
	kubeconfig := write(t, folder, "kubeconfig", "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: \"https://localhost\", certificate-authority: /none}}], "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}], current-context: c}")
	for _, flags := range [][]string{
		{"--kubeconfig=/none"}, {"--kubeconfig=" + notOne}, {"--kubeconfig=" + kubeconfig},
		{"--master=http://localhost:1", "--tls-cert-file=/none", "--tls-private-key-file=/none"},
		{"--master=http://localhost:1", "--client-ca-file=" + notOne}, {"--master=http://localhost:1", "--authentication-kubeconfig=/none"},
	} {
		if got := rouse(t, append([]string{"run", "--leader-elect=false"}, flags...)); got.code != int(app.ExitUsage) || got.stderr == "" {
			t.Errorf("run %q: exit code %d, %q", flags, got.code, got.stderr)
		}
	}
}

func TestWritingTheConfigurationNeedsNoCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "written.yaml")
	if got := rouse(t, []string{"run", "--write-config-to=" + file}); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	succeed(t, []string{"profiles", "validate", file})
	if got := rouse(t, []string{"profiles", "diff", file}); got.code != 0 {
		t.Errorf("what was written is not the default configuration: %s", got.stdout)
	}
}
