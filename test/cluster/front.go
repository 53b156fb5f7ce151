// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync/atomic"
	"testing"

	restclient "k8s.io/client-go/rest"
)

// Front is a reverse proxy before the API server of a [ControlPlane]: it keeps its address while the API server is
// restarted, can spoil requests, and keeps a record of them. Credentials pass through.
type Front struct {
	plane  *ControlPlane
	server *httptest.Server
	faults *Faults // nil: none
	record *Record

	loseBindings atomic.Bool
}

type connectionKey struct{}

// StartFront starts a proxy that injects the faults, which may be nil. It is stopped when the test ends. Not to be called
// while the API server is restarted.
func StartFront(tb testing.TB, plane *ControlPlane, faults *Faults) *Front {
	tb.Helper()
	front := &Front{plane: plane, faults: faults, record: newRecord()}
	front.server = httptest.NewUnstartedServer(front)
	front.server.EnableHTTP2 = true
	front.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.server.Config.ConnContext = func(ctx context.Context, connection net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, connection)
	}
	front.server.StartTLS()
	plane.fronts = append(plane.fronts, front)
	tb.Cleanup(func() {
		front.server.CloseClientConnections()
		front.server.Close()
	})
	return front
}

// LoseBindings has the answers to bindings that succeed lost from now on.
func (f *Front) LoseBindings() { f.loseBindings.Store(true) }

// Record returns what passed through.
func (f *Front) Record() *Record { return f.record }

// Config returns how to reach the API server through the proxy with a bearer token.
func (f *Front) Config(token string) *restclient.Config {
	return &restclient.Config{
		Host:            f.server.URL,
		BearerToken:     token,
		TLSClientConfig: restclient.TLSClientConfig{CAData: f.authority()},
		QPS:             -1,
	}
}

// authority is the certificate of the proxy, which signed itself.
func (f *Front) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
}

// ServeHTTP passes the request on, unless it is chosen to fail.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	attributes := f.record.attributes(r)
	if attributes.Subresource == "binding" && f.loseBindings.Load() {
		f.loseSuccess(w, r, attributes)
		return
	}
	if f.faults != nil {
		var done bool
		if r, done = f.faults.spoil(f, w, r, attributes); done {
			return
		}
	}
	f.pass(w, r, attributes)
}

func (f *Front) loseSuccess(w http.ResponseWriter, r *http.Request, attributes *attributes) {
	answer := httptest.NewRecorder()
	f.pass(answer, r, attributes)
	if answer.Code < http.StatusMultipleChoices {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// pass sends the request to the API server that runs now. Whatever goes wrong on the way looks like a connection that
// broke, as it would without a proxy. Once begun, a request is seen through even if the client gives up, so that the
// record has its answer; watches are not.
func (f *Front) pass(w http.ResponseWriter, r *http.Request, attributes *attributes) {
	backend := f.plane.backend.Load()
	if backend == nil {
		reset(r)
	}
	if attributes.Verb != "watch" {
		// A context that can't end at all would have the proxy look at the connection instead.
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		r = r.WithContext(ctx)
	}
	proxy := httputil.ReverseProxy{
		Rewrite:       func(out *httputil.ProxyRequest) { out.SetURL(backend.url) },
		Transport:     backend.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { reset(r) },
		ModifyResponse: func(response *http.Response) error {
			f.record.answered(attributes, response.StatusCode)
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// reset breaks the connection of a request, and with it every other request and watch on the same connection.
func reset(r *http.Request) {
	connection, _ := r.Context().Value(connectionKey{}).(net.Conn)
	if secure, ok := connection.(*tls.Conn); ok {
		connection = secure.NetConn()
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	if connection != nil {
		_ = connection.Close()
	}
	panic(http.ErrAbortHandler)
}
