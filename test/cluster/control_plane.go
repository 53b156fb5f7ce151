// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	restclient "k8s.io/client-go/rest"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
)

// ControlPlane is an etcd and a kube-apiserver with RBAC in this process. Nothing else is there: no controllers, no
// kubelets. Clients reach it through a [Front].
type ControlPlane struct {
	etcd    *embed.Etcd
	flags   []string
	server  apiserver.TestServer
	backend atomic.Pointer[backend] // nil while the API server is down
	fronts  []*Front
}

// backend is how to reach the API server that runs now; the next one has another port and another certificate.
type backend struct {
	url       *url.URL
	transport http.RoundTripper  // sends requests as they are, with the credentials that they carry
	loopback  *restclient.Config // everything allowed, with a token of this API server
}

// StartControlPlane starts both, the API server with flags in addition to its usual ones, and stops them when the test ends.
func StartControlPlane(tb testing.TB, flags ...string) *ControlPlane {
	tb.Helper()
	plane := &ControlPlane{flags: flags}
	var err error
	if plane.etcd, err = startEtcd(tb.TempDir()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(plane.etcd.Close)
	plane.startServer(tb)
	tb.Cleanup(plane.stopServer)
	return plane
}

// Restart stops the API server, keeps it down for a while, and starts a new one on the same etcd. Watches end, requests
// that were under way are lost, and what the old server kept in memory is gone.
func (p *ControlPlane) Restart(tb testing.TB, down time.Duration) {
	tb.Helper()
	p.stopServer()
	time.Sleep(down)
	p.startServer(tb)
}

func (p *ControlPlane) startServer(tb testing.TB) {
	tb.Helper()
	storage := storagebackend.NewDefaultConfig("/registry", nil)
	storage.Transport.ServerList = []string{p.etcd.Clients[0].Addr().String()}
	flags := []string{
		"--authorization-mode=Node,RBAC",
		// Without controllers there are no default service accounts, and nothing removes taints and finalizers.
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection",
		// The limits are those of a large cluster, so that the scheduler is what is measured.
		"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000",
	}
	flags = append(flags, p.flags...)
	options := apiserver.NewDefaultTestServerOptions()
	options.DisableInvariantChecks = true
	var err error
	if p.server, err = apiserver.StartTestServer(quiet{tb}, options, flags, storage); err != nil {
		tb.Fatalf("starting the API server: %v", err)
	}
	next, err := newBackend(p.server.ClientConfig)
	if err != nil {
		p.server.TearDownFn()
		tb.Fatal(err)
	}
	p.backend.Store(next)
}

// quiet keeps the hundreds of lines that a starting API server logs out of the log of the test.
type quiet struct{ testing.TB }

// Log drops the line.
func (quiet) Log(...any) {}

// Logf drops the line.
func (quiet) Logf(string, ...any) {}

// stopServer breaks every connection, as the end of a process does, before the server is given time to end in order.
func (p *ControlPlane) stopServer() {
	if p.backend.Swap(nil) == nil {
		return
	}
	for _, front := range p.fronts {
		front.server.CloseClientConnections()
	}
	p.server.TearDownFn()
}

func newBackend(loopback *restclient.Config) (*backend, error) {
	address, _, err := restclient.DefaultServerUrlFor(loopback)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	anonymous := restclient.AnonymousClientConfig(loopback)
	anonymous.UserAgent = ""
	transport, err := restclient.TransportFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("making a transport to the API server: %w", err)
	}
	return &backend{url: address, transport: transport, loopback: loopback}, nil
}

// startEtcd starts an etcd that trades durability for speed.
func startEtcd(folder string) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = folder
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = 10, 50
	config.LogLevel = "fatal"
	client, errClient := freeURL()
	peer, errPeer := freeURL()
	if err := errors.Join(errClient, errPeer); err != nil {
		return nil, err
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case <-time.After(time.Minute):
		etcd.Close()
		return nil, errors.New("starting etcd: it is not ready after a minute")
	}
}

func freeURL() (url.URL, error) {
	port, err := freePort()
	return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}, err
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
