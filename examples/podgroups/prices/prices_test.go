// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package prices_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugintest"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"

	"example.com/podgroups/api/v1alpha1"
	"example.com/podgroups/prices"
)

func price(instanceType string, cents int64) *v1alpha1.NodePrice {
	return &v1alpha1.NodePrice{ObjectMeta: metav1.ObjectMeta{Name: instanceType}, CentsPerHour: cents}
}

func options(t *testing.T) plugintest.Options {
	t.Helper()
	// NodePrices belong to no namespace, which only the definition of the kind says.
	definitions, err := simulate.Load([]string{"../crds.yaml"}, simulate.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return plugintest.Options{
		Scheme: v1alpha1.NewScheme(),
		Nodes: []*v1.Node{
			objects.Node("n1").Label(v1.LabelInstanceTypeStable, "small").Build(),
			objects.Node("n2").Label(v1.LabelInstanceTypeStable, "large").Build(),
			objects.Node("n3").Build(),
		},
		Objects: append(definitions.CustomResources(), price("small", 20), price("large", 80)),
	}
}

func TestScores(t *testing.T) {
	f := plugintest.NewFramework(t, prices.Name, prices.New, options(t))
	want := map[string]plugintest.Score{
		"n1": {Raw: 20, Normalized: 75}, "n2": {Raw: 80, Normalized: 0}, "n3": {Raw: 80, Normalized: 0},
	}
	if diff := cmp.Diff(want, f.Scores(objects.Pod("web").Build())); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// TestPriceChanges changes a price by the typed client, while the cluster runs.
func TestPriceChanges(t *testing.T) {
	cluster := plugintest.NewCluster(t, prices.Name, prices.New, options(t))
	cluster.Create(objects.Pod("before").Build())
	cluster.Settle()
	cluster.ExpectBound("before", "n1")

	client, err := v1alpha1.NewNodePriceClient(cluster.KubeConfig())
	if err != nil {
		t.Fatal(err)
	}
	large, err := client.Get(t.Context(), "large", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	large.CentsPerHour = 2
	if _, err := client.Update(t.Context(), large, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Create(objects.Pod("after").Build())
	cluster.Settle()
	cluster.ExpectBound("after", "n2")
}
