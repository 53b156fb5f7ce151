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

// probe calls every plugin of a profile for a pod by itself, so that one that rejects the pod does not hide the verdicts of
// the others.
type probe struct {
	ctx     context.Context
	profile *runtime.Framework
	pod     *v1.Pod
	state   *framework.CycleState
	// outOfTree are the names of the out-of-tree plugins.
	outOfTree sets.Set[string]
	// filters are the Filter plugins, in the order in which they run.
	filters []fwk.FilterPlugin
	// everywhere has the statuses of the plugins that rejected the pod on all nodes at PreFilter, in their order, narrowed
	// the nodes of those that allowed only some.
	everywhere []*fwk.Status
	narrowed   []preFilterNodes
}

type preFilterNodes struct {
	plugin string
	nodes  sets.Set[string]
}

// newProbe runs PreFilter of every plugin over the nodes of the profile's snapshot.
func newProbe(ctx context.Context, profile *runtime.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) *probe {
	p := &probe{ctx: ctx, profile: profile, pod: pod, state: framework.NewCycleState(), outOfTree: sets.New(profile.OutOfTreePlugins()...)}
	done := sets.New[string]() // plugins whose Filter is not to be called
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
			p.narrowed = append(p.narrowed, preFilterNodes{plugin.Name(), result.NodeNames})
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
	status = p.call(plugin.Name(), func() (status *fwk.Status) {
		result, status = plugin.PreFilter(p.ctx, p.state, p.pod, nodes)
		return status
	})
	return result, status
}

// call calls do, which calls a plugin, and returns its status with the name of the plugin. A panic becomes an error, and so
// does the end of the goroutine, which in-tree plugins don't do.
func (p *probe) call(plugin string, do func() *fwk.Status) *fwk.Status {
	recovering := func() (status *fwk.Status) {
		defer recoverStatus(plugin, &status)
		return do()
	}
	if !p.outOfTree.Has(plugin) {
		return withPlugin(recovering(), plugin)
	}
	return withPlugin(p.profile.Contain(p.pod, recovering), plugin)
}

// nodeRejection is the rejection of a pod on a node.
type nodeRejection struct {
	status *fwk.Status
	// node is the node as the plugin saw it: with the nominated pods, if it rejects the pod because of them.
	node      fwk.NodeInfo
	nominated []fwk.PodInfo
}

// rejections calls all plugins for a node and returns the rejections, other than those of all nodes.
func (p *probe) rejections(node fwk.NodeInfo) []nodeRejection {
	var rejections []nodeRejection
	for _, narrowing := range p.narrowed {
		if !narrowing.nodes.Has(node.Node().Name) {
			status := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin "+narrowing.plugin)
			rejections = append(rejections, nodeRejection{status: status.WithPlugin(narrowing.plugin), node: node})
		}
	}
	for _, view := range p.nodeViews(node) {
		for _, plugin := range p.filters {
			if rejectedBy(rejections, plugin.Name()) {
				continue
			}
			if status := p.filter(plugin, view.state, view.node); !status.IsSuccess() {
				rejections = append(rejections, nodeRejection{status: status, node: view.node, nominated: view.nominated})
			}
		}
	}
	return rejections
}

// accepts reports whether a plugin accepts the pod on a node, whatever the verdicts of the others.
func (p *probe) accepts(plugin string, node fwk.NodeInfo) bool {
	for _, status := range p.everywhere {
		if status.Plugin() == plugin {
			return false
		}
	}
	return !rejectedBy(p.rejections(node), plugin)
}

// rejectedBy reports whether one of the rejections is that of a plugin.
func rejectedBy(rejections []nodeRejection, plugin string) bool {
	for _, rejection := range rejections {
		if rejection.status.Plugin() == plugin {
			return true
		}
	}
	return false
}

func (p *probe) filter(plugin fwk.FilterPlugin, state fwk.CycleState, node fwk.NodeInfo) *fwk.Status {
	return p.call(plugin.Name(), func() *fwk.Status { return plugin.Filter(p.ctx, state, p.pod, node) })
}

// nodeView is a node on which every plugin has to accept the pod.
type nodeView struct {
	state     fwk.CycleState
	node      fwk.NodeInfo
	nominated []fwk.PodInfo
}

// nodeViews returns the node as it is and, if other pods with precedence are nominated for it, with these.
func (p *probe) nodeViews(node fwk.NodeInfo) []nodeView {
	views := []nodeView{{state: p.state, node: node}}
	ahead := p.nominatedPodsAhead(node.Node().Name)
	if len(ahead) == 0 {
		return views
	}
	withNominated := nodeView{state: p.state.Clone(), node: node.Snapshot(), nominated: ahead}
	for _, nominated := range ahead {
		withNominated.node.AddPodInfo(nominated)
		// The Filter of a plugin that fails here returns an error, too.
		_ = p.profile.RunPreFilterExtensionAddPod(p.ctx, withNominated.state, p.pod, nominated, withNominated.node)
	}
	return append(views, withNominated)
}

// nominatedPodsAhead returns the pods nominated for a node whose priority is not lower.
func (p *probe) nominatedPodsAhead(node string) []fwk.PodInfo {
	return slices.DeleteFunc(p.profile.NominatedPodsForNode(node), func(nominated fwk.PodInfo) bool {
		other := nominated.GetPod()
		return other.UID == p.pod.UID || corev1helpers.PodPriority(other) < corev1helpers.PodPriority(p.pod)
	})
}

// withPlugin returns a status with the name of the plugin that returned it.
func withPlugin(status *fwk.Status, plugin string) *fwk.Status {
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
