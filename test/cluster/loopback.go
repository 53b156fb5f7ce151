// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import restclient "k8s.io/client-go/rest"

// Loopback returns how to reach the API server that runs now, directly and with every right. It must be running.
func (p *ControlPlane) Loopback() *restclient.Config {
	return restclient.CopyConfig(p.backend.Load().loopback)
}
