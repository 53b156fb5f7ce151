// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"path/filepath"

	"github.com/rouse-scheduler/rouse/test/programs"
)

// Binaries are the paths of the programs under test.
type Binaries struct {
	Rouse         string
	KubeScheduler string
	Custom        string // Rouse with a plugin of its own: customscheduler
}

// BuildBinaries builds them into a folder.
func BuildBinaries(folder string) (Binaries, error) {
	custom := programs.Program{Name: "customscheduler", Package: "./cluster/customscheduler"}
	built := Binaries{
		Rouse:         filepath.Join(folder, programs.Rouse().Name),
		KubeScheduler: filepath.Join(folder, programs.KubeScheduler().Name),
		Custom:        filepath.Join(folder, custom.Name),
	}
	return built, programs.Build(context.Background(), folder, []string{"-ldflags=-s -w"}, programs.Rouse(), programs.KubeScheduler(), custom)
}
