// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/internal/manifest"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
	"github.com/rouse-scheduler/rouse/simulate"
)

// program is what the commands share.
type program struct {
	options []Option
	scheme  *apiruntime.Scheme // of Go types for arguments and custom kinds; may be nil
	// kubectl is true if kubectl calls the program, in which case explain reads the cluster that kubectl would.
	kubectl bool
}

// pluginSet is what profiles may name.
type pluginSet struct {
	// Registry has every plugin, the in-tree ones included.
	runtime.Registry
	// scheme has the Go types of arguments and of custom kinds; nil if there are none.
	scheme *apiruntime.Scheme
}

// registry returns every plugin: those in the tree and those of the options.
func (p *program) registry() (pluginSet, error) {
	outOfTree := runtime.Registry{}
	for _, option := range p.options {
		if err := option(outOfTree); err != nil {
			return pluginSet{}, fmt.Errorf("adding plugins: %w", err)
		}
	}
	set := pluginSet{Registry: plugins.NewInTreeRegistry(), scheme: p.scheme}
	if err := set.Merge(outOfTree); err != nil {
		return pluginSet{}, fmt.Errorf("adding plugins: %w", err)
	}
	return set, nil
}

// loadConfiguration reads a configuration from a file, or for the path - from standard input.
func loadConfiguration(command *cobra.Command, path string, registry pluginSet) (*profiles.Configuration, error) {
	options := profiles.Options{KnownPlugins: sets.KeySet(registry.Registry), Scheme: registry.scheme}
	if path != "-" {
		return profiles.Load(path, options)
	}
	const name = "standard input"
	data, err := manifest.Read(name, command.InOrStdin(), manifest.MaxObjectSize)
	if err != nil {
		return nil, err
	}
	return profiles.Parse(name, data, options)
}

// load reads a configuration, or returns the default one for an empty path. Warnings go to standard error.
func (p *program) load(command *cobra.Command, path string, registry pluginSet) (*profiles.Configuration, error) {
	if path == "" {
		return profiles.Default(), nil
	}
	config, err := loadConfiguration(command, path, registry)
	if err != nil {
		return nil, err
	}
	for _, warning := range config.Warnings {
		warn(command, warning.Error())
	}
	return config, nil
}

func warn(command *cobra.Command, text string) {
	fmt.Fprintln(command.ErrOrStderr(), "Warning:", text)
}

// build builds the plugins of a configuration for a cluster that is empty and stands still. The caller closes them.
func build(ctx context.Context, config *profiles.Configuration, registry pluginSet) (runtime.Profiles, error) {
	if _, err := config.ApplyExtenders(); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Source, err)
	}
	options, err := emptyCluster(registry.scheme)
	if err != nil {
		return nil, err
	}
	options.Extenders = make([]fwk.Extender, len(config.Extenders)) // they are counted, but never asked
	built, err := runtime.NewProfiles(ctx, config, registry.Registry, options)
	if err != nil {
		return nil, joinErrors([]error{locate(ctx, err, config, registry), unknownKind(err)})
	}
	return built, nil
}

// unknownKind says what to do about a plugin that asks for a kind which the empty cluster does not have; nil if none does.
func unknownKind(err error) error {
	var missing *meta.NoKindMatchError
	if !errors.As(err, &missing) {
		return nil
	}
	return fmt.Errorf("this command reads no CustomResourceDefinitions; pass a scheme with the kind %s to app.NewSchedulerCommandWithScheme", missing.GroupKind)
}

// checkExtenders reports extenders whose certificates cannot be used.
func checkExtenders(config *profiles.Configuration) error {
	var errs manifest.ErrorList
	for i := range config.Extenders {
		if err := extender.CheckTLS(&config.Extenders[i]); err != nil {
			errs.Add(config.Errorf(fmt.Sprintf("extenders[%d].tlsConfig", i), "couldn't build extenders: %w", err))
		}
	}
	return errs.Err()
}

// factoryTimeout is how long a factory may take that builds a plugin only to be looked at, or asked what would help a pod. One that
// waits for an informer of a kind that is not known would wait forever.
const factoryTimeout = 5 * time.Second

// emptyCluster is what plugins are offered that are only to be looked at.
func emptyCluster(scheme *apiruntime.Scheme) (runtime.Options, error) {
	clients, err := simulate.NewEmptyClients(scheme)
	return runtime.Options{
		Clients:   clients,
		Snapshot:  cache.NewSnapshot(nil, nil),
		Managers:  runtime.Managers{PodGroup: cache.NoPodGroups{}},
		Execution: runtime.Execution{FactoryTimeout: factoryTimeout},
		Logger:    logger(),
	}, err
}

// logger returns the log of the process if -v asks for it. The output of the commands is not a log, and what the
// scheduler usually says at its start would only distract.
func logger() klog.Logger {
	if klog.V(1).Enabled() {
		return klog.Background()
	}
	return klog.Logger{}
}

// frameworks loads a configuration and builds its plugins.
func (p *program) frameworks(command *cobra.Command, path string) (*profiles.Configuration, runtime.Profiles, error) {
	registry, err := p.registry()
	if err != nil {
		return nil, nil, err
	}
	config, err := p.load(command, path, registry)
	if err != nil {
		return nil, nil, err
	}
	built, err := buildChecked(command.Context(), config, registry)
	if err != nil {
		return nil, nil, err
	}
	return config, built, nil
}

// buildChecked is build for commands that refuse plugins which register events of resources that there are not.
func buildChecked(ctx context.Context, config *profiles.Configuration, registry pluginSet) (runtime.Profiles, error) {
	built, err := build(ctx, config, registry)
	if err != nil {
		return nil, err
	}
	if err := built.CheckEventResources(); err != nil {
		_ = built.Close() // the other error matters
		return nil, locate(ctx, err, config, registry)
	}
	return built, nil
}

// inOrder returns the frameworks in the order of the configuration, or the one of a scheduler name if it is not empty.
func inOrder(config *profiles.Configuration, built runtime.Profiles, only string) ([]*runtime.Framework, error) {
	if only != "" {
		if chosen := built[only]; chosen != nil {
			return []*runtime.Framework{chosen}, nil
		}
		names := slices.Sorted(maps.Keys(built))
		return nil, fmt.Errorf("there is no profile %q; the profiles are %s", only, strings.Join(names, ", "))
	}
	var ordered []*runtime.Framework
	for i := range config.Profiles {
		ordered = append(ordered, built[config.Profiles[i].SchedulerName])
	}
	return ordered, nil
}

// closing joins the error of a close function to the one that a function returns.
func closing(err *error, close func() error) { *err = errors.Join(*err, close()) }

// addConfigFlag gives a command the flag --config.
func addConfigFlag(command *cobra.Command) *string {
	path := command.Flags().String("config", "", "KubeSchedulerConfiguration file; without it the default profile is used")
	_ = command.MarkFlagFilename("config", "yaml", "yml", "json") // an error would mean that the flag does not exist
	return path
}

// addProfileFlag gives a command the flag --profile.
func addProfileFlag(command *cobra.Command) *string {
	return command.Flags().String("profile", "", "only the profile of this scheduler name")
}
