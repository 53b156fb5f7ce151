// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package mutant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Test is a test to run on mutated sources.
type Test struct {
	// Package is the folder of the package whose test it is, from the root of the module, with slashes. It may be in a
	// nested module that uses the sources of this one.
	Package string
	// Run is the -test.run expression.
	Run string
	// Env is added to the environment of the test, as "NAME=value".
	Env []string
}

// Result is the outcome of a test on mutated sources.
type Result struct {
	// Found is set if the test failed, as it should.
	Found bool
	// Output is what the test printed.
	Output string
}

// Try builds the test with the mutants put in, and runs it. The context bounds how long that takes; a test that is stopped
// by it, and mutants that don't compile, are errors.
func (t Test) Try(ctx context.Context, mutants ...Mutant) (Result, error) {
	root, err := Root()
	if err != nil {
		return Result{}, err
	}
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return Result{}, fmt.Errorf("making a folder for mutants: %w", err)
	}
	defer os.RemoveAll(folder)
	overlay, err := Overlay(root, folder, mutants...)
	if err != nil {
		return Result{}, err
	}
	tested := filepath.Join(root, filepath.FromSlash(t.Package))
	binary := filepath.Join(folder, "mutated.test")
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-overlay", overlay, "-c", "-o", binary, ".")
	build.Dir = tested
	if output, err := build.CombinedOutput(); err != nil {
		return Result{}, fmt.Errorf("building the tests of %s with mutants: %w\n%s", t.Package, err, output)
	}
	run := exec.CommandContext(ctx, binary, "-test.run", t.Run)
	run.Dir, run.Env = tested, append(os.Environ(), t.Env...)
	output, err := run.CombinedOutput()
	result := Result{Output: string(output)}
	if failed := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return result, fmt.Errorf("running the tests of %s with mutants: %w", t.Package, errors.Join(ctx.Err(), err))
	}
	result.Found = err != nil
	return result, nil
}
