// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Configuration writes the plugins and arguments of every profile, and then the settings.
func Configuration(w io.Writer, c *inspect.Configuration, style Style) error {
	var b strings.Builder
	if c.Source != "" {
		fmt.Fprintf(&b, "Configuration %s\n\n", style.paint(bold, c.Source))
	} else {
		b.WriteString("Default configuration\n\n")
	}
	for i := range c.Profiles {
		if err := drawProfile(&b, style, &c.Profiles[i]); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "%s\n", style.paint(bold, "Settings"))
	if err := drawYAML(&b, "  ", c.Settings); err != nil {
		return err
	}
	if len(c.Extenders) > 0 {
		fmt.Fprintf(&b, "\n%s\n", style.paint(bold, "Extenders"))
		if err := drawYAML(&b, "  ", c.Extenders); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func drawProfile(b *strings.Builder, style Style, p *inspect.Profile) error {
	fmt.Fprintf(b, "Profile %s\n\n", style.paint(bold, p.SchedulerName))
	if p.PercentageOfNodesToScore != nil {
		fmt.Fprintf(b, "  percentageOfNodesToScore: %d\n\n", *p.PercentageOfNodesToScore)
	}
	list := table{indent: "  ", header: []string{"EXTENSION POINT", "PLUGIN", "WEIGHT", "FROM"}, right: map[int]bool{2: true}}
	var empty []string
	for _, point := range p.ExtensionPoints {
		if len(point.Plugins) == 0 {
			empty = append(empty, point.Name)
		}
		for i, plugin := range point.Plugins {
			name, weight := "", ""
			if i == 0 {
				name = point.Name
			}
			if plugin.Weight != 0 {
				weight = decimal(int(plugin.Weight))
			}
			list.cells(cell{name, cyan}, cell{text: plugin.Name}, cell{text: weight}, originCell(point.Name, plugin.From))
		}
	}
	list.draw(b, style)
	if len(empty) > 0 {
		fmt.Fprintf(b, "\n  No plugins at %s.\n", strings.Join(empty, ", "))
	}
	b.WriteByte('\n')
	for _, config := range p.PluginConfig {
		if fields, isObject := config.Args.(map[string]any); config.Args == nil || isObject && len(fields) == 0 {
			continue
		}
		fmt.Fprintf(b, "  Arguments of %s\n", style.paint(bold, config.Name))
		if err := drawYAML(b, "    ", config.Args); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	return nil
}

// originCell says in the words of the configuration file where a plugin comes from.
func originCell(point string, from profiles.Origin) cell {
	switch from {
	case profiles.FromDefault:
		return cell{"default", dim}
	case profiles.FromNamed:
		return cell{"plugins." + point, yellow}
	default:
		return cell{"plugins." + string(from), yellow}
	}
}

// drawYAML writes a value as an indented block.
func drawYAML(b *strings.Builder, indent string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing %T as YAML: %w", value, err)
	}
	for line := range strings.Lines(string(text)) {
		b.WriteString(indent + line)
	}
	return nil
}
