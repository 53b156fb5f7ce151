// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Command realapi runs a scheduler, as a process of its own, on a real kube-apiserver and etcd, which are in this process
// together with what creates the objects. All pods exist when the scheduler starts. It prints what that took as JSON, under
// the names of the metrics of test/bench.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// task is what the flags say.
type task struct {
	binary      string
	command     string // the subcommand, if the program has them
	shape       objects.Shape
	nodes, pods int
}

func main() {
	var t task
	flag.StringVar(&t.binary, "binary", "", "the scheduler")
	flag.StringVar(&t.command, "command", "", "its subcommand")
	shape := flag.String("shape", string(objects.Basic), "of the pods")
	flag.IntVar(&t.nodes, "nodes", 100, "how many nodes")
	flag.IntVar(&t.pods, "pods", 100, "how many pods")
	flag.Parse()
	t.shape = objects.Shape(*shape)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	usage, err := t.run(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "realapi:", err)
		os.Exit(1)
	}
}
