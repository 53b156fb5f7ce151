// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := objects.Pod("p").
		Container("a").With(in(regular, tcp(8080), port("127.0.0.1", v1.ProtocolUDP, 53))).
		InitContainer("init").With(in(initial, tcp(9090))).
		Sidecar("sidecar").With(in(initial, tcp(8080))).Build()
	fixture.CheckSigned(t, &plugin{}, pod, fwk.SignFragment{Key: fwk.HostPortsSignerName, Value: []int32{53, 8080, 9090}})
}

func TestHintClass(t *testing.T) {
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"same ports in another order", wanting(tcp(1), tcp(2)), wanting(tcp(2), tcp(1)), true},
		{"same port twice", wanting(tcp(1), tcp(1)), wanting(tcp(1)), true},
		{"no protocol is TCP", wanting(port("", "", 1)), wanting(tcp(1)), true},
		{"no IP is 0.0.0.0", wanting(tcp(1)), wanting(port("0.0.0.0", v1.ProtocolTCP, 1)), true},
		{"ports of plain init containers don't count", wanting(tcp(1)), objects.Pod("p").
			Container("a").With(in(regular, tcp(1))).InitContainer("init").With(in(initial, tcp(2))).Build(), true},
		{"other port", wanting(tcp(1)), wanting(tcp(2)), false},
		{"other protocol", wanting(tcp(1)), wanting(port("", v1.ProtocolUDP, 1)), false},
		{"other IP", wanting(tcp(1)), wanting(port("127.0.0.1", v1.ProtocolTCP, 1)), false},
	}
	pl := &plugin{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}
