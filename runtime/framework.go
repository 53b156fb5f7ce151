// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Framework is the plugins of one profile, ready to run. It is what plugins know as their fwk.Handle.
//
// After NewFramework, and SetActivator where it is used, a Framework does not change, except for the verdicts and scores that
// [Framework.Search] caches under a lock of its own. All its methods may then be called concurrently, as far as the cycle
// states and node infos they are given allow.
//
// The statuses that run methods return may be shared with plugins and other goroutines, and must not be changed.
type Framework struct {
	profile  *profiles.Profile // nil for a framework without plugins
	resolved *profiles.Resolved
	options  Options

	instances  map[string]fwk.Plugin // by the name in the registry
	identities map[string]*identity  // by the name that the plugin gives itself
	eventMap   framework.EventMap
	hints      map[string][]fwk.ClusterEventWithHint // by plugin

	preEnqueue stage[fwk.PreEnqueuePlugin]
	queueSort  stage[fwk.QueueSortPlugin]
	preFilter  stage[fwk.PreFilterPlugin]
	filter     stage[fwk.FilterPlugin]
	postFilter stage[fwk.PostFilterPlugin]
	preScore   stage[fwk.PreScorePlugin]
	score      stage[fwk.ScorePlugin]
	reserve    stage[fwk.ReservePlugin]
	permit     stage[fwk.PermitPlugin]
	preBind    stage[fwk.PreBindPlugin]
	bind       stage[fwk.BindPlugin]
	postBind   stage[fwk.PostBindPlugin]

	signers      stage[fwk.SignPlugin] // what makes up a pod's signature
	signsPods    bool
	parallelizer *Parallelizer
	cache        verdictCache
}

var _ framework.ExtendedHandle = &Framework{}

// EventMap returns the map from cluster events to the plugins of this profile that wait for them. It must not be
// changed.
func (f *Framework) EventMap() framework.EventMap { return f.eventMap }

// Registrations returns what every plugin registered, by plugin name, with its queueing hints. A plugin that may turn
// pods down but waits for nothing has an entry without events. A hint may be nil, which means that the event always
// wakes; one that panics returns fwk.Queue and a [PanicError]. The map must not be changed.
func (f *Framework) Registrations() map[string][]fwk.ClusterEventWithHint { return f.hints }

// Resolved returns which plugins run at which extension point, and why. It is nil for a framework without a profile,
// and must not be changed.
func (f *Framework) Resolved() *profiles.Resolved { return f.resolved }

// ProfileName implements fwk.Handle: the scheduler name that pods choose the profile by.
func (f *Framework) ProfileName() string {
	if f.profile == nil {
		return ""
	}
	return f.profile.SchedulerName
}

// PercentageOfNodesToScore is the profile's own share of nodes to look at, or nil if it has none.
func (f *Framework) PercentageOfNodesToScore() *int32 {
	if f.profile == nil {
		return nil
	}
	return f.profile.PercentageOfNodesToScore
}

// Has reports whether any plugin runs at an extension point.
func (f *Framework) Has(point profiles.ExtensionPoint) bool {
	return f.resolved != nil && len(f.resolved.Points[point]) > 0
}

// Plugin returns a plugin by the name that it gives itself, or nil.
func (f *Framework) Plugin(name string) fwk.Plugin {
	if plugin := f.instances[name]; plugin != nil && plugin.Name() == name {
		return plugin
	}
	for _, plugin := range f.instances {
		if plugin.Name() == name {
			return plugin
		}
	}
	return nil
}

// Close closes the plugins that can be closed and returns all their errors. It is called once, when nothing of the
// framework runs any more.
func (f *Framework) Close() error {
	f.cache.leave()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.instances)) {
		if closer, ok := f.instances[name].(io.Closer); ok {
			if err := f.closePlugin(name, closer); err != nil {
				errs = append(errs, fmt.Errorf("%s failed to close: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (f *Framework) closePlugin(name string, closer io.Closer) (err error) {
	ended := f.call(MethodClose, &identity{name: name, folder: folderOfType(closer)}, nil, func() { err = closer.Close() })
	return errors.Join(err, ended)
}
