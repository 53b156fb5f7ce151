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

func placed(pod *v1.Pod) *v1.Pod {
	pod.Spec.NodeName = "n"
	return pod
}

func nominated(pod *v1.Pod) *v1.Pod {
	pod.Status.NominatedNodeName = "n"
	return pod
}

func TestHintAfterPodDeleted(t *testing.T) {
	tests := []struct {
		name    string
		pod     *v1.Pod
		deleted *v1.Pod
		want    fwk.QueueingHint
	}{
		{"unscheduled pod", wanting(tcp(8080)), wanting(tcp(8080)), fwk.QueueSkip},
		{"nominated pod", wanting(tcp(8080)), nominated(wanting(tcp(8080))), fwk.Queue},
		{"no host port", wanting(tcp(8080)), placed(objects.Pod("d").Container("a").Build()), fwk.QueueSkip},
		{"unrelated port", wanting(tcp(8080)), placed(wanting(tcp(9090))), fwk.QueueSkip},
		{"unrelated protocol", wanting(tcp(8080)), placed(wanting(port("", v1.ProtocolUDP, 8080))), fwk.QueueSkip},
		{"released port", wanting(tcp(8080)), placed(wanting(tcp(8080))), fwk.Queue},
		{"one of several released", wanting(tcp(8080), tcp(8081)), placed(wanting(tcp(8081))), fwk.Queue},
		{"released on another IP", wanting(port("10.0.0.1", "", 8080)), placed(wanting(port("10.0.0.2", "", 8080))), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, &plugin{}, fwk.AssignedPod, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.deleted, nil, tt.want)
		})
	}
	t.Run("wrong, absent and unknown objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, wanting(tcp(8080)), placed(wanting(tcp(8080))))
	})
}
