// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
)

// explainCommand has the pod as a command of its own, and as the type in TYPE/NAME, as kubectl takes it.
func (p *program) explainCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain",
		Short: "Explain the state of a pod",
		Example: "  rouse explain pod web-1 -n shop --server https://localhost:10259 --token-file token --certificate-authority ca.crt\n" +
			"  rouse explain pod/web-1 --scenario cluster.yaml",
	}
	command.AddCommand(p.explainPodCommand())
	asGroup(command)
	group := command.Args
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) > 0 && typedName(args[0]) != "" {
			return nil
		}
		return group(command, args)
	}
	explain := p.addExplanation(command)
	schema := command.Flags().Bool("schema", false, "print the JSON schema of -o json")
	command.RunE = func(command *cobra.Command, args []string) error {
		if *schema {
			return render.Schema(command.OutOrStdout(), "rouse explain -o json", inspect.Explanation{})
		}
		if len(args) == 0 {
			return command.Help()
		}
		return explain(command, typedName(args[0]), args[1:])
	}
	return command
}

// typedName returns the name in pod/NAME; empty if it is something else.
func typedName(argument string) string {
	kind, name, _ := strings.Cut(argument, "/")
	switch kind {
	case "pod", "pods", "po":
		return name
	}
	return ""
}

func (p *program) explainPodCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "pod [NAMESPACE/]NAME {--context NAME | --filename PATH | --server URL | --scenario PATH [PATH...]}",
		Aliases: []string{"pods", "po"},
		Short:   "Explain why a pod waits, what would wake it, and which nodes are closest",
		Long: "Explains why a pod waits: which plugins rejected it and why, which events would wake it, how the plugins\n" +
			"answered the last ones, and which nodes come closest, with everything that blocks the pod there.\n\n" +
			"With --context it reads the objects of a cluster, whichever scheduler it has, with --filename those in the output\n" +
			"of 'kubectl get' or 'rouse snapshot'; --config is the configuration of that scheduler. With --server it asks a\n" +
			"running 'rouse run', which knows its queue and the events too. With --scenario it replays manifests and scenarios\n" +
			"as simulate does, to the end or to the time given by --at.",
		Example: "  rouse explain pod web-1 -n shop --context production --config scheduler.yaml\n" +
			"  rouse explain pod shop/web-1 -f cluster.yaml\n" +
			"  rouse explain pod shop/web-1 --server https://localhost:10259 --token-file token --certificate-authority ca.crt\n" +
			"  rouse explain pod web-1 -n shop --scenario cluster.yaml\n" +
			"  rouse explain pod web-1 --scenario cluster.yaml\n" +
			"  rouse explain pod shop/web-1 --scenario cluster.yaml scenario.yaml --at 25s\n" +
			"  " + clusterInput + " | rouse explain pod shop/web-1 --scenario -",
		Args: between(1, -1, "the name of a pod"),
	}
	explain := p.addExplanation(command)
	command.RunE = func(command *cobra.Command, args []string) error { return explain(command, args[0], args[1:]) }
	return command
}

// addExplanation gives a command the flags of an explanation, and returns what explains the pod of a name; further are
// the arguments behind the name.
func (p *program) addExplanation(command *cobra.Command) func(command *cobra.Command, pod string, further []string) error {
	server := addServerFlags(command)
	scenario := p.addScenarioFlags(command)
	objects := addObjectFlags(command, scenario.replay)
	namespace := command.Flags().StringP("namespace", "n", "", "namespace of the pod, if the name does not include it; the default is that of the context, or default")
	nodes := command.Flags().Int("nodes", inspect.DefaultNodes, "how many of the closest nodes to show")
	output := addOutputFlag(command)
	prefix := ""
	if command.Name() == "explain" {
		prefix = "pod/"
	}
	command.ValidArgsFunction = objects.completePods(namespace, prefix)
	return func(command *cobra.Command, pod string, further []string) error {
		namespace, name, err := podOf(command, *namespace, pod, objects.namespaceOf(command, ""))
		if err != nil {
			return err
		}
		if *nodes < 0 {
			return usageError(command, "--nodes is %d, but must not be negative", *nodes)
		}
		explain := scenario.explain
		switch {
		case objects.fromFiles() || objects.named(command):
			explain = objects.explain
		case server.asked(command):
			explain = server.explain
		case len(scenario.paths) == 0 && objects.asked(command):
			explain = objects.explain
		}
		explanation, err := explain(command, further, namespace, name, *nodes)
		if err != nil {
			return err
		}
		return writeView(command, output, explanation, render.Explanation)
	}
}

// scenarioFlags are those of an explanation of a simulation.
type scenarioFlags struct {
	replay *replay
	paths  []string
	at     time.Duration
}

func (p *program) addScenarioFlags(command *cobra.Command) *scenarioFlags {
	f := &scenarioFlags{replay: p.newReplay(command)}
	command.Flags().StringArrayVar(&f.paths, "scenario", nil, "file or folder to replay, in addition to further ones on the command line; - is standard input")
	command.Flags().Var((*seconds)(&f.at), "at", "explain the pod as it is this long after the start of the scenario, such as 25s; the default is the end")
	command.Flags().Lookup("at").DefValue = "" // the help names no default time
	return f
}

// explain explains a pod of a simulation; further are the paths without a flag.
func (f *scenarioFlags) explain(command *cobra.Command, further []string, namespace, name string, nodes int) (*inspect.Explanation, error) {
	switch {
	case len(f.paths) == 0:
		return nil, usageError(command, "%q needs --server, or --scenario with at least one file or folder, or --context or --filename", command.CommandPath())
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
	if err != nil {
		return nil, withSuggestion(err)
	}
	asked, err := f.replay.program.newWhatIf(command.Context(), cluster.Scheduler().Configuration(), cluster.Objects())
	if err != nil {
		explanation.SuggestionsError = err.Error()
		return explanation, nil
	}
	defer asked.Close()
	advise(command.Context(), asked, explanation, nodes)
	return explanation, nil
}

// podOf reads the name of a pod, with or without namespace, which may also have been given by itself.
func podOf(command *cobra.Command, given, argument, otherwise string) (namespace, name string, err error) {
	namespace, name, qualified := strings.Cut(argument, "/")
	if !qualified {
		namespace, name = cmp.Or(given, otherwise), argument
	}
	switch {
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return "", "", usageError(command, "%q is not the name of a pod; write NAME or NAMESPACE/NAME", argument)
	case given != "" && given != namespace:
		return "", "", usageError(command, "--namespace is %q, but %q is in namespace %q", given, argument, namespace)
	}
	return namespace, name, nil
}

// seconds is a duration that may be written without a unit, in seconds, as kubectl takes durations.
type seconds time.Duration

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(number, 'f', -1, 64) + "s"
	}
	duration, err := time.ParseDuration(text)
	*s = seconds(duration)
	return err
}

// String implements pflag.Value.
func (s *seconds) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (s *seconds) Type() string { return "duration" }

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
