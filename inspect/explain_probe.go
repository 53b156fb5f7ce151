// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// probe asks the plugins of a profile about a pod each on its own, so that one that rejects the pod does not hide what
// the others think.
type probe struct {
	ctx     context.Context
	profile *runtime.Framework
	pod     *v1.Pod
	state   *framework.CycleState
	// filters are the plugins to ask about a node, in the order in which they run.
	filters []fwk.FilterPlugin
	// everywhere has the plugins that PreFilter made reject the pod on all nodes, in their order, narrowed those that
	// left only some nodes.
	everywhere []*fwk.Status
	narrowed   []narrowing
}

type narrowing struct {
	plugin string
	left   sets.Set[string]
}

// newProbe runs PreFilter of every plugin over the nodes of the profile's snapshot.
func newProbe(ctx context.Context, profile *runtime.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) *probe {
	p := &probe{ctx: ctx, profile: profile, pod: pod, state: framework.NewCycleState()}
	done := sets.New[string]() // that need not be asked, or cannot be
	for _, resolved := range profile.Resolved().Points[profiles.PreFilter] {
		plugin, runs := profile.Plugin(resolved.Name).(fwk.PreFilterPlugin)
		if !runs {
			continue
		}
		result, status := p.preFilter(plugin, nodes)
		switch {
		case status.IsSkip():
			done.Insert(plugin.Name())
		case !status.IsSuccess():
			done.Insert(plugin.Name())
			p.everywhere = append(p.everywhere, status)
		case !result.AllNodes():
			p.narrowed = append(p.narrowed, narrowing{plugin.Name(), result.NodeNames})
		}
	}
	p.state.SetSkipFilterPlugins(done)
	for _, resolved := range profile.Resolved().Points[profiles.Filter] {
		plugin, runs := profile.Plugin(resolved.Name).(fwk.FilterPlugin)
		if runs && !done.Has(plugin.Name()) {
			p.filters = append(p.filters, plugin)
		}
	}
	return p
}

func (p *probe) preFilter(plugin fwk.PreFilterPlugin, nodes []fwk.NodeInfo) (result *fwk.PreFilterResult, status *fwk.Status) {
	defer recoverStatus(plugin.Name(), &status)
	result, status = plugin.PreFilter(p.ctx, p.state, p.pod, nodes)
	return result, signed(status, plugin.Name())
}

// answer is what a plugin says about a node.
type answer struct {
	status *fwk.Status
	// node is the node as the plugin saw it: with the pods on it for which room is kept there, if that is why it rejects.
	node fwk.NodeInfo
	kept []fwk.PodInfo
}

// rejections asks all plugins about a node and returns the answers that keep the pod off it, other than those that
// concern all nodes.
func (p *probe) rejections(node fwk.NodeInfo) []answer {
	var rejections []answer
	for _, narrowing := range p.narrowed {
		if !narrowing.left.Has(node.Node().Name) {
			status := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin "+narrowing.plugin)
			rejections = append(rejections, answer{status: status.WithPlugin(narrowing.plugin), node: node})
		}
	}
	for _, view := range p.views(node) {
		for _, plugin := range p.filters {
			if named(rejections, plugin.Name()) {
				continue
			}
			if status := p.filter(plugin, view.state, view.node); !status.IsSuccess() {
				rejections = append(rejections, answer{status: status, node: view.node, kept: view.kept})
			}
		}
	}
	return rejections
}

// accepts tells whether a plugin would take the pod on a node, whatever the others say.
func (p *probe) accepts(plugin string, node fwk.NodeInfo) bool {
	for _, status := range p.everywhere {
		if status.Plugin() == plugin {
			return false
		}
	}
	return !named(p.rejections(node), plugin)
}

func named(answers []answer, plugin string) bool {
	for _, answer := range answers {
		if answer.status.Plugin() == plugin {
			return true
		}
	}
	return false
}

func (p *probe) filter(plugin fwk.FilterPlugin, state fwk.CycleState, node fwk.NodeInfo) (status *fwk.Status) {
	defer recoverStatus(plugin.Name(), &status)
	return signed(plugin.Filter(p.ctx, state, p.pod, node), plugin.Name())
}

// view is a node as plugins have to accept it.
type view struct {
	state fwk.CycleState
	node  fwk.NodeInfo
	kept  []fwk.PodInfo
}

// views returns the node as it is and, if room is kept there for other pods that go first, as it would be with them.
func (p *probe) views(node fwk.NodeInfo) []view {
	views := []view{{state: p.state, node: node}}
	first := p.firstThere(node.Node().Name)
	if len(first) == 0 {
		return views
	}
	beside := view{state: p.state.Clone(), node: node.Snapshot(), kept: first}
	for _, nominated := range first {
		beside.node.AddPodInfo(nominated)
		// Where a plugin fails at that, its Filter says so.
		_ = p.profile.RunPreFilterExtensionAddPod(p.ctx, beside.state, p.pod, nominated, beside.node)
	}
	return append(views, beside)
}

// firstThere returns the pods for which room is kept on a node before the pod may have it.
func (p *probe) firstThere(node string) []fwk.PodInfo {
	return slices.DeleteFunc(p.profile.NominatedPodsForNode(node), func(nominated fwk.PodInfo) bool {
		other := nominated.GetPod()
		return other.UID == p.pod.UID || corev1helpers.PodPriority(other) < corev1helpers.PodPriority(p.pod)
	})
}

// signed returns a status with the name of the plugin that returned it.
func signed(status *fwk.Status, plugin string) *fwk.Status {
	if status == nil || status.Plugin() == plugin {
		return status
	}
	return status.Clone().WithPlugin(plugin)
}

// recoverStatus is deferred around calls of plugins: a panic becomes an error.
func recoverStatus(plugin string, status **fwk.Status) {
	if reason := recover(); reason != nil {
		*status = fwk.AsStatus(fmt.Errorf("plugin %q panicked: %v", plugin, reason)).WithPlugin(plugin)
	}
}
