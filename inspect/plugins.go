// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

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

// WriteText writes a table with a row for each plugin, and below it what there is to say about some of them.
func (p *Plugins) WriteText(w io.Writer, style Style) error {
	var b strings.Builder
	list := table{
		header: []string{"PLUGIN", "DEFAULT", "WEIGHT", "EVENTS", "EXTENSION POINTS"},
		right:  map[int]bool{2: true, 3: true},
	}
	var notes []string
	for i := range p.Plugins {
		plugin := &p.Plugins[i]
		name := plugin.Name
		switch {
		case !plugin.InTree:
			name += " (out of tree)"
		case !plugin.Built:
			name += " (stand-in)"
		}
		points, events := cell{text: strings.Join(plugin.ExtensionPoints, " ")}, cell{text: decimal(len(plugin.Events))}
		if len(plugin.Events) == 0 {
			events = cell{"-", dim}
		}
		if plugin.Problem != "" {
			points, events = cell{"?", red}, cell{"?", red}
			notes = append(notes, style.paint(red, fmt.Sprintf("%s could not be made: %s", plugin.Name, plugin.Problem)))
		}
		list.cells(cell{text: name}, yesOrNo(plugin.EnabledByDefault), weightCell(plugin.DefaultWeight), events, points)
	}
	list.draw(&b, style)
	if slices.ContainsFunc(p.Plugins, func(plugin Plugin) bool { return !plugin.Built }) {
		notes = append(notes, "A stand-in keeps the place of a plugin that is not built yet: it rejects the pods that need the plugin.")
	}
	for _, note := range notes {
		b.WriteString("\n" + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func yesOrNo(yes bool) cell {
	if yes {
		return cell{"yes", green}
	}
	return cell{"no", dim}
}

func weightCell(weight int32) cell {
	if weight == 0 {
		return cell{"-", dim}
	}
	return cell{text: decimal(int(weight))}
}
