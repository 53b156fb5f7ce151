// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Podgroups is a Kubernetes scheduler with plugins that read custom resources.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/app"

	"example.com/podgroups/api/v1alpha1"
	"example.com/podgroups/gang"
	"example.com/podgroups/maintenance"
	"example.com/podgroups/prices"
)

func main() {
	os.Exit(app.Run(newCommand()))
}

func newCommand() *cobra.Command {
	return app.NewSchedulerCommandWithScheme(v1alpha1.NewScheme(),
		app.WithPlugin(gang.Name, gang.New),
		app.WithPlugin(maintenance.Name, maintenance.New),
		app.WithPlugin(prices.Name, prices.New),
	)
}
