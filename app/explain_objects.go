// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"time"

	"github.com/spf13/cobra"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/advice"
	"github.com/rouse-scheduler/rouse/inspect"
)

// objectFlags are those of an explanation from the objects of a cluster, whoever schedules its pods.
type objectFlags struct {
	*contextFlags
	replay *replay // whose configuration it is
	files  []string
}

func addObjectFlags(command *cobra.Command, r *replay) *objectFlags {
	f := &objectFlags{contextFlags: addContextFlags(command, r.program.kubectl), replay: r}
	command.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "file or folder with the output of 'kubectl get' or of 'rouse snapshot'; - is standard input")
	return f
}

// fromFiles reports whether the objects are in files.
func (f *objectFlags) fromFiles() bool { return len(f.files) > 0 }

// explain explains a pod as the plugins see the objects; further are arguments that have no place here.
func (f *objectFlags) explain(command *cobra.Command, further []string, namespace, name string, nodes int) (_ *inspect.Explanation, err error) {
	for _, flag := range []string{"scenario", "at", "seed", "server"} {
		if command.Flags().Changed(flag) {
			return nil, usageError(command, "--%s cannot be used with --context, --kubeconfig or --filename", flag)
		}
	}
	if len(further) > 0 {
		return nil, usageError(command, "%q takes one pod here, but got %q as well", command.CommandPath(), further[0])
	}
	objects, err := f.objects(command)
	if err != nil {
		return nil, err
	}
	configuration, built, err := f.replay.program.frameworks(command, *f.replay.config)
	if err != nil {
		return nil, err
	}
	defer closing(&err, built.Close)
	if err := leaveOutExtenders(command, configuration); err != nil {
		return nil, err
	}
	ctx := command.Context()
	cluster, err := f.replay.program.newWhatIf(ctx, configuration, objects)
	if err != nil {
		return nil, err
	}
	defer closing(&err, cluster.Close)
	chosen, err := inOrder(configuration, built, "")
	if err != nil {
		return nil, err
	}
	events := inspect.EventSource(chosen[0])
	if pod := podNamed(cluster, namespace, name); pod != nil && built[pod.Spec.SchedulerName] != nil {
		events = built[pod.Spec.SchedulerName]
	}
	explanation, err := advice.Explain(ctx, cluster, events, namespace, name, nodes, time.Now())
	if err != nil {
		return nil, withSuggestion(err)
	}
	advise(ctx, cluster, explanation, nodes)
	return explanation, nil
}

func (f *objectFlags) objects(command *cobra.Command) ([]apiruntime.Object, error) {
	if f.fromFiles() {
		return objectsOf(command, f.files)
	}
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	objects, forbidden, err := listCluster(command.Context(), client)
	if err != nil {
		return nil, err
	}
	warnForbidden(command, forbidden)
	return objects, nil
}
