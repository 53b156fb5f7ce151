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
	// InTree reports whether the plugin comes with the scheduler.
	InTree bool `json:"inTree"`
	// ExtensionPoints are the points that the plugin implements, in the order in which a pod passes them.
	ExtensionPoints []string `json:"extensionPoints"`
	// EnabledByDefault reports whether the default profile runs the plugin.
	EnabledByDefault bool `json:"enabledByDefault"`
	// DefaultWeight is the weight of its scores in such a profile; zero if it does not score.
	DefaultWeight int32 `json:"defaultWeight,omitempty"`
	// Events are the events that the plugin registered, which wake pods that it rejected.
	Events []PluginEvent `json:"events"`
	// Problem is the error of a plugin that cannot be created, such as one that needs arguments; the rest is unknown then.
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
