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
		Use:   "pod [NAMESPACE/]NAME --scenario PATH [PATH...]",
		Short: "Explain why a pod waits, what would wake it, and which nodes are closest",
		Long: "Replays manifests and scenarios as simulate does, to their end or to a moment, and explains where a pod is then:\n" +
			"who rejected it and why, which events would wake it, what the plugins said to the last ones, and which nodes are\n" +
			"closest to taking it, with everything that is in the way there.",
		Example: "  rouse explain pod web-1 --scenario cluster.yaml\n" +
			"  rouse explain pod shop/web-1 --scenario cluster.yaml scenario.yaml --at 25s\n" +
			"  kubectl get nodes,pods -A -o yaml | rouse explain pod shop/web-1 --scenario -",
		Args: between(1, -1, "the name of a pod"),
	}
	r := p.newReplay(command)
	paths := command.Flags().StringArray("scenario", nil, "file or folder to replay, as are further ones on the command line; - is standard input")
	at := command.Flags().Duration("at", 0, "explain the pod as it is at this time since the start, such as 25s; without it, at the end")
	nodes := command.Flags().Int("nodes", inspect.DefaultNodes, "how many of the closest nodes to show")
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, args []string) error {
		namespace, name, err := podOf(command, args[0])
		switch {
		case err != nil:
			return err
		case len(*paths) == 0:
			return usageError(command, "%q needs --scenario with at least one file or folder", command.CommandPath())
		case *nodes < 0:
			return usageError(command, "--nodes is %d, but must not be negative", *nodes)
		case *at < 0:
			return usageError(command, "--at is %v, which is before the start", *at)
		}
		var until *time.Duration
		if command.Flags().Changed("at") {
			until = at
		}
		explainer := inspect.NewExplainer(command.Context(), namespace, name)
		cluster, err := r.run(command, append(*paths, args[1:]...), explainer, until)
		if err != nil {
			return err
		}
		defer cluster.Close()
		explanation, err := explainer.Explain(*nodes)
		if err != nil {
			return withSuggestion(err)
		}
		return output.write(command, explanation)
	}
	return command
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

// withSuggestion adds the pod that was probably meant to an error about one that does not exist: the one of that name in
// another namespace, or else one that is written alike.
func withSuggestion(err error) error {
	var missing *inspect.NoSuchPodError
	if !errors.As(err, &missing) {
		return err
	}
	if len(missing.Pods) == 0 {
		return fmt.Errorf("%w; there are no pods at all", err)
	}
	for _, pod := range missing.Pods {
		if strings.HasSuffix(pod, "/"+missing.Name) {
			return fmt.Errorf("%w; did you mean %q?", err, pod)
		}
	}
	return fmt.Errorf("%w%s", err, didYouMean(missing.Namespace+"/"+missing.Name, missing.Pods, ""))
}
