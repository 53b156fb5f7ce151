// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// Machine is where the report comes from.
type Machine struct {
	CPUs  int    `json:"cpus"`
	Model string `json:"model"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	// KubeScheduler is the version that Rouse is compared with.
	KubeScheduler string `json:"kubeScheduler"`
}

// kubeSchedulerVersion is that of k8s.io/kubernetes in go.mod; go run does not record it in the binary of a dependency
// that is replaced.
const kubeSchedulerVersion = "v1.37.1"

func thisMachine() Machine {
	return Machine{
		CPUs:          runtime.GOMAXPROCS(0),
		Model:         cpuModel(),
		OS:            runtime.GOOS + "/" + runtime.GOARCH,
		Go:            runtime.Version(),
		KubeScheduler: kubeSchedulerVersion,
	}
}

// cpuModel returns what Linux calls the first CPU, or nothing elsewhere.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
