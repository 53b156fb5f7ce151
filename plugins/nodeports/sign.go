// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// SignPod implements fwk.SignPlugin. The official signature of host ports is their numbers alone; two pods that sign
// alike may still differ in host IP and protocol.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	return []fwk.SignFragment{{Key: fwk.HostPortsSignerName, Value: fwk.HostPortsSigner(pod)}}, nil
}

// HintClass implements framework.HintClassPlugin: pods are alike if they want the same host IPs, protocols and ports.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	wanted := framework.HostPorts(pod)
	names := make([]string, len(wanted))
	for i, port := range wanted {
		ip := cmp.Or(port.HostIP, fwk.DefaultBindAllHostIP)
		names[i] = fmt.Sprintf("%s %s %d", ip, cmp.Or(port.Protocol, v1.ProtocolTCP), port.HostPort)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ","), true
}
