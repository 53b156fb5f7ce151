// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/inspect"
)

func (p *program) explainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain",
		Short: "Explain what became of a pod",
	}
	command.AddCommand(p.explainPodCommand())
	asGroup(command)
	return command
}

func (p *program) explainPodCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "pod [NAMESPACE/]NAME {--server URL | --scenario PATH [PATH...]}",
		Short: "Explain why a pod waits, what would wake it, and which nodes are closest",
		Long: "Explains where a pod is: who rejected it and why, which events would wake it, what the plugins said to the last\n" +
			"ones, and which nodes are closest to taking it, with everything that is in the way there.\n\n" +
			"With --server it asks a scheduler that is at work, 'rouse run', as it is now. With --scenario it replays manifests\n" +
			"and scenarios as simulate does, to their end or to a moment.",
		Example: "  rouse explain pod shop/web-1 --server https://localhost:10259 --token-file token --certificate-authority ca.crt\n" +
			"  rouse explain pod web-1 --scenario cluster.yaml\n" +
			"  rouse explain pod shop/web-1 --scenario cluster.yaml scenario.yaml --at 25s\n" +
			"  kubectl get nodes,pods -A -o yaml | rouse explain pod shop/web-1 --scenario -",
		Args: between(1, -1, "the name of a pod"),
	}
	server := addServerFlags(command)
	scenario := p.addScenarioFlags(command)
	nodes := command.Flags().Int("nodes", inspect.DefaultNodes, "how many of the closest nodes to show")
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		namespace, name, err := podOf(command, args[0])
		if err != nil {
			return err
		}
		if *nodes < 0 {
			return usageError(command, "--nodes is %d, but must not be negative", *nodes)
		}
		explain := scenario.explain
		if server.asked(command) {
			explain = server.explain
		}
		explanation, err := explain(command, args[1:], namespace, name, *nodes)
		if err != nil {
			return err
		}
		return output.write(command, explanation)
	}
	return command
}

// scenarioFlags are those of an explanation of a simulation.
type scenarioFlags struct {
	replay *replay
	paths  []string
	at     time.Duration
}

func (p *program) addScenarioFlags(command *cobra.Command) *scenarioFlags {
	f := &scenarioFlags{replay: p.newReplay(command)}
	command.Flags().StringArrayVar(&f.paths, "scenario", nil, "file or folder to replay, as are further ones on the command line; - is standard input")
	command.Flags().DurationVar(&f.at, "at", 0, "explain the pod as it is at this time since the start of the scenario, such as 25s; without it, at the end")
	return f
}

// explain explains a pod of a simulation; further are the paths without a flag.
func (f *scenarioFlags) explain(command *cobra.Command, further []string, namespace, name string, nodes int) (*inspect.Explanation, error) {
	switch {
	case len(f.paths) == 0:
		return nil, usageError(command, "%q needs --server, or --scenario with at least one file or folder", command.CommandPath())
	case f.at < 0:
		return nil, usageError(command, "--at is %v, which is before the start", f.at)
	}
	var until *time.Duration
	if command.Flags().Changed("at") {
		until = &f.at
	}
	explainer := inspect.NewExplainer(command.Context(), namespace, name)
	cluster, err := f.replay.run(command, append(f.paths, further...), explainer, until)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	explanation, err := explainer.Explain(nodes)
	return explanation, withSuggestion(err)
}

// podOf reads the name of a pod, with or without namespace.
func podOf(command *cobra.Command, argument string) (namespace, name string, err error) {
	namespace, name, qualified := strings.Cut(argument, "/")
	if !qualified {
		namespace, name = metav1.NamespaceDefault, argument
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", usageError(command, "%q is not the name of a pod; write NAME or NAMESPACE/NAME", argument)
	}
	return namespace, name, nil
}

// withSuggestion adds the pod that was probably meant to an error about one that does not exist.
func withSuggestion(err error) error {
	var missing *inspect.NoSuchPodError
	switch {
	case !errors.As(err, &missing):
		return err
	case len(missing.Pods) == 0:
		return fmt.Errorf("%w; there are no pods at all", err)
	}
	return fmt.Errorf("%w%s", err, suggestion(missing))
}

// suggestion is the end of a message about a pod that does not exist. It names the one of that name in another namespace,
// or else one that is written alike, and is empty if there is neither.
func suggestion(missing *inspect.NoSuchPodError) string {
	for _, pod := range missing.Pods {
		if strings.HasSuffix(pod, "/"+missing.Name) {
			return fmt.Sprintf("; did you mean %q?", pod)
		}
	}
	return didYouMean(missing.Namespace+"/"+missing.Name, missing.Pods, "")
}
