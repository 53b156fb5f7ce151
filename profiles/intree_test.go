// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// inTreePoints says which extension points the plugins implement that the tests use.
func inTreePoints() map[string][]ExtensionPoint {
	return map[string][]ExtensionPoint{
		"SchedulingGates":                 {PreEnqueue},
		"PrioritySort":                    {QueueSort},
		"NodeName":                        {PreFilter, Filter},
		"NodeUnschedulable":               {PreFilter, Filter},
		"TaintToleration":                 {PreFilter, Filter, PreScore, Score},
		"NodeAffinity":                    {PreFilter, Filter, PreScore, Score},
		"NodePorts":                       {PreFilter, Filter},
		"NodeResourcesFit":                {PreFilter, Filter, PreScore, Score, PlacementScore},
		"VolumeRestrictions":              {PreFilter, Filter},
		"NodeVolumeLimits":                {PreFilter, Filter},
		"VolumeBinding":                   {PreFilter, Filter, PreScore, Score, Reserve, PreBind},
		"VolumeZone":                      {PreFilter, Filter},
		"PodTopologySpread":               {PreFilter, Filter, PreScore, Score},
		"InterPodAffinity":                {PreFilter, Filter, PreScore, Score},
		"DynamicResources":                {PreEnqueue, PreFilter, Filter, PostFilter, PodGroupPostFilter, Score, Reserve, PreBind},
		"DefaultPreemption":               {PreEnqueue, PostFilter, PodGroupPostFilter},
		"NodeResourcesBalancedAllocation": {PreScore, Score},
		"ImageLocality":                   {Score},
		"DefaultBinder":                   {Bind},
		"NodeDeclaredFeatures":            {PreFilter, Filter},
		"GangScheduling":                  {Permit},
		"TopologyPlacementGenerator":      {PlacementGenerate},
		"OtherPlacementGenerator":         {PlacementGenerate},
		"PodGroupPodsCount":               {PlacementScore},
		"Foo":                             {Filter, Bind},
		"Bar":                             {QueueSort, Permit, PostBind},
		"Nothing":                         {},
	}
}

func implementsInTree(plugin string, point ExtensionPoint) bool {
	return slices.Contains(inTreePoints()[plugin], point)
}

func isInTree(plugin string) bool {
	_, found := inTreePoints()[plugin]
	return found
}

func knownPlugins() sets.Set[string] { return sets.KeySet(inTreePoints()) }

const fileHeader = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// parse parses a configuration without its first two lines.
func parse(t *testing.T, text string) (*Configuration, error) {
	t.Helper()
	return Parse("config.yaml", []byte(fileHeader+text), Options{})
}

func mustParse(t *testing.T, text string) *Configuration {
	t.Helper()
	config, err := parse(t, text)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return config
}

// lines returns the texts of the errors in err, in order; nil for no error.
func lines(err error) []string {
	switch err := err.(type) {
	case nil:
		return nil
	case manifest.ErrorList:
		var texts []string
		for _, entry := range err {
			texts = append(texts, entry.Error())
		}
		return texts
	}
	return strings.Split(err.Error(), "\n")
}
