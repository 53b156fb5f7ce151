// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeports

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// wantedPorts are the host ports of the pod being scheduled.
type wantedPorts struct{ ports []v1.ContainerPort }

// Clone implements fwk.StateData; the ports never change and are shared.
func (w *wantedPorts) Clone() fwk.StateData { return w }

// PreFilter implements fwk.PreFilterPlugin.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	ports := framework.HostPorts(pod)
	if len(ports) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, &wantedPorts{ports: ports})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: adding a pod to a node, or removing one, already
// changes the ports in use that Filter looks at.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. Two ports of the pod itself never conflict with each other.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	wanted, err := statedata.Read[*wantedPorts](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if anyInUse(wanted.ports, framework.View(nodeInfo).UsedPorts()) {
		return fwk.NewStatus(fwk.Unschedulable, reasonPortsInUse)
	}
	return nil
}

func anyInUse(wanted []v1.ContainerPort, used fwk.HostPortInfo) bool {
	for i := range wanted {
		if used.CheckConflict(wanted[i].HostIP, string(wanted[i].Protocol), wanted[i].HostPort) {
			return true
		}
	}
	return false
}
