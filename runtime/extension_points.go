// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
)

// stage is the plugins of one extension point in the order in which they run.
type stage[P fwk.Plugin] []member[P]

// member is a plugin at an extension point.
type member[P fwk.Plugin] struct {
	identity
	plugin    P
	weight    int64   // of a score plugin
	evaluated Counter // nil unless this point is counted
}

// outOfTree reports whether any of the plugins is none of this module.
func (s stage[P]) outOfTree() bool {
	for i := range s {
		if s[i].identity.outOfTree {
			return true
		}
	}
	return false
}

// countEvaluation counts a call that did not return Skip.
func (m *member[P]) countEvaluation() {
	if m.evaluated != nil {
		m.evaluated.Inc()
	}
}

// extensionPoint is a row of the table of extension points.
type extensionPoint struct {
	point profiles.ExtensionPoint
	// extendedBy reports whether a plugin implements the interface of the point.
	extendedBy func(fwk.Plugin) bool
	// add puts a plugin that does at the end of the point's stage. It is nil where the framework runs nothing.
	add func(*Framework, fwk.Plugin)
}

// extensionPointTable has a row for every extension point.
type extensionPointTable []extensionPoint

// extendedBy reports whether a plugin implements the interface of a point.
func (t extensionPointTable) extendedBy(plugin fwk.Plugin, point profiles.ExtensionPoint) bool {
	for i := range t {
		if t[i].point == point {
			return t[i].extendedBy(plugin)
		}
	}
	return false
}

// extensionPoints returns the table: every point that a profile may name, with the interface and the stage behind it.
// Plugins for placements and pod groups are accepted in profiles, but not run.
func extensionPoints() extensionPointTable {
	return extensionPointTable{
		runs(profiles.PreEnqueue, "", func(f *Framework) *stage[fwk.PreEnqueuePlugin] { return &f.preEnqueue }),
		runs(profiles.QueueSort, "", func(f *Framework) *stage[fwk.QueueSortPlugin] { return &f.queueSort }),
		runs(profiles.PreFilter, MethodPreFilter, func(f *Framework) *stage[fwk.PreFilterPlugin] { return &f.preFilter }),
		runs(profiles.Filter, MethodFilter, func(f *Framework) *stage[fwk.FilterPlugin] { return &f.filter }),
		runs(profiles.PostFilter, "", func(f *Framework) *stage[fwk.PostFilterPlugin] { return &f.postFilter }),
		runs(profiles.PreScore, MethodPreScore, func(f *Framework) *stage[fwk.PreScorePlugin] { return &f.preScore }),
		runs(profiles.Score, MethodScore, func(f *Framework) *stage[fwk.ScorePlugin] { return &f.score }),
		runs(profiles.Reserve, "", func(f *Framework) *stage[fwk.ReservePlugin] { return &f.reserve }),
		runs(profiles.Permit, "", func(f *Framework) *stage[fwk.PermitPlugin] { return &f.permit }),
		runs(profiles.PreBind, "", func(f *Framework) *stage[fwk.PreBindPlugin] { return &f.preBind }),
		runs(profiles.Bind, "", func(f *Framework) *stage[fwk.BindPlugin] { return &f.bind }),
		runs(profiles.PostBind, "", func(f *Framework) *stage[fwk.PostBindPlugin] { return &f.postBind }),
		accepts[fwk.PlacementGeneratePlugin](profiles.PlacementGenerate),
		accepts[fwk.PlacementScorePlugin](profiles.PlacementScore),
		accepts[fwk.PodGroupPostFilterPlugin](profiles.PodGroupPostFilter),
	}
}

// runs is the row of a point whose plugins the framework runs. Evaluations are counted under the name counted, if any.
func runs[P fwk.Plugin](point profiles.ExtensionPoint, counted Method, stageOf func(*Framework) *stage[P]) extensionPoint {
	row := accepts[P](point)
	row.add = func(f *Framework, plugin fwk.Plugin) {
		added := member[P]{identity: identityOf(plugin), plugin: plugin.(P)}
		if metrics := f.options.Metrics; metrics != nil && counted != "" {
			added.evaluated = metrics.PluginEvaluations(added.name, counted, f.ProfileName())
		}
		members := stageOf(f)
		*members = append(*members, added)
	}
	return row
}

// accepts is the row of a point that plugins may implement without the framework running them.
func accepts[P fwk.Plugin](point profiles.ExtensionPoint) extensionPoint {
	return extensionPoint{
		point:      point,
		extendedBy: extends[P],
	}
}

func extends[P fwk.Plugin](plugin fwk.Plugin) bool {
	_, ok := plugin.(P)
	return ok
}
