// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Binaries are the paths of the programs under test.
type Binaries struct {
	Rouse         string
	KubeScheduler string
	Custom        string // Rouse with a plugin of its own: customscheduler
}

// BuildBinaries builds them into a folder.
func BuildBinaries(folder string) (Binaries, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Binaries{}, err
	}
	built := Binaries{
		Rouse:         filepath.Join(folder, "rouse"),
		KubeScheduler: filepath.Join(folder, "kube-scheduler"),
		Custom:        filepath.Join(folder, "customscheduler"),
	}
	for _, build := range []struct{ module, target, to string }{
		{"../..", "./cmd/rouse", built.Rouse},
		{".", "k8s.io/kubernetes/cmd/kube-scheduler", built.KubeScheduler},
		{".", "./customscheduler", built.Custom},
	} {
		command := exec.Command("go", "build", "-ldflags=-s -w", "-o", build.to, build.target)
		command.Dir = build.module
		if output, err := command.CombinedOutput(); err != nil {
			return Binaries{}, fmt.Errorf("building %s: %w\n%s", build.target, err, output)
		}
	}
	return built, nil
}
