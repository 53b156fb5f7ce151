// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Rackscheduler is a Kubernetes scheduler with one plugin of its own: RackBudget.
package main

import (
	"os"

	"github.com/rouse-scheduler/rouse/app"

	"example.com/rackscheduler/rackbudget"
)

func main() {
	os.Exit(app.Run(app.NewSchedulerCommand(app.WithPlugin(rackbudget.Name, rackbudget.New))))
}
