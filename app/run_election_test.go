// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/app"
)

// quick are flags for an election that does not take long.
func quick() []string {
	return []string{
		open, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=100ms",
	}
}

// becomesLeader waits until a process has the Lease and returns its identity.
func (r *running) becomesLeader(server *apiServer) string {
	r.t.Helper()
	host, err := os.Hostname()
	if err != nil {
		r.t.Fatal(err)
	}
	var holder string
	r.eventually("it is the leader", func() (bool, string) {
		holder = server.holder()
		return strings.HasPrefix(holder, host+"_"), "the holder is " + holder
	})
	return holder
}

func TestRunElectsALeader(t *testing.T) {
	server := newAPIServer(t)
	server.hold("another", 1)
	r := start(t, server, quick())
	if body := r.answers("/readyz?verbose", 200); !strings.HasPrefix(body, "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\n") {
		t.Errorf("readiness of a standby:\n%s", body)
	}
	identity := r.becomesLeader(server)
	if body := r.answers("/healthz?verbose", 200); body != "[+]leaderElection ok\nhealthz check passed\n" {
		t.Errorf("health of a leader:\n%s", body)
	}
	want := "LeaderElection: " + identity + " became leader"
	r.eventually("the event is written", func() (bool, string) {
		server.mu.Lock()
		defer server.mu.Unlock()
		return slices.Contains(server.events, want), strings.Join(server.events, "\n")
	})
	r.eventually("the metric says so", func() (bool, string) {
		_, body := r.get("/metrics")
		return strings.Contains(body, `leader_election_master_status{name="kube-scheduler"} 1`), "it does not"
	})
	if err := r.stop(); err != nil {
		t.Errorf("a leader that is asked to end fails: %v", err)
	}
	if holder := server.holder(); holder != "" {
		t.Errorf("the Lease is still held by %q, who ended", holder)
	}
}

func TestRunEndsAsStandby(t *testing.T) {
	server := newAPIServer(t)
	server.hold("another", 3600)
	r := start(t, server, quick())
	r.answers("/readyz", 200)
	if err := r.stop(); err != nil {
		t.Errorf("a standby that is asked to end fails: %v", err)
	}
	if holder := server.holder(); holder != "another" {
		t.Errorf("a standby that ends gives the Lease to %q", holder)
	}
}

func TestRunEndsWhenItsLeaseIsLost(t *testing.T) {
	server := newAPIServer(t)
	r := start(t, server, quick())
	r.becomesLeader(server)
	server.change(func() { server.leaseBroken = true })
	if err := r.wait(); app.CodeOf(err) != app.ExitCheckFailed {
		t.Errorf("exit code %d (%v), want %d", app.CodeOf(err), err, app.ExitCheckFailed)
	}
}

func TestRunSchedulesOnlyAsTheLeader(t *testing.T) {
	server := newAPIServer(t)
	server.hold("another", 3600)
	r := start(t, server, quick())
	r.answers("/readyz", 200)
	if code, body := r.get("/metrics/resources"); code != 200 || body != "" {
		t.Errorf("a standby answers /metrics/resources with %d %q", code, body)
	}
	if holder := server.holder(); holder != "another" {
		t.Errorf("the Lease is held by %q", holder)
	}
}

func TestRunDelaysItsCache(t *testing.T) {
	server := newAPIServer(t)
	server.hold("another", 3600)
	config := write(t, t.TempDir(), "scheduler.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+
		"delayCacheUntilActive: true\nclientConnection: {contentType: application/json}\n")
	r := start(t, server, append(quick(), "--config="+config))
	r.answers("/readyz", 200)
	if server.has(&server.asked, "nodes") {
		t.Error("a standby watches nodes though it should not yet")
	}
	server.hold("", 1)
	r.becomesLeader(server)
	r.eventually("the cluster is watched", func() (bool, string) { return server.has(&server.asked, "nodes"), "it is not" })
	r.answers("/readyz", 200)
}

func TestRunDoesNotSeekTheLeaseBeforeItKnowsTheCluster(t *testing.T) {
	server := newAPIServer(t)
	server.forbidden = []string{"nodes"}
	r := start(t, server, quick())
	r.eventually("it waits", func() (bool, string) {
		_, body := r.get("/readyz/api-access")
		return strings.Contains(body, "nodes"), body
	})
	if holder := server.holder(); holder != "" {
		t.Errorf("%q has the Lease and no idea of the cluster", holder)
	}
	server.change(func() { server.forbidden = nil })
	r.becomesLeader(server)
}
