// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// credentials are a certificate and its key, as PEM.
type credentials struct{ certificate, key []byte }

// newCredentials makes a certificate that signs itself.
func newCredentials(t *testing.T) credentials {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "scheduler"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return credentials{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		key:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
	}
}

// newSecureService is newService with HTTPS; trusted are the clients that it talks to, nil for all.
func newSecureService(t *testing.T, trusted []byte) (s *service, authority []byte) {
	t.Helper()
	s = &service{}
	s.Server = httptest.NewUnstartedServer(s.handler(200, "{}"))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about clients that don't trust it
	if trusted != nil {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(trusted)
		s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestTLS(t *testing.T) {
	client := newCredentials(t)
	file := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open, authority := newSecureService(t, nil)
	closed, closedAuthority := newSecureService(t, client.certificate)
	tests := []struct {
		name   string
		server *service
		secure bool // enableHTTPS
		config *configv1.ExtenderTLSConfig
		err    string
	}{
		{name: "enabled, without an authority: not verified", server: open, secure: true},
		{name: "enabled, with an empty configuration: not verified", server: open, secure: true, config: &configv1.ExtenderTLSConfig{}},
		{name: "not enabled: verified", server: open, err: "certificate"},
		{name: "insecure", server: open, config: &configv1.ExtenderTLSConfig{Insecure: true}},
		{name: "authority", server: open, secure: true, config: &configv1.ExtenderTLSConfig{CAData: authority}},
		{name: "authority in a file", server: open, secure: true, config: &configv1.ExtenderTLSConfig{CAFile: file("ca.crt", authority)}},
		{name: "authority, not enabled", server: open, config: &configv1.ExtenderTLSConfig{CAData: authority}},
		{name: "another authority", server: open, secure: true, config: &configv1.ExtenderTLSConfig{CAData: client.certificate}, err: "certificate"},
		{name: "name of the server", server: open, secure: true, config: &configv1.ExtenderTLSConfig{CAData: authority, ServerName: "example.com"}},
		{name: "another name", server: open, secure: true, config: &configv1.ExtenderTLSConfig{CAData: authority, ServerName: "other.net"}, err: "other.net"},
		{name: "no client certificate", server: closed, secure: true, config: &configv1.ExtenderTLSConfig{CAData: closedAuthority}, err: "certificate required"},
		{name: "client certificate", server: closed, secure: true, config: &configv1.ExtenderTLSConfig{
			CAData: closedAuthority, CertData: client.certificate, KeyData: client.key,
		}},
		{name: "client certificate in files", server: closed, secure: true, config: &configv1.ExtenderTLSConfig{
			CAData: closedAuthority, CertFile: file("tls.crt", client.certificate), KeyFile: file("tls.key", client.key),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newExtender(t, tt.server.URL, func(settings *configv1.Extender) {
				settings.EnableHTTPS, settings.TLSConfig = tt.secure, tt.config
			})
			err := e.Bind(&v1.Binding{})
			if tt.err == "" && err != nil {
				t.Error(err)
			}
			if tt.err != "" {
				wantError(t, err, tt.server.URL, tt.err)
			}
		})
	}
}
