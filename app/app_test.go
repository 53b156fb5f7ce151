// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// outcome is what became of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// rouse runs a command line.
func rouse(t *testing.T, args []string, options ...app.Option) outcome {
	t.Helper()
	return execute(t, app.NewSchedulerCommand(options...), args...)
}

func execute(t *testing.T, command *cobra.Command, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetIn(strings.NewReader(""))
	command.SetArgs(args)
	command.SetContext(t.Context())
	code := app.Run(command)
	return outcome{stdout.String(), stderr.String(), code}
}

// succeed runs a command line that has to end well and say nothing on standard error.
func succeed(t *testing.T, args []string, options ...app.Option) string {
	t.Helper()
	got := rouse(t, args, options...)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("rouse %s: exit code %d, standard error:\n%s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

// decode decodes JSON into a type that must have every field.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var value T
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if decoder.More() {
		t.Fatalf("more than one JSON value:\n%s", text)
	}
	return value
}

// write writes a file into a folder and returns its path.
func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const header = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// podState is a plugin out of the tree: pods go only to nodes with the label state=ready.
type podState struct {
	Ready string `json:"ready"`
}

const podStateName = "PodState"

func newPodState(_ context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if handle.ClientSet() == nil || handle.SharedInformerFactory() == nil {
		return nil, errors.New("there is no cluster")
	}
	plugin := &podState{Ready: "ready"}
	if err := runtime.DecodeInto(args, plugin); err != nil {
		return nil, err
	}
	if plugin.Ready == "" {
		return nil, errors.New("ready must not be empty")
	}
	return plugin, nil
}

func withPodState() app.Option { return app.WithPlugin(podStateName, newPodState) }

func (p *podState) Name() string { return podStateName }

func (p *podState) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	if info.Node().Labels["state"] != p.Ready {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) were not ready for pods")
	}
	return nil
}

func (p *podState) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

func (p *podState) ScoreExtensions() fwk.ScoreExtensions { return nil }

func (p *podState) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	hint := framework.HintFor(func(_ klog.Logger, _ *v1.Pod, _, node *v1.Node) (fwk.QueueingHint, error) {
		if node.Labels["state"] == p.Ready {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	})
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, QueueingHintFn: hint},
		{Event: fwk.ClusterEvent{Resource: "states.v1.example.com", ActionType: fwk.Update}},
	}, nil
}

const podStateConfiguration = header + `profiles:
- schedulerName: inspected
  plugins:
    multiPoint: {enabled: [{name: PodState, weight: 4}]}
`

func TestCodeOf(t *testing.T) {
	tests := map[string]struct {
		err  error
		want app.ExitCode
	}{
		"nothing":             {nil, app.ExitDone},
		"a failed check":      {&app.CheckFailedError{Message: "wanted more"}, app.ExitCheckFailed},
		"one that is wrapped": {errors.Join(errors.New("first"), &app.CheckFailedError{}), app.ExitCheckFailed},
		"anything else":       {errors.New("no such file"), app.ExitUsage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := app.CodeOf(test.err); got != test.want {
				t.Errorf("CodeOf(%v) = %d, want %d", test.err, got, test.want)
			}
		})
	}
}

func TestNameThatIsTaken(t *testing.T) {
	for _, args := range [][]string{{"events"}, {"plugins"}, {"profiles", "show"}, {"simulate", "x.yaml"}} {
		got := rouse(t, args, app.WithPlugin("NodeName", newPodState))
		if want := "Error: adding plugins: a plugin named NodeName already exists\n"; got.code != 2 || got.stderr != want {
			t.Errorf("%v: exit code %d, standard error %q, want 2 and %q", args, got.code, got.stderr, want)
		}
	}
	got := rouse(t, []string{"plugins"}, withPodState(), withPodState())
	if want := "a plugin named PodState already exists"; got.code != 2 || !strings.Contains(got.stderr, want) {
		t.Errorf("two plugins of a name: exit code %d, standard error %q, want 2 and %q", got.code, got.stderr, want)
	}
}

// TestInspectionOffersACluster checks that plugins can be looked at which make clients and informers when they are built.
func TestInspectionOffersACluster(t *testing.T) {
	offered := false
	factory := func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		offered = handle.ClientSet() != nil && handle.KubeConfig() != nil && handle.SharedInformerFactory() != nil
		return newPodState(ctx, args, handle)
	}
	succeed(t, []string{"plugins"}, app.WithPlugin(podStateName, factory))
	if !offered {
		t.Error("the plugin was not offered a client, a configuration and informers")
	}
}
