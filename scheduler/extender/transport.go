// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	restclient "k8s.io/client-go/rest"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// idleConnections is how many connections to one extender are kept open: about as many as bindings go on at a time.
const idleConnections = 64

// CheckTLS reports why the certificates of an extender cannot be read or used.
func CheckTLS(settings *configv1.Extender) error {
	_, err := newTransport(settings)
	return err
}

// newTransport returns a transport with the certificates of an extender. HTTPS that is asked for without a certificate
// authority is not verified.
func newTransport(settings *configv1.Extender) (*http.Transport, error) {
	var tls restclient.TLSClientConfig
	if given := settings.TLSConfig; given != nil {
		tls = restclient.TLSClientConfig{
			Insecure:   given.Insecure,
			ServerName: given.ServerName,
			CertFile:   given.CertFile,
			KeyFile:    given.KeyFile,
			CAFile:     given.CAFile,
			CertData:   given.CertData,
			KeyData:    given.KeyData,
			CAData:     given.CAData,
		}
	}
	if settings.EnableHTTPS && tls.CAFile == "" && len(tls.CAData) == 0 {
		tls.Insecure = true
	}
	config, err := restclient.TLSConfigFor(&restclient.Config{TLSClientConfig: tls})
	if err != nil {
		return nil, fmt.Errorf("reading its TLS configuration: %w", err)
	}
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: idleConnections}), nil
}
