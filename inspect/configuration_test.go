// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"slices"
	"testing"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/profiles"
)

const spreading = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 40
profiles:
- schedulerName: spreading
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: NodeAffinity, weight: 7}, {name: DefaultBinder}, {name: Foo}]
      disabled: [{name: "*"}]
    score:
      enabled: [{name: ImageLocality, weight: 3}]
  pluginConfig:
  - name: Foo
    args: {greeting: "hello <world>", limits: [1, 2]}
extenders:
- {urlPrefix: "http://extender.example", filterVerb: filter, httpTimeout: 2s}
`

const packing = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: spreading
  plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: NodeAffinity}, {name: DefaultBinder}, {name: NodeName}]
      disabled: [{name: "*"}]
  pluginConfig:
  - name: Foo
    args: {greeting: "good bye"}
- schedulerName: packing
  plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: DefaultBinder}]
      disabled: [{name: "*"}]
`

// implements is what the plugins of these tests implement.
func implements(plugin string, point profiles.ExtensionPoint) bool {
	return slices.Contains(map[string][]profiles.ExtensionPoint{
		"PrioritySort":  {profiles.QueueSort},
		"NodeAffinity":  {profiles.PreFilter, profiles.Filter, profiles.PreScore, profiles.Score},
		"NodeName":      {profiles.Filter},
		"ImageLocality": {profiles.Score},
		"Foo":           {profiles.Filter},
		"DefaultBinder": {profiles.Bind},
	}[plugin], point)
}

func parse(t *testing.T, name, text string) *profiles.Configuration {
	t.Helper()
	config, err := profiles.Parse(name, []byte(text), profiles.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestConfigurationGolden(t *testing.T) {
	config := parse(t, "spreading.yaml", spreading)
	resolved, err := config.Resolve(implements, nil)
	if err != nil {
		t.Fatal(err)
	}
	view, err := inspect.NewConfiguration(config, resolved)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "configuration.json", view)
}

func TestConfigurationNeedsEveryProfile(t *testing.T) {
	if _, err := inspect.NewConfiguration(profiles.Default(), nil); err == nil {
		t.Error("a configuration was shown without its profiles")
	}
}

func TestDifferencesGolden(t *testing.T) {
	before, after := parse(t, "spreading.yaml", spreading), parse(t, "packing.yaml", packing)
	view := inspect.NewDifferences(before, after, implements)
	golden(t, "differences.json", view)
	golden(t, "differences_reversed.json", inspect.NewDifferences(after, before, implements))
}

func TestNoDifferences(t *testing.T) {
	view := inspect.NewDifferences(parse(t, "a.yaml", spreading), parse(t, "b.yaml", spreading), implements)
	if len(view.Differences) > 0 {
		t.Errorf("a configuration differs from itself: %v", view.Differences)
	}
	golden(t, "differences_none.json", view)
}
