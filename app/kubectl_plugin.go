// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isKubectlPlugin reports whether a binary is called as kubectl calls its plugin "rouse".
func isKubectlPlugin(binary string) bool {
	name := strings.TrimSuffix(filepath.Base(binary), ".exe")
	return name == "kubectl-rouse"
}

// asKubectlPlugin has help and errors name the command as it is typed.
func asKubectlPlugin(command *cobra.Command) {
	command.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl rouse"}
}

// completePods offers the names of the pods of the cluster or the files that the flags name.
func (f *objectFlags) completePods(namespace *string, prefix string) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 || !f.fromFiles() && !f.asked(command) {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names, err := f.podNames(command.Context(), command, f.namespaceOf(command, *namespace))
		if err != nil {
			cobra.CompDebugln(err.Error(), true)
			return nil, cobra.ShellCompDirectiveError
		}
		for i := range names {
			names[i] = prefix + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// namespaceOf returns the namespace of pods whose names do not include it.
func (f *objectFlags) namespaceOf(command *cobra.Command, given string) string {
	switch {
	case given != "":
		return given
	case !f.fromFiles() && f.asked(command):
		return f.namespace()
	}
	return metav1.NamespaceDefault
}

func (f *objectFlags) podNames(ctx context.Context, command *cobra.Command, namespace string) (names []string, err error) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !f.fromFiles() {
		client, err := f.client()
		if err != nil {
			return nil, err
		}
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: pageSize})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	}
	objects, err := objectsOf(command, f.files)
	for _, object := range objects {
		if pod, isPod := object.(*v1.Pod); isPod && pod.Namespace == namespace {
			names = append(names, pod.Name)
		}
	}
	return names, err
}
