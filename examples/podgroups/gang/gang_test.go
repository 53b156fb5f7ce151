// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package gang_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"

	"example.com/podgroups/api/v1alpha1"
	"example.com/podgroups/gang"
)

// options are a cluster with a node, PodGroups and pods.
func options(pods []*v1.Pod, groups ...apiruntime.Object) plugintest.Options {
	return plugintest.Options{
		Scheme:  v1alpha1.NewScheme(),
		Nodes:   []*v1.Node{objects.Node("n1").Capacity("cpu", "4").Build()},
		Pods:    pods,
		Objects: groups,
	}
}

func group(name string, minMember int) *v1alpha1.PodGroup {
	return &v1alpha1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1alpha1.PodGroupSpec{MinMember: minMember},
	}
}

func member(name, group string) objects.PodBuilder {
	return objects.Pod(name).Label(gang.Label, group).Requests("cpu", "1")
}

func TestPreFilter(t *testing.T) {
	f := plugintest.NewFramework(t, gang.Name, gang.New, options([]*v1.Pod{member("a-1", "a").Build()}, group("a", 2), group("b", 1)))
	tests := []struct {
		name string
		pod  *v1.Pod
		want string
	}{
		{"too few pods", member("a-1", "a").Build(), "the gang has 1 of 2 pods"},
		{"in no gang", objects.Pod("alone").Build(), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := f.Filter(test.pod, "n1").Message(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestGang has a PodGroup in a whole cluster: its pods are bound together, and its status says so.
func TestGang(t *testing.T) {
	cluster := plugintest.NewCluster(t, gang.Name, gang.New, options([]*v1.Pod{member("a-1", "a").Build(), member("a-2", "a").Build()}))
	cluster.Settle()
	if got := cluster.Pod("a-1"); got.Pool != simulate.PoolGated {
		t.Errorf("without a PodGroup, a-1 is %s, want it to be gated", got.Pool)
	}
	cluster.Create(group("a", 2))
	cluster.Settle()
	cluster.ExpectBound("a-1", "n1")
	cluster.ExpectBound("a-2", "n1")

	reader, err := client.New(cluster.KubeConfig(), client.Options{Scheme: v1alpha1.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	var found v1alpha1.PodGroup
	if err := reader.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &found); err != nil {
		t.Fatal(err)
	}
	if found.Status.Phase != "Scheduled" {
		t.Errorf("the phase of the PodGroup is %q, want Scheduled", found.Status.Phase)
	}
}

// TestTimeout has a gang with room for one pod of two. It loses its place after the time that the arguments say.
func TestTimeout(t *testing.T) {
	world := options([]*v1.Pod{member("a-1", "a").Requests("cpu", "3").Build(), member("a-2", "a").Requests("cpu", "3").Build()}, group("a", 2))
	world.Args = &v1alpha1.GangArgs{PermitTimeout: metav1.Duration{Duration: 5 * time.Second}}
	cluster := plugintest.NewCluster(t, gang.Name, gang.New, world)
	cluster.Advance(6 * time.Second)
	var timedOut bool
	for _, entry := range cluster.Trace() {
		if strings.Contains(entry.Message, "rejected due to timeout") {
			timedOut = true
		}
	}
	if !timedOut || cluster.Pod("a-1").Node != "" || cluster.Pod("a-2").Node != "" {
		t.Errorf("timed out: %t, a-1: %+v, a-2: %+v", timedOut, cluster.Pod("a-1"), cluster.Pod("a-2"))
	}
}

func TestWakeUps(t *testing.T) {
	plugintest.CheckRequeue(t, gang.Name, gang.New,
		options([]*v1.Pod{member("a-1", "a").Build(), member("b-1", "b").Build(), objects.Pod("alone").Build()}, group("a", 2)),
		plugintest.Updated(group("a", 2), group("a", 1)),
		plugintest.Updated(group("a", 2), group("a", 3)),
		plugintest.Added(group("b", 1)),
		plugintest.Updated(member("a-1", "a").Build(), objects.Pod("a-1").Build()),
	)
}

func TestArguments(t *testing.T) {
	_, err := gang.New(t.Context(), &v1alpha1.GangArgs{PermitTimeout: metav1.Duration{Duration: -time.Second}}, nil)
	if err == nil || !strings.Contains(err.Error(), "permitTimeout: Invalid value") {
		t.Errorf("got %v, want an error that names permitTimeout", err)
	}
	if _, err := gang.New(t.Context(), &apiruntime.Unknown{}, nil); err == nil || !strings.Contains(err.Error(), "NewSchedulerCommandWithScheme") {
		t.Errorf("got %v, want an error that says what is missing", err)
	}
}
