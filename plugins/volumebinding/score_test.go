// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestScore scores a node in zone a. The comments have the sum: what is requested of what there is, in percent, cut to
// an integer, and what the shape makes of it.
func TestScore(t *testing.T) {
	tells := csiDriver(ptr.To(true))
	unknown := capacity("x", waiting, "a", "")
	unknown.MaximumVolumeSize = ptr.To(resource.MustParse("10Gi"))
	rising := []configv1.UtilizationShapePoint{{Utilization: 0, Score: 0}, {Utilization: 50, Score: 4}, {Utilization: 100, Score: 10}}
	tests := []struct {
		name    string
		shape   []configv1.UtilizationShapePoint // the default one, from 100 when empty to 0 when full, if there is none
		pod     *v1.Pod
		objects []apiruntime.Object
		want    int64
	}{
		{"no PVC", nil, objects.Pod("p").Build(), nil, 0},
		{"all bound", nil, claiming("c"), []apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build(), volume("v", "", "1Gi")}, 0},
		{"node that does not fit", nil, claiming("c"), []apiruntime.Object{pending("c", static, "1Gi")}, 0},

		{"static: empty", nil, claiming("c"), []apiruntime.Object{
			pending("c", static, "0"), volume("v", static, "10Gi"),
		}, 100}, // 0/10 = 0%
		{"static: half full", nil, claiming("c"), []apiruntime.Object{
			pending("c", static, "5Gi"), volume("v", static, "10Gi"),
		}, 50}, // 5/10 = 50%
		{"static: full", nil, claiming("c"), []apiruntime.Object{
			pending("c", static, "10Gi"), volume("v", static, "10Gi"),
		}, 0},
		{"static: several PVCs of a class are added up", nil, claiming("c", "d"), []apiruntime.Object{
			pending("c", static, "1Gi"), volume("v", static, "2Gi"), pending("d", static, "3Gi"), volume("w", static, "4Gi"),
		}, 34}, // 4/6 = 66%
		{"static: classes are averaged and rounded", nil, claiming("c", "d"), []apiruntime.Object{
			pending("c", static, "5Gi"), volume("v", static, "10Gi"), // 5/10 = 50%: 50
			pending("d", waiting, "1Gi"), volume("w", waiting, "4Gi"), // 1/4 = 25%: 75
		}, 63}, // 62.5

		{"dynamic: a quarter full", nil, claiming("c"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"), capacity("x", waiting, "a", "20Gi"),
		}, 75},
		{"dynamic: several PVCs of a class share the capacity", nil, claiming("c", "d"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"), pending("d", waiting, "5Gi"), capacity("x", waiting, "a", "20Gi"),
		}, 50}, // 10/20
		{"dynamic: more than there is counts as full", nil, claiming("c", "d"), []apiruntime.Object{
			tells, pending("c", waiting, "15Gi"), pending("d", waiting, "15Gi"), capacity("x", waiting, "a", "20Gi"),
		}, 0}, // 30/20
		{"dynamic: more than there is counts as full, rising shape", rising, claiming("c", "d"), []apiruntime.Object{
			tells, pending("c", waiting, "15Gi"), pending("d", waiting, "15Gi"), capacity("x", waiting, "a", "20Gi"),
		}, 100},
		{"dynamic: capacity not known counts as full", rising, claiming("c"), []apiruntime.Object{
			tells, pending("c", waiting, "1Gi"), unknown,
		}, 100},
		{"dynamic: driver does not tell", nil, claiming("c"), []apiruntime.Object{pending("c", waiting, "5Gi")}, 0},
		{"dynamic: capacity of the first object that is large enough", nil, claiming("c"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"),
			capacity("z", waiting, "a", "5Gi"), capacity("y", waiting, "a", "10Gi"), capacity("x", waiting, "a", "4Gi"),
		}, 50}, // 5/10
		{"static and dynamic: only static counts", nil, claiming("c", "d"), []apiruntime.Object{
			tells, pending("c", static, "9Gi"), volume("v", static, "10Gi"), // 90%
			pending("d", waiting, "1Gi"), capacity("x", waiting, "a", "100Gi"),
		}, 10},

		{"shape: on a point", rising, claiming("c"), []apiruntime.Object{pending("c", static, "5Gi"), volume("v", static, "10Gi")}, 40},
		{"shape: between points", rising, claiming("c"), []apiruntime.Object{pending("c", static, "3Gi"), volume("v", static, "4Gi")}, 70},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var args apiruntime.Object
			if tt.shape != nil {
				args = &configv1.VolumeBindingArgs{BindTimeoutSeconds: ptr.To[int64](1), Shape: tt.shape}
			}
			pl := buildPlugin(t, args, &fixture.Handle{Informers: fixture.Informers(t, append(classes(), tt.objects...)...)})
			node, state := nodeIn("n", "a"), newState()
			if _, status := pl.PreFilter(t.Context(), state, tt.pod, nil); status.IsSuccess() {
				pl.Filter(t.Context(), state, tt.pod, fixture.NodeInfo(node))
			}
			fixture.CheckStatus(t, pl.PreScore(t.Context(), state, tt.pod, nil), nil)
			got, status := pl.Score(t.Context(), state, tt.pod, fixture.NodeInfo(node))
			fixture.CheckStatus(t, status, nil)
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			if pl.ScoreExtensions() != nil {
				t.Error("scores are normalised")
			}
		})
	}
}

// TestScoresDiffer compares two nodes with different amounts of storage.
func TestScoresDiffer(t *testing.T) {
	pl := newPlugin(t, csiDriver(ptr.To(true)), pending("c", waiting, "5Gi"),
		capacity("x", waiting, "a", "10Gi"), capacity("y", waiting, "b", "50Gi"))
	pod, a, b := claiming("c"), nodeIn("a", "a"), nodeIn("b", "b")
	state, _ := filter(t, pl, pod, a, b)
	for node, want := range map[*v1.Node]int64{a: 50, b: 90} {
		if got, _ := pl.Score(t.Context(), state, pod, fixture.NodeInfo(node)); got != want {
			t.Errorf("node %s: got %d, want %d", node.Name, got, want)
		}
	}
}
