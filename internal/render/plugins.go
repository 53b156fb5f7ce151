// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Plugins writes a table with a row for each plugin, and notes below it.
func Plugins(w io.Writer, p *inspect.Plugins, style Style) error {
	var b strings.Builder
	list := table{
		header: []string{"PLUGIN", "DEFAULT", "WEIGHT", "EVENTS", "EXTENSION POINTS"},
		right:  map[int]bool{2: true, 3: true},
	}
	var notes []string
	for i := range p.Plugins {
		plugin := &p.Plugins[i]
		name := plugin.Name
		if !plugin.InTree {
			name += " (out-of-tree)"
		}
		points, events := cell{text: strings.Join(plugin.ExtensionPoints, " ")}, cell{text: decimal(len(plugin.Events))}
		if len(plugin.Events) == 0 {
			events = cell{"-", dim}
		}
		if plugin.Problem != "" {
			points, events = cell{"?", red}, cell{"?", red}
			notes = append(notes, style.paint(red, fmt.Sprintf("%s cannot be created: %s", plugin.Name, plugin.Problem)))
		}
		list.cells(cell{text: name}, yesOrNo(plugin.EnabledByDefault), weightCell(plugin.DefaultWeight), events, points)
	}
	list.draw(&b, style)
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
