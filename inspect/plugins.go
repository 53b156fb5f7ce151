// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

// Plugins shows a registry: the plugins that profiles may name.
type Plugins struct {
	Plugins []Plugin `json:"plugins"`
}

// Plugin is an entry of the registry.
type Plugin struct {
	Name string `json:"name"`
	// InTree tells that the plugin comes with the scheduler.
	InTree bool `json:"inTree"`
	// Built tells that the plugin does its work. One that is not built has a stand-in, which rejects the pods that need
	// the plugin.
	Built bool `json:"built"`
	// ExtensionPoints are the points that the plugin implements, in the order in which a pod passes them.
	ExtensionPoints []string `json:"extensionPoints"`
	// EnabledByDefault tells that a profile that says nothing else runs the plugin.
	EnabledByDefault bool `json:"enabledByDefault"`
	// DefaultWeight is the weight of its scores in such a profile; zero if it does not score.
	DefaultWeight int32 `json:"defaultWeight,omitempty"`
	// Events are the events that wake pods which the plugin rejected, by label.
	Events []PluginEvent `json:"events"`
	// Problem says why nothing is known about a plugin that could not be made, such as one that needs arguments.
	Problem string `json:"problem,omitempty"`
}

// PluginEvent is an event that a plugin waits for.
type PluginEvent struct {
	Event string `json:"event"`
	Hint  bool   `json:"hint"`
}

// PluginEvents returns the events of one plugin in a profile, in the order of the table of events.
func (p *ProfileEvents) PluginEvents(plugin string) []PluginEvent {
	events := []PluginEvent{}
	for _, row := range p.Atomic {
		for _, waiting := range row.Plugins {
			if waiting.Name == plugin {
				events = append(events, PluginEvent{Event: row.Event, Hint: waiting.Hint})
			}
		}
	}
	return events
}
