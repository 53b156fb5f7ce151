// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// settings are the programs that TestMain built, and the sizes that the environment chose.
var settings struct {
	Binaries
	nodes, pods int
	seed        uint64
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	folder, err := os.MkdirTemp("", "rouse-cluster")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	if err := divertLogs(filepath.Join(folder, "apiserver.log")); err != nil {
		return 0, err
	}
	settings.nodes, settings.pods, settings.seed = number("NODES", 100), number("PODS", 500), uint64(number("SEED", 1))
	if settings.Binaries, err = BuildBinaries(folder); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// divertLogs sends to a file what the API server and the clients of etcd log to standard error, thousands of lines. A
// crash is still reported on standard error.
func divertLogs(path string) error {
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	standardError, err := unix.Dup(unix.Stderr)
	if err != nil {
		return fmt.Errorf("keeping standard error: %w", err)
	}
	if err := debug.SetCrashOutput(os.NewFile(uintptr(standardError), "stderr"), debug.CrashOptions{}); err != nil {
		return fmt.Errorf("keeping standard error: %w", err)
	}
	if err := unix.Dup2(int(log.Fd()), unix.Stderr); err != nil {
		return fmt.Errorf("diverting standard error: %w", err)
	}
	return nil
}

// number reads a setting from the environment.
func number(name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		panic(fmt.Sprintf("the environment variable %s is %q, which is not a positive number", name, text))
	}
	return value
}
