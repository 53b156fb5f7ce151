// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginargs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

func TestOf(t *testing.T) {
	given := &configv1.NodeResourcesBalancedAllocationArgs{Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: 1}}}
	got, err := pluginargs.Of[configv1.NodeResourcesBalancedAllocationArgs]("NodeResourcesBalancedAllocation", given)
	if err != nil || got != given {
		t.Errorf("given arguments: got %v, error %v, want them back", got, err)
	}

	got, err = pluginargs.Of[configv1.NodeResourcesBalancedAllocationArgs]("NodeResourcesBalancedAllocation", nil)
	if err != nil {
		t.Fatalf("no arguments: %v", err)
	}
	want := []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	if diff := cmp.Diff(want, got.Resources); diff != "" {
		t.Errorf("no arguments: defaults differ (-want +got):\n%s", diff)
	}
}

func TestOfWrongType(t *testing.T) {
	for name, args := range map[string]apiruntime.Object{
		"raw":            &apiruntime.Unknown{},
		"another plugin": &configv1.NodeAffinityArgs{},
		"typed nil":      (*configv1.NodeResourcesFitArgs)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := pluginargs.Of[configv1.NodeResourcesFitArgs]("NodeResourcesFit", args); err == nil {
				t.Error("got no error")
			}
		})
	}
	_, err := pluginargs.Of[configv1.NodeResourcesFitArgs]("NodeResourcesFit", &apiruntime.Unknown{})
	if want := "want args to be of type NodeResourcesFitArgs, got *runtime.Unknown"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
