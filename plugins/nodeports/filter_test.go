// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func port(ip string, protocol v1.Protocol, number int32) v1.ContainerPort {
	return v1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: number, ContainerPort: 80}
}

func tcp(number int32) v1.ContainerPort { return port("", v1.ProtocolTCP, number) }

// in gives the last container (or init container) of a pod host ports.
func in(containers func(*v1.Pod) []v1.Container, ports ...v1.ContainerPort) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		list := containers(pod)
		list[len(list)-1].Ports = ports
	}
}

func regular(pod *v1.Pod) []v1.Container { return pod.Spec.Containers }

func initial(pod *v1.Pod) []v1.Container { return pod.Spec.InitContainers }

// wanting returns a pod with one container with the given host ports.
func wanting(ports ...v1.ContainerPort) *v1.Pod {
	return objects.Pod("wanting").Container("a").With(in(regular, ports...)).Build()
}

func TestPreFilterAndFilter(t *testing.T) {
	inUse := fwk.NewStatus(fwk.Unschedulable, "node(s) didn't have free ports for the requested pod ports")
	skip := fwk.NewStatus(fwk.Skip)
	withSidecar := objects.Pod("sidecar").Container("a").Sidecar("sidecar").With(in(initial, tcp(8001))).Build()
	withInit := objects.Pod("init").Container("a").InitContainer("init").With(in(initial, tcp(8001))).Build()

	tests := []struct {
		name          string
		pod           *v1.Pod
		onNode        []*v1.Pod
		wantPreFilter *fwk.Status
		wantFilter    *fwk.Status
	}{
		{name: "skip when no ports", pod: objects.Pod("p").Container("a").Build(), wantPreFilter: skip},
		{name: "skip when only container ports", pod: wanting(v1.ContainerPort{ContainerPort: 80}), wantPreFilter: skip},
		{name: "nothing on the node", pod: wanting(tcp(8080))},
		{name: "another port", pod: wanting(tcp(8080)), onNode: []*v1.Pod{wanting(tcp(9090))}},
		{name: "same port", pod: wanting(tcp(8080)), onNode: []*v1.Pod{wanting(tcp(8080))}, wantFilter: inUse},
		{
			name: "same port, another protocol",
			pod:  wanting(tcp(8080)), onNode: []*v1.Pod{wanting(port("", v1.ProtocolUDP, 8080))},
		},
		{
			name: "no protocol is TCP",
			pod:  wanting(port("", "", 8080)), onNode: []*v1.Pod{wanting(tcp(8080))}, wantFilter: inUse,
		},
		{
			name: "same port, another host IP",
			pod:  wanting(port("127.0.0.1", v1.ProtocolTCP, 8080)), onNode: []*v1.Pod{wanting(port("127.0.0.2", v1.ProtocolTCP, 8080))},
		},
		{
			name: "same port and host IP",
			pod:  wanting(port("127.0.0.1", v1.ProtocolTCP, 8080)), onNode: []*v1.Pod{wanting(port("127.0.0.1", v1.ProtocolTCP, 8080))},
			wantFilter: inUse,
		},
		{
			name: "0.0.0.0 wanted, an IP in use",
			pod:  wanting(port("0.0.0.0", v1.ProtocolTCP, 8080)), onNode: []*v1.Pod{wanting(port("127.0.0.1", v1.ProtocolTCP, 8080))},
			wantFilter: inUse,
		},
		{
			name: "an IP wanted, 0.0.0.0 in use",
			pod:  wanting(port("10.0.0.1", v1.ProtocolTCP, 8080)), onNode: []*v1.Pod{wanting(tcp(8080))}, wantFilter: inUse,
		},
		{
			name: "0.0.0.0 wanted, an IP in use with another protocol",
			pod:  wanting(port("0.0.0.0", v1.ProtocolTCP, 8080)), onNode: []*v1.Pod{wanting(port("127.0.0.1", v1.ProtocolUDP, 8080))},
		},
		{
			name: "second of two ports",
			pod:  wanting(tcp(8080), tcp(8081)), onNode: []*v1.Pod{wanting(tcp(8081))}, wantFilter: inUse,
		},
		{name: "the pod's own ports don't conflict", pod: wanting(tcp(8080), tcp(8080))},
		{name: "sidecar wants a port", pod: withSidecar, onNode: []*v1.Pod{wanting(tcp(8001))}, wantFilter: inUse},
		{name: "sidecar has the port", pod: wanting(tcp(8001)), onNode: []*v1.Pod{withSidecar}, wantFilter: inUse},
		{name: "plain init container's port is not wanted", pod: withInit, wantPreFilter: skip},
		{name: "plain init container's port is not in use", pod: wanting(tcp(8001)), onNode: []*v1.Pod{withInit}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := &plugin{}, framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, tt.wantPreFilter)
			if result != nil {
				t.Errorf("PreFilter narrowed the nodes to %v", result.NodeNames)
			}
			if !status.IsSuccess() {
				return
			}
			nodeInfo := fixture.NodeInfo(objects.Node("n").Build(), tt.onNode...)
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, nodeInfo), tt.wantFilter)
			fixture.CheckStatus(t, pl.Filter(t.Context(), state.Clone(), tt.pod, nodeInfo), tt.wantFilter)
		})
	}
}

func TestFilterWithoutPreFilter(t *testing.T) {
	status := (&plugin{}).Filter(t.Context(), framework.NewCycleState(), wanting(tcp(8080)), fixture.NodeInfo(objects.Node("n").Build()))
	if !status.IsError() {
		t.Errorf("got status %v, want Error", status.Code())
	}
}
