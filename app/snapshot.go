// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/simulate"
)

func (p *program) snapshotCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "snapshot [--context NAME] [--redact]",
		Short: "Write the objects of a cluster that a scheduler reads",
		Long: "Writes one list with every object of a cluster that the scheduler and the in-tree plugins read. It is the input of\n" +
			"simulate, explain and audit. What you may not list is named on standard error and left out; nothing is changed.",
		Example: "  rouse snapshot --context production > cluster.yaml\n" +
			"  rouse explain pod shop/web-1 -f cluster.yaml",
		Args: between(0, 0, ""),
	}
	from := addContextFlags(command, true)
	redact := command.Flags().Bool("redact", false, "replace names, labels and images by meaningless ones, the same for the same, and leave out what schedulers do not read")
	command.RunE = func(command *cobra.Command, _ []string) error {
		client, err := from.client()
		if err != nil {
			return err
		}
		objects, forbidden, err := listCluster(command.Context(), client)
		if err != nil {
			return err
		}
		warnForbidden(command, forbidden)
		var change func(map[string]any)
		if *redact {
			var key [32]byte
			_, _ = rand.Read(key[:]) // never fails
			change = newRedactor(key[:]).object
		}
		if err := writeList(command.OutOrStdout(), objects, change); err != nil {
			return fmt.Errorf("writing the snapshot: %w", err)
		}
		return nil
	}
	return command
}

// writeList writes objects as a list in YAML, without what only the API server needs, each after a change, if one is given.
func writeList(w io.Writer, objects []apiruntime.Object, change func(map[string]any)) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "apiVersion: v1\nkind: List\nitems:\n")
	if len(objects) == 0 {
		fmt.Fprint(out, "[]\n")
	}
	for _, object := range objects {
		fields, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		for _, path := range [][]string{{"metadata", "managedFields"}, {"metadata", "annotations", v1.LastAppliedConfigAnnotation}} {
			unstructured.RemoveNestedField(fields, path...)
		}
		if change != nil {
			change(fields)
		}
		text, err := yaml.Marshal([]any{fields})
		if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return out.Flush()
}

// objectsOf returns the objects of files of kubectl get output, typed where client-go has types.
func objectsOf(command *cobra.Command, paths []string) ([]apiruntime.Object, error) {
	input, err := simulate.Load(paths, simulate.LoadOptions{Stdin: command.InOrStdin()})
	if err != nil {
		return nil, err
	}
	for _, warning := range input.Warnings {
		warn(command, warning)
	}
	return input.Objects(), nil
}
