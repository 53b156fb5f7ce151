// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

// ExtensionPoint is a place where plugins run. Its value is the name of the field
// in a profile's plugins.
type ExtensionPoint string

// The extension points.
const (
	PreEnqueue         ExtensionPoint = "preEnqueue"
	QueueSort          ExtensionPoint = "queueSort"
	PreFilter          ExtensionPoint = "preFilter"
	Filter             ExtensionPoint = "filter"
	PostFilter         ExtensionPoint = "postFilter"
	PreScore           ExtensionPoint = "preScore"
	Score              ExtensionPoint = "score"
	Reserve            ExtensionPoint = "reserve"
	Permit             ExtensionPoint = "permit"
	PreBind            ExtensionPoint = "preBind"
	Bind               ExtensionPoint = "bind"
	PostBind           ExtensionPoint = "postBind"
	PlacementGenerate  ExtensionPoint = "placementGenerate"
	PlacementScore     ExtensionPoint = "placementScore"
	PodGroupPostFilter ExtensionPoint = "podGroupPostFilter"
)

// multiPoint is the field that stands for all extension points.
const multiPoint ExtensionPoint = "multiPoint"

// AllExtensionPoints returns the extension points in the order in which a pod
// passes them, a fresh slice each call.
func AllExtensionPoints() []ExtensionPoint {
	return []ExtensionPoint{
		PreEnqueue, QueueSort, PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit,
		PreBind, Bind, PostBind, PlacementGenerate, PlacementScore, PodGroupPostFilter,
	}
}

// resolveOrder is the order in which the points of a profile are checked. It
// decides which point an error about a MultiPoint plugin names.
func resolveOrder() []ExtensionPoint {
	return []ExtensionPoint{
		PreFilter, Filter, PostFilter, Reserve, PreScore, Score, PreBind, Bind, PostBind, Permit,
		PreEnqueue, QueueSort, PlacementGenerate, PlacementScore, PodGroupPostFilter,
	}
}

// allSets returns multiPoint and the extension points.
func allSets() []ExtensionPoint {
	return append([]ExtensionPoint{multiPoint}, AllExtensionPoints()...)
}

// Interface returns the name of the Go interface in k8s.io/kube-scheduler/framework
// that plugins of this point implement, such as "PreFilterPlugin".
func (p ExtensionPoint) Interface() string {
	if p == "" {
		return ""
	}
	return strings.ToUpper(string(p[:1])) + string(p[1:]) + "Plugin"
}

// IsScore reports whether the plugins of this point have weights.
func (p ExtensionPoint) IsScore() bool { return p == Score || p == PlacementScore }

// setAt returns the plugin set of a point within plugins, nil for an unknown point.
func setAt(plugins *configv1.Plugins, point ExtensionPoint) *configv1.PluginSet {
	switch point {
	case multiPoint:
		return &plugins.MultiPoint
	case PreEnqueue:
		return &plugins.PreEnqueue
	case QueueSort:
		return &plugins.QueueSort
	case PreFilter:
		return &plugins.PreFilter
	case Filter:
		return &plugins.Filter
	case PostFilter:
		return &plugins.PostFilter
	case PreScore:
		return &plugins.PreScore
	case Score:
		return &plugins.Score
	case Reserve:
		return &plugins.Reserve
	case Permit:
		return &plugins.Permit
	case PreBind:
		return &plugins.PreBind
	case Bind:
		return &plugins.Bind
	case PostBind:
		return &plugins.PostBind
	case PlacementGenerate:
		return &plugins.PlacementGenerate
	case PlacementScore:
		return &plugins.PlacementScore
	case PodGroupPostFilter:
		return &plugins.PodGroupPostFilter
	}
	return nil
}
