// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs that tests and benchmarks run as processes of their own.
package programs

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is something that can be built, by the import path of its main package relative to its module.
type Program struct {
	// Name is that of the binary.
	Name string
	// Package is the main package: of the module of Rouse if it begins with "./cmd/", else of the module of the tests.
	Package string
}

// Rouse is rouse of this repository.
func Rouse() Program { return Program{Name: "rouse", Package: "./cmd/rouse"} }

// KubeScheduler is kube-scheduler of the version of k8s.io/kubernetes that go.mod of the tests names.
func KubeScheduler() Program {
	return Program{Name: "kube-scheduler", Package: "k8s.io/kubernetes/cmd/kube-scheduler"}
}

// Build builds programs into a folder, with the flags of go build. The current folder must be in the module of the tests.
func Build(ctx context.Context, folder string, flags []string, which ...Program) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("building into %s: %w", folder, err)
	}
	root, err := ModuleFolder(ctx)
	if err != nil {
		return err
	}
	for _, program := range which {
		arguments := append([]string{"build", "-o", filepath.Join(folder, program.Name)}, flags...)
		command := exec.CommandContext(ctx, "go", append(arguments, program.Package)...)
		command.Dir = root
		if strings.HasPrefix(program.Package, "./cmd/") {
			command.Dir = filepath.Dir(root)
		}
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", program.Package, err, output)
		}
	}
	return nil
}

// ModuleFolder returns the folder of a module that the module of the tests requires; without a path, of the module of the
// tests itself.
func ModuleFolder(ctx context.Context, path ...string) (string, error) {
	arguments := append([]string{"list", "-m", "-f", "{{.Dir}}"}, path...)
	output, err := exec.CommandContext(ctx, "go", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("finding the folder of module %s: %w", strings.Join(path, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
