// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// TestKindsOfPluginsThatAreOnlyLookedAt has a plugin whose client maps a kind to its resource when it is built, as those of
// controller-runtime do. The command knows the kind from a scheme, which need not have a Go type for it.
func TestKindsOfPluginsThatAreOnlyLookedAt(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pool"}
	with := app.WithPlugin("PodState", func(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		client, err := discovery.NewDiscoveryClientForConfig(handle.KubeConfig())
		if err != nil {
			return nil, err
		}
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			return nil, err
		}
		if _, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return nil, err
		}
		return &podState{}, nil
	})
	config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles: [{plugins: {multiPoint: {enabled: [{name: PodState}]}}}]\n")
	scheme := apiruntime.NewScheme()
	scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	for _, args := range [][]string{{"events", "--config", config}, {"profiles", "validate", config}} {
		got := execute(t, app.NewSchedulerCommand(with), args...)
		if got.code == 0 || !strings.Contains(got.stdout+got.stderr, "pass a scheme with the kind Pool.example.com") {
			t.Errorf("%s: exit code %d, nothing says what to do:\n%s%s", args[0], got.code, got.stdout, got.stderr)
		}
		if got := execute(t, app.NewSchedulerCommandWithScheme(scheme, with), args...); got.code != 0 {
			t.Errorf("%s with a scheme: exit code %d:\n%s", args[0], got.code, got.stderr)
		}
	}
}
