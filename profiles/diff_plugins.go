// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"
	"slices"
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

// pluginList is an ordered plugin set, for comparing.
type pluginList struct {
	names []string
	state map[string]string // what is said about a plugin that is in the list
}

func (l *pluginList) add(name, state string) {
	if _, found := l.state[name]; found {
		return
	}
	if l.state == nil {
		l.state = make(map[string]string)
	}
	l.names = append(l.names, name)
	l.state[name] = state
}

// plugins compares the plugins of two profiles.
func (d *differ) plugins(path string, left, right *Profile, implements func(string, ExtensionPoint) bool) {
	if implements != nil {
		leftResolved, leftErr := left.Resolve(implements, nil)
		rightResolved, rightErr := right.Resolve(implements, nil)
		if leftErr == nil && rightErr == nil {
			for _, point := range AllExtensionPoints() {
				d.list(path+"."+string(point), resolvedList(leftResolved.Points[point]), resolvedList(rightResolved.Points[point]))
			}
			return
		}
	}
	for _, point := range allSets() {
		leftSet, rightSet := setAt(&left.Plugins, point), setAt(&right.Plugins, point)
		path := path + "." + string(point)
		d.list(path, mergedList(point, leftSet.Enabled), mergedList(point, rightSet.Enabled))
		if point != multiPoint { // disabling there has had its effect in the merge
			d.list(path+".disabled", left.disabledList(leftSet), right.disabledList(rightSet))
		}
	}
}

// list reports plugins that only one list has, those with different state, and a
// different order of the plugins that both have.
func (d *differ) list(path string, left, right pluginList) {
	names := slices.Clone(left.names)
	for _, name := range right.names {
		if _, found := left.state[name]; !found {
			names = append(names, name)
		}
	}
	for _, name := range names {
		d.add(path+"["+name+"]", left.state[name], right.state[name])
	}
	d.add(path+".order", left.orderOf(right), right.orderOf(left))
}

// orderOf returns the plugins that the other list has too, in the order of l.
func (l pluginList) orderOf(other pluginList) string {
	var common []string
	for _, name := range l.names {
		if _, found := other.state[name]; found {
			common = append(common, name)
		}
	}
	return strings.Join(common, ", ")
}

func resolvedList(plugins []ResolvedPlugin) pluginList {
	var list pluginList
	for _, plugin := range plugins {
		state := "enabled"
		if plugin.Weight != 0 {
			state = fmt.Sprintf("weight %d", plugin.Weight)
		}
		list.add(plugin.Name, state)
	}
	return list
}

func mergedList(point ExtensionPoint, plugins []configv1.Plugin) pluginList {
	var list pluginList
	for _, plugin := range plugins {
		state := "enabled"
		if weight := weightOf(plugin); weight != 1 && (point.IsScore() || point == multiPoint) {
			state = fmt.Sprintf("weight %d", weight)
		}
		list.add(plugin.Name, state)
	}
	return list
}

// disabledList returns, sorted, what a set disables of the plugins at MultiPoint.
func (p *Profile) disabledList(set *configv1.PluginSet) pluginList {
	var names []string
	for _, plugin := range set.Disabled {
		if plugin.Name == everyPlugin || hasPlugin(p.Plugins.MultiPoint.Enabled, plugin.Name) {
			names = append(names, plugin.Name)
		}
	}
	slices.Sort(names)
	var list pluginList
	for _, name := range names {
		list.add(name, "disabled")
	}
	return list
}
