// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Rouse is the Kubernetes scheduling framework as a command: see rouse --help.
package main

import (
	"os"

	"github.com/rouse-scheduler/rouse/app"
)

func main() {
	os.Exit(app.Run(app.NewSchedulerCommand()))
}
