// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// newPlugin builds the plugin; nil arguments mean all defaults.
func newPlugin(tb testing.TB, args *configv1.NodeResourcesFitArgs, dra fwk.SharedDRAManager) *plugin {
	tb.Helper()
	var object apiruntime.Object
	if args != nil {
		object = args
	}
	built, err := New(tb.Context(), object, &fixture.Handle{DRA: dra})
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

// strategyArgs returns arguments with a scoring strategy over resources of equal weight.
func strategyArgs(kind configv1.ScoringStrategyType, resources ...string) *configv1.NodeResourcesFitArgs {
	scoring := &configv1.ScoringStrategy{Type: kind}
	for _, name := range resources {
		scoring.Resources = append(scoring.Resources, configv1.ResourceSpec{Name: name, Weight: 1})
	}
	return &configv1.NodeResourcesFitArgs{ScoringStrategy: scoring}
}

// ratio returns arguments of the strategy RequestedToCapacityRatio; the shape is pairs of a utilization and a score.
func ratio(shape []int32, resources ...string) *configv1.NodeResourcesFitArgs {
	args := strategyArgs(configv1.RequestedToCapacityRatio, resources...)
	param := &configv1.RequestedToCapacityRatioParam{}
	for i := 0; i < len(shape); i += 2 {
		param.Shape = append(param.Shape, configv1.UtilizationShapePoint{Utilization: shape[i], Score: shape[i+1]})
	}
	args.ScoringStrategy.RequestedToCapacityRatio = param
	return args
}

// weighted sets the weights of the resources, in their order.
func weighted(args *configv1.NodeResourcesFitArgs, weights ...int64) *configv1.NodeResourcesFitArgs {
	for i, weight := range weights {
		args.ScoringStrategy.Resources[i].Weight = weight
	}
	return args
}

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		args    apiruntime.Object
		wantErr string
	}{
		{"no args", nil, ""},
		{"least allocated", strategyArgs(configv1.LeastAllocated, "cpu"), ""},
		{"ratio", ratio([]int32{0, 0, 100, 10}, "cpu"), ""},
		{"wrong type", &configv1.NodeAffinityArgs{}, "want args to be of type NodeResourcesFitArgs, got *v1.NodeAffinityArgs"},
		{"raw args", &apiruntime.Unknown{}, "want args to be of type NodeResourcesFitArgs, got *runtime.Unknown"},
		{"no strategy", &configv1.NodeResourcesFitArgs{}, "scoringStrategy"},
		{"unknown strategy", strategyArgs("Random", "cpu"), "scoringStrategy.type"},
		{"zero weight", weighted(strategyArgs(configv1.LeastAllocated, "cpu"), 0), "weight"},
		{"negative weight", weighted(strategyArgs(configv1.LeastAllocated, "cpu"), -1), "weight"},
		{"huge weight", weighted(strategyArgs(configv1.LeastAllocated, "cpu"), 101), "weight"},
		{"ratio without shape", strategyArgs(configv1.RequestedToCapacityRatio, "cpu"), "requestedToCapacityRatio"},
		{"group with a slash", &configv1.NodeResourcesFitArgs{
			IgnoredResourceGroups: []string{"example.com/foo"},
			ScoringStrategy:       strategyArgs(configv1.LeastAllocated, "cpu").ScoringStrategy,
		}, "ignoredResourceGroups[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(t.Context(), tt.args, nil)
			if tt.wantErr == "" {
				if err != nil {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("got error %v, want one with %q", err, tt.wantErr)
			}
		})
	}
}
