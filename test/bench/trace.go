// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// The trace row replays a production trace in simulate: Alibaba's cluster-trace-gpu-v2023, called openb, of 1,523 nodes
// and 8,152 pods. kube-scheduler has nothing to compare it with. The trace is not part of the project; openb_node_list and
// openb_pod_list of https://github.com/alibaba/clusterdata, or files with the same columns, are read from a folder.

const (
	gpuShare = "openb.example/gpu-milli"
	gpuModel = "openb.example/gpu-model"
	// traceDay is how long a day of the trace takes in virtual time. Backoff and waiting stay what they are, so this
	// decides how much of them there is.
	traceDay = time.Minute
)

func traceGroups(dir string) []group {
	if dir == "" {
		return nil
	}
	once := func(ctx context.Context, m *meter) (Sample, error) {
		input, pods, err := traceInput(dir)
		if err != nil {
			return nil, err
		}
		m.start()
		if _, err := simulate.Run(ctx, input, simulate.Options{}); err != nil {
			return nil, err
		}
		return m.stop(pods), nil
	}
	return []group{{work: []work{{
		Row:  Row{Workload: "simulate", Case: "openb", Size: 1_523, Unit: "nodes", Metric: WallNanos},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){Rouse: once},
	}}}}
}

// traceInput turns the trace into a scenario, which it also returns the number of pods of.
func traceInput(dir string) (input *simulate.Input, pods int, err error) {
	nodes, err := readColumns(filepath.Join(dir, "nodes.csv"))
	if err != nil {
		return nil, 0, err
	}
	podRows, err := readColumns(filepath.Join(dir, "pods.csv"))
	if err != nil {
		return nil, 0, err
	}
	scenario, err := os.CreateTemp("", "openb-*.yaml")
	if err != nil {
		return nil, 0, err
	}
	defer os.Remove(scenario.Name())
	if err := writeTrace(scenario, nodes, podRows); err != nil {
		return nil, 0, err
	}
	if err := scenario.Close(); err != nil {
		return nil, 0, err
	}
	input, err = simulate.Load([]string{scenario.Name()}, simulate.LoadOptions{})
	return input, len(podRows), err
}

// object is anything in JSON, which is YAML too.
type object = map[string]any

func writeTrace(to io.Writer, nodes, pods []map[string]string) error {
	write := func(o object) error {
		if _, err := io.WriteString(to, "---\n"); err != nil {
			return err
		}
		return json.NewEncoder(to).Encode(o)
	}
	for _, row := range nodes {
		if err := write(traceNode(row)); err != nil {
			return err
		}
	}
	steps, err := traceSteps(pods)
	if err != nil {
		return err
	}
	return write(object{
		"apiVersion": "rouse/v1alpha1", "kind": "Scenario", "metadata": object{"name": "openb"}, "spec": object{"steps": steps},
	})
}

func traceNode(row map[string]string) object {
	room := object{"cpu": row["cpu_milli"] + "m", "memory": row["memory_mib"] + "Mi", "pods": "110"}
	labels := object{"kubernetes.io/hostname": row["sn"]}
	if cards, _ := strconv.Atoi(row["gpu"]); cards > 0 {
		room[gpuShare] = strconv.Itoa(1000 * cards)
		labels[gpuModel] = row["model"]
	}
	return object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": row["sn"], "labels": labels},
		"status": object{"capacity": room, "allocatable": room},
	}
}

// traceSteps create each pod when it was created, and delete it when it was deleted.
func traceSteps(rows []map[string]string) ([]object, error) {
	type step struct {
		at   time.Duration
		does object
	}
	var deletions, creations []step
	for _, row := range rows {
		created, err := traceTime(row["creation_time"])
		if err != nil {
			return nil, err
		}
		creations = append(creations, step{created, object{"create": tracePod(row)}})
		if row["deletion_time"] == "" {
			continue
		}
		deleted, err := traceTime(row["deletion_time"])
		if err != nil {
			return nil, err
		}
		if deleted > created {
			pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": row["name"], "namespace": "default"}}
			deletions = append(deletions, step{deleted, object{"delete": pod}})
		}
	}
	// At the same time, pods go before others come.
	all := slices.Concat(deletions, creations)
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	steps := make([]object, 0, len(all))
	for _, s := range all {
		s.does["at"] = s.at.String()
		steps = append(steps, s.does)
	}
	return steps, nil
}

// traceTime is when something happens in virtual time that the trace has at so many seconds.
func traceTime(seconds string) (time.Duration, error) {
	when, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return 0, fmt.Errorf("a time in the trace: %w", err)
	}
	return time.Duration(when / (24 * 60 * 60) * float64(traceDay)).Round(time.Millisecond), nil
}

func tracePod(row map[string]string) object {
	requests := object{"cpu": row["cpu_milli"] + "m", "memory": row["memory_mib"] + "Mi"}
	limits := object{}
	cards, _ := strconv.Atoi(row["num_gpu"])
	if share, _ := strconv.Atoi(row["gpu_milli"]); cards*share > 0 {
		requests[gpuShare] = strconv.Itoa(cards * share)
		limits[gpuShare] = requests[gpuShare]
	}
	spec := object{"containers": []object{{
		"name": "main", "image": "registry.example/openb:1", "resources": object{"requests": requests, "limits": limits},
	}}}
	if models := row["gpu_spec"]; models != "" {
		accepted := strings.Split(models, "|")
		slices.Sort(accepted)
		spec["affinity"] = object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{
			"nodeSelectorTerms": []object{{"matchExpressions": []object{{"key": gpuModel, "operator": "In", "values": accepted}}}},
		}}}
	}
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": row["name"], "namespace": "default", "labels": object{"qos": row["qos"]}}, "spec": spec,
	}
}

// readColumns reads a CSV file with a header.
func readColumns(name string) ([]map[string]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("reading %s: it is empty", name)
	}
	rows := make([]map[string]string, 0, len(records)-1)
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, value := range record {
			row[records[0][i]] = value
		}
		rows = append(rows, row)
	}
	return rows, nil
}
