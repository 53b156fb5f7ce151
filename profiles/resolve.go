// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Origin says where a plugin at an extension point comes from.
type Origin string

// The origins, from the one that yields most to the one that wins.
const (
	FromDefault    Origin = "default"    // a default plugin with its default weight
	FromMultiPoint Origin = "multiPoint" // enabled or re-weighted by the user at MultiPoint
	FromNamed      Origin = "named"      // enabled by the user at this very extension point
)

// Resolved is what a profile runs.
type Resolved struct {
	SchedulerName string
	// Points has the plugins of each extension point in the order they run. Points
	// without plugins are missing.
	Points map[ExtensionPoint][]ResolvedPlugin
}

// ResolvedPlugin is a plugin at an extension point.
type ResolvedPlugin struct {
	Name string
	// Weight is what scores are multiplied by, at Score and PlacementScore; at the
	// other points it is 0.
	Weight int32
	From   Origin
}

// ResolveError is one reason why a profile cannot run.
type ResolveError struct {
	// Profile is the scheduler name of the profile.
	Profile string
	// Set is the field of plugins that is to blame, an extension point or
	// "multiPoint"; empty if the error is elsewhere.
	Set ExtensionPoint
	// Plugin is the plugin to blame; empty if it is about several.
	Plugin string
	// Message says what is wrong.
	Message string

	occurrence int // which of several entries for Plugin in Set it is, from 0
}

// Error returns the message, prefixed by the profile.
func (e *ResolveError) Error() string {
	return fmt.Sprintf("profile %q: %s", e.Profile, e.Message)
}

// Resolve works out which plugins run at each extension point, and in what order:
// plugins that are enabled at the point and at MultiPoint first, then those of
// MultiPoint alone, then those of the point alone.
//
// implements reports whether a plugin implements a point, and known whether a plugin
// of this name exists; a nil known means that all do. Errors are joined
// (errors.Join) values of type *ResolveError, all of them; the result is nil then.
func (p *Profile) Resolve(implements func(plugin string, point ExtensionPoint) bool, known func(plugin string) bool) (*Resolved, error) {
	if known == nil {
		known = func(string) bool { return true }
	}
	r := resolver{
		profile: p, implements: implements, known: known,
		defaults: defaultWeights(p.Plugins.MultiPoint), reported: make(map[string]bool),
		result: &Resolved{SchedulerName: p.SchedulerName, Points: make(map[ExtensionPoint][]ResolvedPlugin)},
	}
	r.checkConfigs()
	for _, point := range resolveOrder() {
		if plugins := r.expand(point); len(plugins) > 0 {
			r.result.Points[point] = plugins
		}
	}
	r.checkCounts()
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.result, nil
}

// Resolve resolves every profile and checks what they must have in common. The
// parameters are those of Profile.Resolve. Errors of a configuration that was
// loaded from a file have the position of the error.
func (c *Configuration) Resolve(implements func(plugin string, point ExtensionPoint) bool, known func(plugin string) bool) ([]*Resolved, error) {
	var resolved []*Resolved
	var errs []error
	for i := range c.Profiles {
		result, err := c.Profiles[i].Resolve(implements, known)
		if err != nil {
			errs = append(errs, c.locateAll(i, err)...)
			continue
		}
		resolved = append(resolved, result)
		if err := c.checkSameQueueSort(i, resolved[0], result); err != nil {
			errs = append(errs, c.locateAll(i, err)...)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return resolved, nil
}

// checkSameQueueSort compares the queue sort plugin of a profile with that of the
// first one; all profiles share one queue.
func (c *Configuration) checkSameQueueSort(index int, first, result *Resolved) error {
	want, got := first.Points[QueueSort][0].Name, result.Points[QueueSort][0].Name
	problem := &ResolveError{Profile: result.SchedulerName, Set: QueueSort, Plugin: got}
	switch {
	case want != got:
		problem.Message = fmt.Sprintf("different queue sort plugins for profile %q: %q, first: %q", result.SchedulerName, got, want)
	case !reflect.DeepEqual(c.Profile(first.SchedulerName).Args(want), c.Profiles[index].Args(got)):
		problem.Message = fmt.Sprintf("different queue sort plugin args for profile %q", result.SchedulerName)
	default:
		return nil
	}
	return problem
}

type resolver struct {
	profile    *Profile
	implements func(plugin string, point ExtensionPoint) bool
	known      func(plugin string) bool
	defaults   map[string]int32
	reported   map[string]bool // MultiPoint plugins that an error was reported for
	result     *Resolved
	errs       []error
}

func (r *resolver) errorf(set ExtensionPoint, plugin string, occurrence int, format string, args ...any) {
	r.errs = append(r.errs, &ResolveError{
		Profile: r.profile.SchedulerName, Set: set, Plugin: plugin,
		Message: fmt.Sprintf(format, args...), occurrence: occurrence,
	})
}

// checkConfigs reports plugins that are configured twice.
func (r *resolver) checkConfigs() {
	seen := make(map[string]bool)
	for _, config := range r.profile.PluginConfig {
		if seen[config.Name] {
			r.errorf("", config.Name, 0, "repeated config for plugin %s", config.Name)
		}
		seen[config.Name] = true
	}
}

// expand returns the plugins that run at a point.
func (r *resolver) expand(point ExtensionPoint) []ResolvedPlugin {
	set := setAt(&r.profile.Plugins, point)
	named := r.named(point, set)
	var shared map[string]bool
	var expanded []ResolvedPlugin
	if !hasPlugin(set.Disabled, everyPlugin) {
		shared, expanded = r.fromMultiPoint(point, set)
	}
	var overrides, others []ResolvedPlugin
	for _, plugin := range named {
		if shared[plugin.Name] {
			overrides = append(overrides, plugin)
		} else {
			others = append(others, plugin)
		}
	}
	if point.IsScore() {
		r.checkTotal(point, set)
	}
	return append(append(overrides, expanded...), others...)
}

// named returns the valid entries that are enabled at the point itself.
func (r *resolver) named(point ExtensionPoint, set *configv1.PluginSet) []ResolvedPlugin {
	var plugins []ResolvedPlugin
	seen := make(map[string]int)
	for _, plugin := range set.Enabled {
		occurrence := seen[plugin.Name]
		seen[plugin.Name]++
		switch {
		case !r.known(plugin.Name):
			r.errorf(point, plugin.Name, occurrence, "%s %q does not exist", point.Interface(), plugin.Name)
		case !r.implements(plugin.Name, point):
			r.errorf(point, plugin.Name, occurrence, "plugin %q does not extend %s plugin", plugin.Name, point.Interface())
		case occurrence > 0:
			r.errorf(point, plugin.Name, occurrence, "plugin %q already registered as %q", plugin.Name, point.Interface())
		default:
			plugins = append(plugins, resolvedPlugin(point, plugin, FromNamed))
		}
	}
	return plugins
}

// fromMultiPoint returns the MultiPoint plugins that run at the point, and the names
// of those that the point's own list enables as well.
func (r *resolver) fromMultiPoint(point ExtensionPoint, set *configv1.PluginSet) (shared map[string]bool, plugins []ResolvedPlugin) {
	shared = make(map[string]bool)
	taken := make(map[string]int)
	for _, plugin := range r.profile.Plugins.MultiPoint.Enabled {
		name := plugin.Name
		switch {
		case !r.known(name):
			r.errorfOnce(name, 0, "%s %q does not exist", point.Interface(), name)
		case !r.implements(name, point) || hasPlugin(set.Disabled, name):
		case hasPlugin(set.Enabled, name):
			shared[name] = true
		case taken[name] > 0:
			r.errorfOnce(name, taken[name], "plugin %q already registered as %q", name, point.Interface())
		default:
			taken[name]++
			plugins = append(plugins, resolvedPlugin(point, plugin, r.originOf(plugin)))
		}
	}
	return shared, plugins
}

// errorfOnce reports an error of a MultiPoint entry, for the first point only.
func (r *resolver) errorfOnce(plugin string, occurrence int, format string, args ...any) {
	if r.reported[plugin] {
		return
	}
	r.reported[plugin] = true
	r.errorf(multiPoint, plugin, occurrence, format, args...)
}

func (r *resolver) originOf(plugin configv1.Plugin) Origin {
	if weight, found := r.defaults[plugin.Name]; found && weight == weightOf(plugin) {
		return FromDefault
	}
	return FromMultiPoint
}

// defaultWeights returns the weights of the default plugins that the user's set did
// not disable.
func defaultWeights(user configv1.PluginSet) map[string]int32 {
	weights := make(map[string]int32)
	for _, plugin := range DefaultPlugins() {
		if !hasPlugin(user.Disabled, everyPlugin) && !hasPlugin(user.Disabled, plugin.Name) {
			weights[plugin.Name] = weightOf(plugin)
		}
	}
	return weights
}

func resolvedPlugin(point ExtensionPoint, plugin configv1.Plugin, from Origin) ResolvedPlugin {
	resolved := ResolvedPlugin{Name: plugin.Name, From: from}
	if point.IsScore() {
		resolved.Weight = weightOf(plugin)
	}
	return resolved
}

// checkCounts checks the points that need a certain number of plugins.
func (r *resolver) checkCounts() {
	name, points := r.profile.SchedulerName, r.result.Points
	if count := len(points[QueueSort]); count != 1 {
		r.errorf(QueueSort, "", 0, "only one queue sort plugin required for profile with scheduler name %q, but got %d", name, count)
	}
	if len(points[Bind]) == 0 {
		r.errorf(Bind, "", 0, "at least one bind plugin is needed for profile with scheduler name %q", name)
	}
	if len(points[PlacementGenerate]) > 1 {
		r.errorf(PlacementGenerate, "", 0, "at most one placement generate plugin is allowed for profile with scheduler name %q", name)
	}
}

// checkTotal checks that the weighted sum of the highest scores fits an int64.
func (r *resolver) checkTotal(point ExtensionPoint, set *configv1.PluginSet) {
	var weights []int64
	seen := make(map[string]bool)
	for _, enabled := range [][]configv1.Plugin{set.Enabled, r.profile.Plugins.MultiPoint.Enabled} {
		for _, plugin := range enabled {
			if !seen[plugin.Name] && r.known(plugin.Name) && r.implements(plugin.Name, point) {
				seen[plugin.Name] = true
				weights = append(weights, int64(weightOf(plugin)))
			}
		}
	}
	if !totalFits(weights) {
		prefix := "score plugins"
		if point == PlacementScore {
			prefix = "placement score plugins"
		}
		r.errorf(point, "", 0, "%s: total score of Score plugins could overflow", prefix)
	}
}

// totalFits adds up as kube-scheduler does, whose check is that the next score is not above what is left. When the sum so
// far is negative, what is left overflows, so a negative weight is only taken where no other follows.
func totalFits(weights []int64) bool {
	total := int64(0)
	for _, weight := range weights {
		if total < 0 || weight > (math.MaxInt64-total)/fwk.MaxScore {
			return false
		}
		total += weight * fwk.MaxScore
	}
	return true
}
