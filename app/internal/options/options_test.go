// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/profiles"
)

// parse returns the options that flags set, before they are completed.
func parse(t *testing.T, flags ...string) *options.Options {
	t.Helper()
	o, err := options.New()
	if err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	o.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return o
}

// write returns the name of a new file with a configuration of which these are the fields.
func write(t *testing.T, fields string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scheduler.yaml")
	text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + fields
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// settings are what flags and the file both have.
type settings struct {
	Elect                               bool
	LeaseDuration, Renew, Retry         time.Duration
	Lock, Lease, Namespace              string
	Kubeconfig, ContentType             string
	QPS                                 float32
	Burst                               int32
	Profiling, Contention               bool
	MaxInUnschedulable                  time.Duration
	DelayCacheUntilActive               bool
	PodMaxBackoffSeconds, Parallelism32 int64
}

func defaults() settings {
	return settings{
		Elect: true, LeaseDuration: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second,
		Lock: "leases", Lease: "kube-scheduler", Namespace: "kube-system",
		ContentType: "application/vnd.kubernetes.protobuf", QPS: 50, Burst: 100,
		Profiling: true, Contention: true, MaxInUnschedulable: 5 * time.Minute,
		PodMaxBackoffSeconds: 10, Parallelism32: 16,
	}
}

func settingsOf(o *options.Options, c *profiles.Configuration) settings {
	election, connection := c.LeaderElection, c.ClientConnection
	return settings{
		Elect: election.LeaderElect, LeaseDuration: election.LeaseDuration.Duration, Renew: election.RenewDeadline.Duration,
		Retry: election.RetryPeriod.Duration, Lock: election.ResourceLock, Lease: election.ResourceName,
		Namespace: election.ResourceNamespace, Kubeconfig: connection.Kubeconfig, ContentType: connection.ContentType,
		QPS: connection.QPS, Burst: connection.Burst, Profiling: c.EnableProfiling, Contention: c.EnableContentionProfiling,
		MaxInUnschedulable: o.MaxInUnschedulable, DelayCacheUntilActive: c.DelayCacheUntilActive,
		PodMaxBackoffSeconds: c.PodMaxBackoffSeconds, Parallelism32: int64(c.Parallelism),
	}
}

func TestConfiguration(t *testing.T) {
	const deprecated = "--kube-api-qps=7 --kube-api-burst=8 --kube-api-content-type=application/json --profiling=false --contention-profiling=false"
	for _, test := range []struct {
		name string
		// file has the fields of the configuration file; - means that there is none.
		file, flags string
		change      func(*settings)
		ignored     []string
	}{
		{name: "nothing", file: "-", change: func(*settings) {}},
		{
			name: "deprecated flags without a file", file: "-", flags: deprecated + " --kubeconfig=k",
			change: func(s *settings) {
				s.QPS, s.Burst, s.ContentType, s.Profiling, s.Contention, s.Kubeconfig = 7, 8, "application/json", false, false, "k"
			},
		},
		{
			name: "deprecated flags and a file", file: "clientConnection: {qps: 3, kubeconfig: f}", flags: deprecated + " --kubeconfig=k",
			change: func(s *settings) { s.QPS, s.Kubeconfig = 3, "f" },
			ignored: []string{
				"--contention-profiling", "--kube-api-burst", "--kube-api-content-type", "--kube-api-qps", "--kubeconfig", "--profiling",
			},
		},
		{
			name: "--kubeconfig and a file without one", file: "{}", flags: "--kubeconfig=k",
			change: func(s *settings) { s.Kubeconfig = "k" },
		},
		{
			name: "the flag that has no field", file: "{}", flags: "--pod-max-in-unschedulable-pods-duration=90s",
			change: func(s *settings) { s.MaxInUnschedulable = 90 * time.Second },
		},
		{
			name: "leader election in the file", file: "leaderElection: {leaderElect: false, resourceName: mine, leaseDuration: 30s}\ndelayCacheUntilActive: true",
			change: func(s *settings) {
				s.Elect, s.Lease, s.LeaseDuration, s.DelayCacheUntilActive = false, "mine", 30*time.Second, true
			},
		},
		{
			name:  "leader election in flags and in the file",
			file:  "leaderElection: {leaderElect: true, resourceName: mine, resourceNamespace: ours, leaseDuration: 30s}",
			flags: "--leader-elect=false --leader-elect-resource-name=yours --leader-elect-renew-deadline=20s",
			change: func(s *settings) {
				s.Elect, s.Lease, s.Namespace, s.LeaseDuration, s.Renew = false, "yours", "ours", 30*time.Second, 20*time.Second
			},
		},
		{
			name: "leader election in flags alone", file: "-",
			flags: "--leader-elect-lease-duration=8s --leader-elect-renew-deadline=5s --leader-elect-retry-period=1s " +
				"--leader_elect_resource_namespace=ours",
			change: func(s *settings) {
				s.LeaseDuration, s.Renew, s.Retry, s.Namespace = 8*time.Second, 5*time.Second, time.Second, "ours"
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			flags := strings.Fields(test.flags)
			if test.file != "-" {
				file := test.file
				if file == "{}" {
					file = ""
				}
				flags = append(flags, "--config="+write(t, file))
			}
			o := parse(t, flags...)
			config, err := o.Configuration(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := defaults()
			test.change(&want)
			if diff := cmp.Diff(want, settingsOf(o, config)); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.ignored, o.Ignored(config)); diff != "" {
				t.Errorf("ignored flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	for name, test := range map[string]struct{ file, flags, wantErr string }{
		"flags without a file": {file: "-", flags: "--leader-elect-renew-deadline=20s", wantErr: "leaseDuration"},
		"flags with a file":    {flags: "--leader-elect-resource-lock=configmaps", wantErr: `resourceLock value must be "leases"`},
		"the file":             {file: "parallelism: 0", wantErr: "parallelism"},
		"a timeout that a feature gate has switched off": {
			file: "profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 5s}}]}]", flags: "--feature-gates=DRASchedulerFilterTimeout=false",
			wantErr: "filterTimeout: Forbidden",
		},
		"another timeout": {
			file: "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 5s}}]}]", flags: "--feature-gates=DRADeviceBindingConditions=false",
			wantErr: "bindingTimeout: Forbidden",
		},
		"the shape of scores that a feature gate has switched off": {
			file:    "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 1}]}}]}]",
			flags:   "--feature-gates=StorageCapacityScoring=false",
			wantErr: "unexpected field `shape`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags := strings.Fields(test.flags)
			if test.file != "-" {
				flags = append(flags, "--config="+write(t, test.file))
			}
			o := parse(t, flags...)
			if err := o.Gates.Set(); err != nil {
				t.Fatal(err)
			}
			if _, err := o.Configuration(nil, nil); err == nil || !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error %v, want one with %q", err, test.wantErr)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	for _, test := range []struct{ flag, wantErr string }{
		{flag: "--secure-port=-1", wantErr: "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure port"},
		{flag: "--secure-port=0"},
		{flag: "--feature-gates=Nope=true", wantErr: "unrecognized feature gate: Nope"},
		{flag: "--show-hidden-metrics-for-version=1.36"},
		{flag: "--requestheader-username-headers= ", wantErr: `empty value in "requestheader-username-headers"`},
		{flag: "--pod-max-in-unschedulable-pods-duration=0s", wantErr: "must be longer than 0"},
	} {
		t.Run(test.flag, func(t *testing.T) {
			err := parse(t, test.flag).Complete()
			switch {
			case test.wantErr == "" && err != nil:
				t.Error(err)
			case test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)):
				t.Errorf("error %v, want one with %q", err, test.wantErr)
			}
		})
	}
}

func TestDefaultsOfServing(t *testing.T) {
	o := parse(t)
	if o.SecureServing.BindPort != 10259 || o.SecureServing.BindAddress.String() != "0.0.0.0" {
		t.Errorf("serves on %s:%d", o.SecureServing.BindAddress, o.SecureServing.BindPort)
	}
	if diff := cmp.Diff([]string{"/healthz", "/readyz", "/livez"}, o.Authorization.AlwaysAllowPaths); diff != "" {
		t.Errorf("paths for everybody (-want +got):\n%s", diff)
	}
	if !o.Authentication.TolerateInClusterLookupFailure || !o.Authentication.RemoteKubeConfigFileOptional {
		t.Error("a cluster that says nothing about authentication would be an error")
	}
	if err := o.EnsureCertificate(); err != nil {
		t.Fatal(err)
	}
	if o.SecureServing.ServerCert.GeneratedCert == nil {
		t.Error("there is no certificate in memory")
	}
}

func TestRESTConfig(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://c:6443"}}],
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], current-context: c}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags    []string
		wantHost string
		wantErr  string
	}{
		"kubeconfig":            {flags: []string{"--kubeconfig=" + kubeconfig}, wantHost: "https://c:6443"},
		"kubeconfig and master": {flags: []string{"--kubeconfig=" + kubeconfig, "--master=https://m:1"}, wantHost: "https://m:1"},
		"master":                {flags: []string{"--master=https://m:1"}, wantHost: "https://m:1"},
		"nothing":               {wantErr: "there is no kubeconfig"},
		"no such file":          {flags: []string{"--kubeconfig=/none"}, wantErr: "finding the API server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			o := parse(t, append(test.flags, "--kube-api-qps=7", "--kube-api-burst=8")...)
			config, err := o.Configuration(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			rest, err := o.RESTConfig(config)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want one with %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if rest.Host != test.wantHost || rest.QPS != 7 || rest.Burst != 8 || !rest.DisableCompression ||
				rest.ContentType != "application/vnd.kubernetes.protobuf" {
				t.Errorf("client configuration: %+v", rest)
			}
		})
	}
}

func TestSections(t *testing.T) {
	o := parse(t)
	want := []string{"misc", "secure serving", "authentication", "authorization", "deprecated", "leader election", "feature gate", "metrics", "logs"}
	if diff := cmp.Diff(want, o.Sections().Order); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	got := map[string][]string{}
	for name, set := range o.Sections().FlagSets {
		set.VisitAll(func(flag *pflag.Flag) { got[name] = append(got[name], flag.Name) })
	}
	wantFlags := map[string][]string{
		"misc": {"config", "master", "write-config-to"},
		"secure serving": {
			"bind-address", "cert-dir", "disable-http2-serving", "http2-max-streams-per-connection", "permit-address-sharing",
			"permit-port-sharing", "secure-port", "tls-cert-file", "tls-cipher-suites", "tls-curve-preferences", "tls-min-version",
			"tls-private-key-file", "tls-sni-cert-key",
		},
		"authentication": {
			"authentication-kubeconfig", "authentication-skip-lookup", "authentication-token-webhook-cache-ttl",
			"authentication-tolerate-lookup-failure", "client-ca-file", "requestheader-allowed-names", "requestheader-client-ca-file",
			"requestheader-extra-headers-prefix", "requestheader-group-headers", "requestheader-uid-headers", "requestheader-username-headers",
		},
		"authorization": {
			"authorization-always-allow-paths", "authorization-kubeconfig", "authorization-webhook-cache-authorized-ttl",
			"authorization-webhook-cache-unauthorized-ttl",
		},
		"deprecated": {
			"contention-profiling", "kube-api-burst", "kube-api-content-type", "kube-api-qps", "kubeconfig",
			"pod-max-in-unschedulable-pods-duration", "profiling",
		},
		"leader election": {
			"leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-resource-lock",
			"leader-elect-resource-name", "leader-elect-resource-namespace", "leader-elect-retry-period",
		},
		"feature gate": {"emulated-version", "feature-gates", "min-compatibility-version"},
		"metrics":      {"allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics", "show-hidden-metrics-for-version"},
		"logs": {
			"log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream", "log-text-info-buffer-size",
			"log-text-split-stream", "logging-format", "v", "vmodule",
		},
	}
	if diff := cmp.Diff(wantFlags, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}
