// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// configuration returns a configuration that may be broken: plugins at any point, twice, or unknown, values out of range.
func (g *generator) configuration() any {
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{g.profileOfConfiguration("default-scheduler")},
	}
	if g.oneIn(4) {
		config["profiles"] = append(config["profiles"].([]any), g.profileOfConfiguration(pick(g, "second", "second", "second", "default-scheduler")))
	}
	g.setSome(8, config, map[string][]any{
		"parallelism": {0, 1, 16, 8}, "percentageOfNodesToScore": {-1, 0, 50, 100, 101}, "podInitialBackoffSeconds": {0, 1, 5, 11},
		"podMaxBackoffSeconds": {0, 1, 10, 20}, "delayCacheUntilActive": {true, false}, "enableProfiling": {true, false},
		"leaderElection":   {g.leaderElection()},
		"clientConnection": {g.clientConnection()},
		"extenders":        {[]any{}, []any{g.extender()}, []any{g.extender(), g.extender()}},
	})
	return plain(config)
}

// soundConfiguration returns a configuration that is seldom broken.
func (g *generator) soundConfiguration() any {
	scoring := []string{"NodeAffinity", "NodeResourcesFit", "TaintToleration", "ImageLocality", "InterPodAffinity", "PodTopologySpread"}
	g.Shuffle(len(scoring), func(i, j int) { scoring[i], scoring[j] = scoring[j], scoring[i] })
	var enabled, disabled []configv1.Plugin
	for i, name := range scoring[:g.IntN(4)] {
		if point := g.IntN(3); point > 0 {
			disabled = append(disabled, configv1.Plugin{Name: name})
		} else if i < 2 {
			disabled = append(disabled, configv1.Plugin{Name: name})
			enabled = append(enabled, configv1.Plugin{Name: name, Weight: ptr.To(1 + g.Int32N(20))})
		}
	}
	point := pick(g, "score", "multiPoint")
	var configs []any
	for _, name := range scoring[4:] {
		if args := g.args(name); args != nil {
			configs = append(configs, map[string]any{"name": name, "args": args})
		}
	}
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{map[string]any{
			"schedulerName": pick(g, "default-scheduler", "own"), "pluginConfig": configs,
			"plugins": map[string]configv1.PluginSet{point: {Enabled: enabled, Disabled: disabled}},
		}},
	}
	g.setSome(4, config, map[string][]any{
		"parallelism": {1, 16, 8}, "percentageOfNodesToScore": {0, 50, 100}, "podInitialBackoffSeconds": {1, 5}, "podMaxBackoffSeconds": {10, 20},
		"extenders": {[]any{g.extender()}},
	})
	return plain(config)
}

// setSome sets each field with a chance of one in n.
func (g *generator) setSome(n int, object map[string]any, fields map[string][]any) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if value := pick(g, fields[field]...); g.oneIn(n) {
			object[field] = value
		}
	}
}

// leaderElection returns settings of which some are not valid.
func (g *generator) leaderElection() any {
	election := map[string]any{}
	g.setSome(3, election, map[string][]any{
		"leaderElect": {true, false, nil}, "leaseDuration": {"30s", "1s", "0s", "-1s", "15s"}, "renewDeadline": {"10s", "20s", "0s", "-5s"},
		"retryPeriod": {"2s", "0s", "-1s", "9s"}, "resourceLock": {"leases", "endpoints", "", "endpointsleases"},
		"resourceName": {"", "own", "not/a name"}, "resourceNamespace": {"", "own"},
	})
	return election
}

// clientConnection returns settings of which some are not valid.
func (g *generator) clientConnection() any {
	connection := map[string]any{}
	g.setSome(3, connection, map[string][]any{
		"kubeconfig": {"", "/none"}, "acceptContentTypes": {"", "application/json"}, "contentType": {"", "application/json", "text/none"},
		"qps": {0, 10, -1, 0.5, "many"}, "burst": {0, 20, -1},
	})
	return connection
}

// tlsConfig returns the certificates of an extender, some of which cannot be used.
func (g *generator) tlsConfig() any {
	config := map[string]any{}
	text := []any{"", "bm90IGEgY2VydGlmaWNhdGU=", "not base64"}
	g.setSome(3, config, map[string][]any{
		"insecure": {true, false}, "serverName": {"", "one"}, "certFile": {"", "/none/cert"}, "keyFile": {"", "/none/key"}, "caFile": {"", "/none/ca"},
		"certData": text, "keyData": text, "caData": text,
	})
	return config
}

// withOddities returns a configuration as YAML with something around it that a parser may trip over.
func (g *generator) withOddities(text string) string {
	before := pick(g, "", "---\n", "# c\n", "# c\n---\n", "---\n# c\n---\n", "---\n---\n", "%YAML 1.1\n---\n", "%YAML 1.2\n---\n", "\n\n", "\ufeff", "...\n", "null\n---\n",
		"%TAG ! tag:example.com,2000:\n---\n", "--- # c\n", "--- !!map\n", "\ufeff---\n", "? \n---\n")
	after := pick(g, "", "", "---\n", "...\n", "# c\n", "---\n# c\n", "...\n---\n", "\n\n", "...\n# c\n", "\x00")
	if g.oneIn(4) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return before + text + after
}

func (g *generator) extender() any {
	extender := map[string]any{"urlPrefix": pick(g, "http://one", "https://two", "", "no-scheme")}
	g.setSome(2, extender, map[string][]any{
		"filterVerb": {"filter"}, "prioritizeVerb": {"prioritize", ""}, "bindVerb": {"bind", ""}, "weight": {1, 5, 0, -1},
		"httpTimeout": {"1s", "0s", "-1s", "long"}, "ignorable": {true}, "nodeCacheCapable": {true}, "preemptVerb": {"preempt"}, "enableHTTPS": {true, false},
		"managedResources": {[]any{map[string]any{"name": pick(g, "example.com/card", "cpu", "a/b/c"), "ignoredByScheduler": g.oneIn(2)}}},
	})
	if g.oneIn(4) {
		extender["tlsConfig"] = g.tlsConfig()
	}
	return extender
}

func (g *generator) profileOfConfiguration(name string) any {
	sets := map[string]configv1.PluginSet{}
	for range g.IntN(3) {
		point := pick(g, "multiPoint", "permit", "placementGenerate", "placementScore", "score", "filter", "preFilter", "preScore", "bind", "queueSort", "preEnqueue", "reserve", "preBind", "postFilter")
		sets[point] = configv1.PluginSet{Enabled: some(g, 2, g.pluginOfConfiguration), Disabled: some(g, 2, func() configv1.Plugin {
			plugin := g.pluginOfConfiguration()
			if g.oneIn(4) {
				plugin.Name = "*"
			}
			plugin.Weight = nil
			return plugin
		})}
	}
	profile := map[string]any{"schedulerName": name, "plugins": sets}
	if g.oneIn(6) {
		profile["percentageOfNodesToScore"] = pick(g, 0, 30, 100, 101)
	}
	if g.oneIn(3) {
		profile["pluginConfig"] = some(g, 3, g.argsOfConfiguration)
	}
	return profile
}

func (g *generator) pluginOfConfiguration() configv1.Plugin {
	plugin := configv1.Plugin{Name: pick(g, "NodeAffinity", "NodeResourcesFit", "TaintToleration", "ImageLocality", "DefaultBinder", "InterPodAffinity",
		"PrioritySort", "SchedulingGates", "NodeName", "NodePorts", "PodTopologySpread", "VolumeBinding", "DefaultPreemption", "DynamicResources")}
	if g.oneIn(8) {
		plugin.Name = pick(g, "GangScheduling", "DeferredPodScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator")
	}
	if g.oneIn(20) {
		plugin.Name = pick(g, "Unknown", "EBSLimits", "")
	}
	if g.oneIn(2) {
		plugin.Weight = ptr.To(g.Int32N(20))
	}
	return plugin
}

// switchedArgs returns arguments whose meaning depends on feature gates.
func (g *generator) switchedArgs() map[string]any {
	for {
		if args := g.argsOfConfiguration(); args["name"] == dynamicResources || args["name"] == "VolumeBinding" {
			return args
		}
	}
}

// argsOfConfiguration returns the arguments of one plugin, some of them not valid.
func (g *generator) argsOfConfiguration() map[string]any {
	resources := func() []any {
		return some(g, 2, func() any {
			return map[string]any{"name": pick(g, "cpu", "memory", "example.com/card", "pods", ""), "weight": pick(g, 1, 3, 100, 0, 101)}
		})
	}
	shape := func() []any {
		return some(g, 3, func() any {
			return map[string]any{"utilization": pick(g, 0, 50, 100, 101), "score": pick(g, 0, 5, 10, 11)}
		})
	}
	all := map[string]map[string][]any{
		"NodeResourcesFit": {
			"ignoredResources": {[]any{"example.com/card"}, []any{"cpu"}, []any{"a/b/c"}}, "ignoredResourceGroups": {[]any{"example.com"}, []any{"a/b"}},
			"scoringStrategy": {map[string]any{
				"type": pick(g, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "Other", ""), "resources": resources(),
				"requestedToCapacityRatio": pick[any](g, nil, map[string]any{"shape": shape()}),
			}},
		},
		"NodeResourcesBalancedAllocation": {"resources": {resources()}},
		"InterPodAffinity":                {"hardPodAffinityWeight": {0, 50, 100, 101, -1}, "ignorePreferredTermsOfExistingPods": {true}},
		"NodeAffinity":                    {"addedAffinity": {plain(g.validNodeAffinity()), plain(g.nodeAffinity())}},
		"PodTopologySpread": {
			"defaultingType": {"List", "System", "Other"}, "defaultConstraints": {plain(some(g, 2, g.spreadConstraint)), []any{map[string]any{
				"maxSkew": pick(g, 0, 1, 2), "topologyKey": pick(g, "zone", "", "not a key"), "whenUnsatisfiable": pick(g, "DoNotSchedule", "ScheduleAnyway", ""),
			}}},
		},
		"VolumeBinding":     {"bindTimeoutSeconds": {0, 5, -1}, "shape": {shape()}},
		"DefaultPreemption": {"minCandidateNodesPercentage": {0, 10, 100, 101, -1}, "minCandidateNodesAbsolute": {0, 100, -1}},
		"DynamicResources":  {"filterTimeout": {"0s", "5s", "-1s", "1ns", "long"}, "bindingTimeout": {"10m", "0s", "1s", "999ms", "-1s"}},
		"TaintToleration":   {},
	}
	name := pick(g, slices.Sorted(maps.Keys(all))...)
	args := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(all[name])) {
		if value := pick(g, all[name][field]...); !g.oneIn(3) {
			args[field] = value
		}
	}
	if g.oneIn(4) {
		args["apiVersion"], args["kind"] = "kubescheduler.config.k8s.io/v1", name+"Args"
	}
	return map[string]any{"name": name, "args": args}
}

// plain returns a value as it comes out of a JSON document.
func plain(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var result any
	if err := json.Unmarshal(text, &result); err != nil {
		return nil
	}
	return result
}

// mutated returns a copy of a document with up to three random changes.
func (g *generator) mutated(document any) any {
	for range 1 + g.IntN(3) {
		document = plain(document)
		places := placesIn(document)
		place := pick(g, places...)
		other := pick(g, places...)
		switch g.IntN(6) {
		case 0:
			place.remove()
		case 1:
			place.set(pick[any](g, "", "x", 0, -1, 101, 1.5, true, nil, []any{}, map[string]any{}, "10s", "*"))
		case 2:
			place.set(plain(other.get()))
		case 3:
			place.rename(pick(g, "name", "args", "weight", "enabled", "disabled", "profiles", "Profiles", "extra", "filter", "score", "multiPoint"))
		case 4:
			place.repeat()
		case 5:
			if text, ok := place.get().(string); ok {
				place.set(text + pick(g, "x", " ", "/v2", "\n"))
			}
		}
	}
	return document
}

// place is a spot in a document: a key of a mapping, or an index of a list.
type place struct {
	mapping map[string]any
	key     string
	list    []any
	index   int
	// replace puts another list in the place of this one.
	replace func([]any)
}

func (p place) get() any {
	if p.mapping != nil {
		return p.mapping[p.key]
	}
	return p.list[p.index]
}

func (p place) set(value any) {
	if p.mapping != nil {
		p.mapping[p.key] = value
		return
	}
	p.list[p.index] = value
}

func (p place) remove() {
	if p.mapping != nil {
		delete(p.mapping, p.key)
		return
	}
	p.replace(slices.Delete(slices.Clone(p.list), p.index, p.index+1))
}

func (p place) rename(key string) {
	if p.mapping != nil {
		value := p.mapping[p.key]
		delete(p.mapping, p.key)
		p.mapping[key] = value
	}
}

func (p place) repeat() {
	if p.mapping == nil {
		p.replace(append(slices.Clone(p.list), plain(p.list[p.index])))
	}
}

// placesIn returns all places of a document, in an order that depends on the document alone.
func placesIn(document any) []place {
	var places []place
	var visit func(value any, replace func([]any))
	visit = func(value any, replace func([]any)) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				places = append(places, place{mapping: value, key: key})
				visit(value[key], func(list []any) { value[key] = list })
			}
		case []any:
			for i := range value {
				places = append(places, place{list: value, index: i, replace: replace})
				visit(value[i], func(list []any) { value[i] = list })
			}
		}
	}
	visit(document, func([]any) {})
	return places
}

// simplerDocuments yields copies of a document with one thing taken away.
func simplerDocuments(document any) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range placesIn(document) {
			smaller := plain(document)
			placesIn(smaller)[i].remove()
			if !yield(smaller) {
				return
			}
		}
	}
}
