// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/runtime"
)

func (p *program) eventsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "events",
		Short: "Show the cluster events that wake the pods each plugin rejected",
		Long: "A pod that fits no node waits until an event happens that could help it. Every plugin registers the events\n" +
			"that matter to it; this prints the resulting event map of each profile.",
		Example: "  rouse events\n" +
			"  rouse events --event NodeUpdateNodeLabel\n" +
			"  rouse events --config scheduler.yaml --plugin NodeAffinity -o json",
		Args: between(0, 0, ""),
	}
	config := addConfigFlag(command)
	profile := addProfileFlag(command)
	output := addOutputFlag(command)
	var filter inspect.EventFilter
	command.Flags().StringVar(&filter.Event, "event", "", "only this event, such as NodeAdd, or all events of a resource, such as Node")
	command.Flags().StringVar(&filter.Plugin, "plugin", "", "only this plugin")
	complete(command, "event", inspect.EventLabels)
	complete(command, "plugin", p.pluginNames)
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		config, built, err := p.frameworks(command, *config)
		if err != nil {
			return err
		}
		defer closing(&err, built.Close)
		chosen, err := inOrder(config, built, *profile)
		if err != nil {
			return err
		}
		var sources []inspect.EventSource
		for _, framework := range chosen {
			sources = append(sources, framework)
		}
		view := inspect.NewEvents(sources...)
		if err := p.checkFilter(command, filter, view, chosen); err != nil {
			return err
		}
		if filter != (inspect.EventFilter{}) {
			return writeView(command, output, view.Narrow(filter), render.EventList)
		}
		return writeView(command, output, view, render.Events)
	}
	return command
}

// pluginNames returns the names of all plugins, for the shell.
func (p *program) pluginNames() []string {
	registry, err := p.registry()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(registry.Registry))
}

// checkFilter reports events that cannot happen and plugins that are in none of the profiles.
func (p *program) checkFilter(command *cobra.Command, filter inspect.EventFilter, view *inspect.Events, chosen []*runtime.Framework) error {
	if filter.Event != "" {
		events := view.FilterNames()
		if inspect.NeverAnnounced(filter.Event) {
			return usageError(command, "%q is never announced, even to plugins that registered it: it belongs to pod groups, which are not supported yet",
				filter.Event)
		}
		if !slices.Contains(events, filter.Event) {
			return usageError(command, "there is no event or resource %q%s", filter.Event, didYouMean(filter.Event, events, ""))
		}
	}
	if filter.Plugin == "" {
		return nil
	}
	var waiting []string
	for _, framework := range chosen {
		if framework.Plugin(filter.Plugin) != nil {
			return nil
		}
		waiting = slices.AppendSeq(waiting, maps.Keys(framework.Registrations()))
	}
	if names := p.pluginNames(); slices.Contains(names, filter.Plugin) {
		return fmt.Errorf("no profile runs the plugin %q; those that wait for events are %s",
			filter.Plugin, strings.Join(slices.Compact(slices.Sorted(slices.Values(waiting))), ", "))
	} else {
		return usageError(command, "there is no plugin %q%s", filter.Plugin, didYouMean(filter.Plugin, names, ""))
	}
}
