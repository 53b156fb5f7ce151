// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Difference is a setting in which two configurations differ.
type Difference struct {
	// Field is the path of the setting. Profiles, plugins and their arguments
	// appear by name: profiles[default-scheduler].plugins.score[NodeAffinity].
	Field string
	// Left and Right are the values, as JSON where they are values of the file;
	// empty if the setting is absent.
	Left, Right string
}

// String returns "field: left -> right".
func (d Difference) String() string {
	orAbsent := func(value string) string {
		if value == "" {
			return "(absent)"
		}
		return value
	}
	return fmt.Sprintf("%s: %s -> %s", d.Field, orAbsent(d.Left), orAbsent(d.Right))
}

// Diff returns where two configurations differ, always in the same order. Defaults are filled in on both sides, so that
// writing a default out is no difference, and neither is the order of profiles, of plugin arguments or of disabled plugins.
//
// Plugin sets are compared as Profile.Resolve expands them, so that two ways of writing the same thing are equal; implements
// reports which plugin implements which extension point. Where it is nil, and for profiles that do not resolve, they are
// compared after merging with the default plugins.
func Diff(a, b *Configuration, implements func(plugin string, point ExtensionPoint) bool) []Difference {
	var d differ
	d.value("", a.topLevel(), b.topLevel())
	for _, name := range namesInOrder(a.Profiles, b.Profiles, func(p Profile) string { return p.SchedulerName }) {
		d.profile("profiles["+name+"]", a.Profile(name), b.Profile(name), implements)
	}
	return d.differences
}

type differ struct {
	differences []Difference
}

func (d *differ) add(field, left, right string) {
	if left != right {
		d.differences = append(d.differences, Difference{Field: field, Left: left, Right: right})
	}
}

func (d *differ) profile(path string, left, right *Profile, implements func(string, ExtensionPoint) bool) {
	if left == nil || right == nil {
		d.add(path, presence(left != nil), presence(right != nil))
		return
	}
	d.value(path+".percentageOfNodesToScore", jsonValue(left.PercentageOfNodesToScore), jsonValue(right.PercentageOfNodesToScore))
	d.plugins(path+".plugins", left, right, implements)
	nameOf := func(c PluginConfig) string { return c.Name }
	for _, name := range namesInOrder(left.PluginConfig, right.PluginConfig, nameOf) {
		leftArgs, inLeft := left.argsValue(name)
		rightArgs, inRight := right.argsValue(name)
		field := path + ".pluginConfig[" + name + "]"
		if inLeft != inRight {
			d.add(field, presence(inLeft), presence(inRight))
			continue
		}
		d.value(field+".args", leftArgs, rightArgs)
	}
}

func presence(present bool) string {
	if present {
		return "present"
	}
	return ""
}

// value compares decoded JSON. Empty lists and mappings count as absent.
func (d *differ) value(path string, left, right any) {
	leftMap, leftIsMap := left.(map[string]any)
	rightMap, rightIsMap := right.(map[string]any)
	leftList, leftIsList := left.([]any)
	rightList, rightIsList := right.([]any)
	switch {
	case leftIsMap && (rightIsMap || right == nil) || rightIsMap && left == nil:
		keys := maps.Clone(leftMap)
		if keys == nil {
			keys = make(map[string]any)
		}
		maps.Copy(keys, rightMap)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			inner := key
			if path != "" {
				inner = path + "." + key
			}
			d.value(inner, leftMap[key], rightMap[key])
		}
	case leftIsList && (rightIsList || right == nil) || rightIsList && left == nil:
		for i := range max(len(leftList), len(rightList)) {
			d.value(path+"["+strconv.Itoa(i)+"]", itemAt(leftList, i), itemAt(rightList, i))
		}
	default:
		d.add(path, jsonText(left), jsonText(right))
	}
}

func itemAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// topLevel returns the settings outside of the profiles as decoded JSON.
func (c *Configuration) topLevel() any {
	withoutProfiles := *c
	withoutProfiles.Profiles = nil
	versioned, err := withoutProfiles.versioned()
	if err != nil { // only arguments of plugins can fail to be written
		return nil
	}
	return jsonValue(versioned)
}

// argsValue returns the arguments of a plugin as decoded JSON, without apiVersion and
// kind, and whether there is an entry for the plugin.
func (p *Profile) argsValue(plugin string) (value any, found bool) {
	i := slices.IndexFunc(p.PluginConfig, func(c PluginConfig) bool { return c.Name == plugin })
	if i < 0 {
		return nil, false
	}
	raw, err := p.PluginConfig[i].json()
	if err != nil {
		return fmt.Sprintf("%v", p.PluginConfig[i].Args), true
	}
	value = jsonValue(json.RawMessage(raw))
	if object, isObject := value.(map[string]any); isObject && !isRaw(p.PluginConfig[i].Args) {
		delete(object, "apiVersion")
		delete(object, "kind")
	}
	return value, true
}

func isRaw(args apiruntime.Object) bool {
	_, raw := args.(*apiruntime.Unknown)
	return raw
}

// jsonValue returns a value as decoded JSON; nil if it cannot be written as JSON.
func jsonValue(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return nil
	}
	return decoded
}

// jsonText returns a decoded value as JSON text, "" for nil.
func jsonText(value any) string {
	if value == nil {
		return ""
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// namesInOrder returns the names of the left entries, then those that only the right
// ones have, each once.
func namesInOrder[T any](left, right []T, nameOf func(T) string) []string {
	var names []string
	for _, entries := range [][]T{left, right} {
		for _, entry := range entries {
			if name := nameOf(entry); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
