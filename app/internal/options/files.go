// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

// CheckFiles checks that the certificates and kubeconfigs that flags name can be read, before anything is done with
// them. The error has everything that is wrong.
func (o *Options) CheckFiles() error {
	var errs []error
	check := func(flag, file string, read func(string) error) {
		if file == "" {
			return
		}
		if err := read(file); err != nil {
			errs = append(errs, fmt.Errorf("--%s %s: %w", flag, file, err))
		}
	}
	if pair := o.SecureServing.ServerCert.CertKey; pair.CertFile != "" || pair.KeyFile != "" {
		if _, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-cert-file %s, --tls-private-key-file %s: %w", pair.CertFile, pair.KeyFile, err))
		}
	}
	for _, named := range o.SecureServing.SNICertKeys {
		if _, err := tls.LoadX509KeyPair(named.CertFile, named.KeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-sni-cert-key %s,%s: %w", named.CertFile, named.KeyFile, err))
		}
	}
	check("client-ca-file", o.Authentication.ClientCert.ClientCA, readAuthority)
	check("requestheader-client-ca-file", o.Authentication.RequestHeader.ClientCAFile, readAuthority)
	check("authentication-kubeconfig", o.Authentication.RemoteKubeConfigFile, readKubeconfig)
	check("authorization-kubeconfig", o.Authorization.RemoteKubeConfigFile, readKubeconfig)
	return errors.Join(errs...)
}

func readAuthority(file string) error {
	_, err := cert.CertsFromFile(file)
	return err
}

func readKubeconfig(file string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	_, err := clientcmd.LoadFromFile(file)
	return err
}
