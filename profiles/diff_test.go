// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func texts(differences []Difference) []string {
	var result []string
	for _, difference := range differences {
		result = append(result, difference.String())
	}
	return result
}

func TestDiff(t *testing.T) {
	const p = "profiles[default-scheduler]."
	tests := []struct {
		name, left, right string
		want              []string
	}{
		{"nothing", "", "", nil},
		{"defaults written out", "", "parallelism: 16\nleaderElection: {leaderElect: true}\nprofiles: [{schedulerName: default-scheduler, pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 1}}]}]\n", nil},
		{"default plugin listed again", "", "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality}]}}}]\n", nil},
		{"order of profiles", "profiles: [{schedulerName: a}, {schedulerName: b}]\n", "profiles: [{schedulerName: b}, {schedulerName: a}]\n", nil},
		{"disabled list without effect", "", "profiles: [{plugins: {multiPoint: {disabled: [{name: Absent}]}, score: {disabled: [{name: Absent}]}}}]\n", nil},
		{"top level", "leaderElection: {leaseDuration: 30s}\n", "parallelism: 3\nextenders: [{urlPrefix: x}]\n", []string{
			`extenders[0].httpTimeout: (absent) -> "0s"`,
			`extenders[0].urlPrefix: (absent) -> "x"`,
			`leaderElection.leaseDuration: "30s" -> "15s"`,
			`parallelism: 16 -> 3`,
		}},
		{"profiles", "profiles: [{schedulerName: a}, {schedulerName: b}]\n", "profiles: [{schedulerName: c}, {schedulerName: a, percentageOfNodesToScore: 0}]\n", []string{
			`profiles[a].percentageOfNodesToScore: (absent) -> 0`,
			`profiles[b]: present -> (absent)`,
			`profiles[c]: (absent) -> present`,
		}},
		{"plugins", "profiles: [{plugins: {score: {disabled: [{name: ImageLocality}], enabled: [{name: A}, {name: B}, {name: C}]}}}]\n",
			"profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}, score: {enabled: [{name: C}, {name: A, weight: 2}]}}}]\n", []string{
				p + `plugins.multiPoint[NodeAffinity]: weight 2 -> weight 7`,
				p + `plugins.score[A]: enabled -> weight 2`,
				p + `plugins.score[B]: enabled -> (absent)`,
				p + `plugins.score.order: A, C -> C, A`,
				p + `plugins.score.disabled[ImageLocality]: disabled -> (absent)`,
			}},
		{"moved to the end", "", "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeDeclaredFeatures}, {name: DefaultBinder}], enabled: [{name: NodeDeclaredFeatures}]}}}]\n", []string{
			p + `plugins.multiPoint[DefaultBinder]: enabled -> (absent)`,
		}},
		{"arguments", "profiles: [{pluginConfig: [{name: Foo, args: {a: [1, 2], kind: x}}, {name: Bar}]}]\n",
			"profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}, {name: Foo, args: {a: [1, 3], kind: z}}]}]\n", []string{
				p + `plugins.multiPoint[NodeAffinity]: weight 2 -> (absent)`,
				p + `pluginConfig[Foo].args.a[1]: 2 -> 3`,
				p + `pluginConfig[Foo].args.kind: "x" -> "z"`,
				p + `pluginConfig[Bar]: present -> (absent)`,
				p + `pluginConfig[NodeAffinity]: present -> (absent)`,
				p + `pluginConfig[NodeResourcesFit].args.scoringStrategy.type: "LeastAllocated" -> "MostAllocated"`,
			}},
		{"arguments of another shape", "profiles: [{pluginConfig: [{name: Foo, args: {a: [1], b: {c: 1}}}]}]\n", "profiles: [{pluginConfig: [{name: Foo, args: {a: {x: 1}, b: []}}]}]\n", []string{
			p + `pluginConfig[Foo].args.a: [1] -> {"x":1}`,
			p + `pluginConfig[Foo].args.b: {"c":1} -> []`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			left, right := mustParse(t, test.left), mustParse(t, test.right)
			got := texts(Diff(left, right, nil))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, texts(Diff(left, right, nil))); diff != "" {
				t.Errorf("a second time (-first +second):\n%s", diff)
			}
			if backwards := Diff(right, left, nil); len(backwards) != len(got) {
				t.Errorf("%d differences forwards, %d backwards", len(got), len(backwards))
			}
			if same := Diff(right, right, nil); len(same) > 0 {
				t.Errorf("a configuration differs from itself: %v", same)
			}
		})
	}
}

func TestDiffOfResolvedPlugins(t *testing.T) {
	const p = "profiles[default-scheduler].plugins."
	tests := []struct {
		name, left, right string
		want              []string
	}{
		{
			"two ways of leaving a plugin out of one point",
			"profiles: [{plugins: {score: {disabled: [{name: ImageLocality}]}}}]\n",
			"profiles: [{plugins: {multiPoint: {disabled: [{name: ImageLocality}]}}}]\n",
			nil,
		},
		{
			"two ways of adding a filter",
			"profiles: [{plugins: {filter: {enabled: [{name: Foo}]}}}]\n",
			"profiles: [{plugins: {multiPoint: {enabled: [{name: Foo}]}, bind: {disabled: [{name: Foo}]}}}]\n",
			nil,
		},
		{
			"weight and order",
			"",
			"profiles: [{plugins: {placementScore: {disabled: [{name: '*'}]}, score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}}]\n",
			[]string{
				p + "score[NodeResourcesFit]: weight 1 -> weight 5",
				p + "score.order: TaintToleration, NodeAffinity, NodeResourcesFit, VolumeBinding, PodTopologySpread, InterPodAffinity, DynamicResources, " +
					"NodeResourcesBalancedAllocation, ImageLocality -> NodeResourcesFit, TaintToleration, NodeAffinity, VolumeBinding, " +
					"PodTopologySpread, InterPodAffinity, DynamicResources, NodeResourcesBalancedAllocation, ImageLocality",
				p + "placementScore[NodeResourcesFit]: weight 1 -> (absent)",
			},
		},
		{
			"one side does not resolve",
			"profiles: [{plugins: {multiPoint: {disabled: [{name: DefaultBinder}]}}}]\n",
			"",
			[]string{p + "multiPoint[DefaultBinder]: (absent) -> enabled"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := texts(Diff(mustParse(t, test.left), mustParse(t, test.right), implementsInTree))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
