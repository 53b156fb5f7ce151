// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Gangscheduler is a Kubernetes scheduler with two plugins of its own: Gang and Quota.
package main

import (
	"os"

	"github.com/rouse-scheduler/rouse/app"

	"example.com/gangscheduler/gang"
	"example.com/gangscheduler/quota"
)

func main() {
	os.Exit(app.Run(app.NewSchedulerCommand(options()...)))
}

// options are the plugins of the scheduler.
func options() []app.Option {
	return []app.Option{app.WithPlugin(gang.Name, gang.New), app.WithPlugin(quota.Name, quota.New)}
}
