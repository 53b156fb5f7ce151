// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/klog/v2"
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
	// The API server logs a lot to standard error; what it logs is only looked at when something is wrong.
	log, err := os.Create(filepath.Join(folder, "apiserver.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for _, setting := range []string{"-logtostderr=false", "-stderrthreshold=FATAL"} {
		if err := flags.Parse([]string{setting}); err != nil {
			return 0, err
		}
	}
	klog.SetOutput(log)
	settings.nodes, settings.pods, settings.seed = number("NODES", 100), number("PODS", 500), uint64(number("SEED", 1))
	if settings.Binaries, err = BuildBinaries(folder); err != nil {
		return 0, err
	}
	return m.Run(), nil
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
