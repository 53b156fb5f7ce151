// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/app/internal/access"
	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/app/internal/serving"
)

// drained is how long the requests that are being answered may take once the server is to stop.
const drained = 5 * time.Second

// port is where a process serves HTTPS; the one of a process that serves nothing is nil.
type port struct {
	secure         *server.SecureServingInfo
	authentication server.AuthenticationInfo
	authorization  server.AuthorizationInfo
}

// listen opens the port, so that a port that is taken fails at once, and prepares the checks of who may ask what. The
// log names the permissions that are missing for these checks; a scheduler is ready without them.
func listen(o *options.Options, logger klog.Logger) (*port, error) {
	if err := o.EnsureCertificate(); err != nil {
		return nil, err
	}
	p := &port{}
	var loopback *restclient.Config
	if err := o.SecureServing.ApplyTo(&p.secure, &loopback); err != nil {
		return nil, fmt.Errorf("opening the secure port: %w", err)
	}
	if p.secure == nil {
		return nil, nil
	}
	checking := access.NewRecord(access.Options{Logger: logger})
	o.Authentication.WithCustomRoundTripper(checking.Wrap)
	o.Authorization.WithCustomRoundTripper(checking.Wrap)
	if err := o.Authentication.ApplyTo(&p.authentication, p.secure, nil); err != nil {
		return nil, fmt.Errorf("preparing authentication: %w", err)
	}
	if err := o.Authorization.ApplyTo(&p.authorization); err != nil {
		return nil, fmt.Errorf("preparing authorization: %w", err)
	}
	return p, nil
}

// serve answers requests until stop is called, which returns when the last one is answered.
func (p *port) serve(handler http.Handler) (stop func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	secured := serving.Secure(handler, p.authentication.Authenticator, p.authorization.Authorizer)
	ended := make(chan struct{})
	stopped, closed, err := p.secure.Serve(secured, drained, ended)
	if err != nil {
		return nil, fmt.Errorf("serving HTTPS: %w", err)
	}
	return func() {
		close(ended)
		<-closed
		<-stopped
	}, nil
}

// close gives the port up if serve was never called.
func (p *port) close() error {
	if p == nil {
		return nil
	}
	return p.secure.Listener.Close()
}
