// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// compareVolumes compares what becomes of the volumes of a pod that is given a node: what is reserved, and what is written
// before it is bound. Nothing provisions volumes, so that pods that need one run into the timeout.
func (m *machine) compareVolumes(r round) {
	synctest.Test(r.T, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		g := newGenerator(r.seed)
		c := trial{cluster: g.easyCluster(), profile: all([]configv1.Plugin{{Name: "VolumeBinding"}}), pending: []*v1.Pod{g.easyPod("one"), g.easyPod("two")}}
		c.cluster = c.withEphemeralClaims(g, c.pending...)
		c.args["VolumeBinding"].(*configv1.VolumeBindingArgs).BindTimeoutSeconds = ptr.To[int64](3)
		differ := func(c trial) (string, verdicts) {
			their, our := volumeVerdicts(t, ctx, c, theirs), volumeVerdicts(t, ctx, c, ours)
			return difference(their, our), their
		}
		diff, said := differ(c)
		if diff != "" {
			c = shrink(c, smallerTrials, func(c trial) bool { diff, _ := differ(c); return diff != "" })
			diff, _ = differ(c)
			t.Fatalf("SEED=%d N=1: volumes (-kube-scheduler +rouse):\n%s\n%s", r.seed, diff, caseText(c))
		}
		m.add(said.count())
	})
}

func volumeVerdicts(t *testing.T, ctx context.Context, c trial, build builder) verdicts {
	t.Helper()
	s, err := build(ctx, c.cluster, c.profile)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.nodes()
	if err != nil {
		t.Fatal(err)
	}
	v := verdicts{}
	for _, pod := range c.pending {
		state := s.newState()
		if _, status, _ := s.framework.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
			continue
		}
		node := ""
		for _, info := range nodes {
			if s.framework.RunFilterPlugins(ctx, state, pod, info).IsSuccess() && node == "" {
				node = info.Node().Name
			}
		}
		if node == "" {
			continue
		}
		say := func(what string, status *fwk.Status) {
			v[subject{kind: kind{what, "VolumeBinding"}, pod: pod.Name, node: node}] = fmt.Sprint(status.Code(), requests(s.client.Actions()))
		}
		say("Reserve", s.framework.RunReservePluginsReserve(ctx, state, pod, node))
		say("PreBindPreFlight", s.framework.RunPreBindPreFlights(ctx, state, pod, node))
		say("PreBind", s.framework.RunPreBindPlugins(ctx, state, pod, node))
		s.framework.RunReservePluginsUnreserve(ctx, state, pod, node)
	}
	return v
}
