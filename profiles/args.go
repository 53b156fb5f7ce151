// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// argsSuffix makes the kind of a plugin's arguments from the plugin's name.
const argsSuffix = "Args"

// argsKinds returns the kinds of arguments that this package decodes, defaults and
// validates, sorted, a fresh slice each call. The plugin's name is the kind without
// "Args".
func argsKinds() []string {
	var kinds []string
	for _, kind := range inTreeArgs() {
		kinds = append(kinds, kind.plugin+argsSuffix)
	}
	return kinds
}

// DefaultArgs returns the default arguments of a plugin, a fresh value each call,
// or nil if the plugin has no kind in argsKinds.
func DefaultArgs(plugin string) apiruntime.Object {
	kind, found := inTreeKind(plugin)
	if !found {
		return nil
	}
	args := kind.create()
	kind.setDefaults(args, Features{})
	args.GetObjectKind().SetGroupVersionKind(kindFor(plugin))
	return args
}

// ValidateArgs checks the arguments of an in-tree plugin by its name. It takes defaulted arguments, skips fields that are nil,
// and puts path, which may be nil, before the fields in errors. Arguments of another type than the plugin's are an error; those
// of a plugin for which [DefaultArgs] returns nil are not looked at. No feature is switched off: where one is, [Parse] checks.
func ValidateArgs(plugin string, path *field.Path, args apiruntime.Object) field.ErrorList {
	kind, found := inTreeKind(plugin)
	if !found {
		return nil
	}
	return kind.validate(path, args, Features{})
}

// argsKind is the arguments of one plugin.
type argsKind struct {
	plugin      string
	create      func() apiruntime.Object
	setDefaults func(args apiruntime.Object, features Features)
	validate    func(path *field.Path, args apiruntime.Object, features Features) field.ErrorList
}

// inTreeArgs is the table of all kinds of arguments, sorted by plugin.
func inTreeArgs() []argsKind {
	return []argsKind{
		newKind("DefaultPreemption", defaultDefaultPreemptionArgs, validateDefaultPreemptionArgs),
		newKind("DynamicResources", defaultDynamicResourcesArgs, validateDynamicResourcesArgs),
		newKind("InterPodAffinity", defaultInterPodAffinityArgs, validateInterPodAffinityArgs),
		newKind("NodeAffinity", defaultNodeAffinityArgs, validateNodeAffinityArgs),
		newKind("NodeResourcesBalancedAllocation", defaultBalancedAllocationArgs, validateNodeResourcesBalancedAllocationArgs),
		newKind("NodeResourcesFit", defaultNodeResourcesFitArgs, validateNodeResourcesFitArgs),
		newKind("PodTopologySpread", defaultPodTopologySpreadArgs, validatePodTopologySpreadArgs),
		newKind("VolumeBinding", defaultVolumeBindingArgs, validateVolumeBindingArgs),
	}
}

// newKind makes an argsKind from functions on the concrete type T.
func newKind[T any, P interface {
	*T
	apiruntime.Object
}](plugin string, setDefaults func(P, Features), validate func(*field.Path, P, Features) field.ErrorList) argsKind {
	return argsKind{
		plugin: plugin,
		create: func() apiruntime.Object { return P(new(T)) },
		setDefaults: func(args apiruntime.Object, features Features) {
			if typed, ok := args.(P); ok {
				setDefaults(typed, features)
			}
		},
		validate: func(path *field.Path, args apiruntime.Object, features Features) field.ErrorList {
			typed, ok := args.(P)
			if !ok || typed == nil {
				return field.ErrorList{field.Invalid(path, fmt.Sprintf("%T", args), "has to match plugin args")}
			}
			return validate(path, typed, features)
		},
	}
}

func inTreeKind(plugin string) (argsKind, bool) {
	for _, kind := range inTreeArgs() {
		if kind.plugin == plugin {
			return kind, true
		}
	}
	return argsKind{}, false
}

// argsCatalog finds the kind of a plugin's arguments: the ones of this package,
// then those of an additional scheme.
type argsCatalog struct {
	scheme   *apiruntime.Scheme // may be nil
	features Features
}

func kindFor(plugin string) schema.GroupVersionKind {
	return configv1.SchemeGroupVersion.WithKind(plugin + argsSuffix)
}

// has reports whether the plugin's arguments have a kind.
func (c argsCatalog) has(plugin string) bool {
	if _, found := inTreeKind(plugin); found {
		return true
	}
	return c.scheme != nil && c.scheme.Recognizes(kindFor(plugin))
}

// create returns empty arguments of the plugin's kind.
func (c argsCatalog) create(plugin string) (apiruntime.Object, error) {
	if kind, found := inTreeKind(plugin); found {
		return kind.create(), nil
	}
	return c.scheme.New(kindFor(plugin))
}

// finish fills in the defaults and returns the arguments as the plugin wants them.
func (c argsCatalog) finish(plugin string, args apiruntime.Object) (*PluginConfig, error) {
	args.GetObjectKind().SetGroupVersionKind(kindFor(plugin))
	if kind, found := inTreeKind(plugin); found {
		kind.setDefaults(args, c.features)
		return &PluginConfig{Name: plugin, Args: args}, nil
	}
	c.scheme.Default(args)
	internal := schema.GroupVersion{Group: configv1.GroupName, Version: apiruntime.APIVersionInternal}
	if !c.scheme.Recognizes(internal.WithKind(plugin + argsSuffix)) {
		return &PluginConfig{Name: plugin, Args: args}, nil
	}
	converted, err := c.scheme.ConvertToVersion(args.DeepCopyObject(), internal)
	if err != nil {
		return nil, fmt.Errorf("converting args for plugin %s to the internal version: %w", plugin, err)
	}
	return &PluginConfig{Name: plugin, Args: converted, versioned: args}, nil
}

// newDefault returns the default arguments of a plugin, nil if it has no kind.
func (c argsCatalog) newDefault(plugin string) (*PluginConfig, error) {
	if !c.has(plugin) {
		return nil, nil
	}
	args, err := c.create(plugin)
	if err != nil {
		return nil, fmt.Errorf("creating default args for plugin %s: %w", plugin, err)
	}
	return c.finish(plugin, args)
}

// complete adds the default arguments of the enabled plugins that have none, sorted
// by name.
func (p *Profile) complete(catalog argsCatalog) error {
	configured := sets.New[string]()
	for _, config := range p.PluginConfig {
		configured.Insert(config.Name)
	}
	for _, plugin := range p.EnabledPlugins() {
		if configured.Has(plugin) {
			continue
		}
		config, err := catalog.newDefault(plugin)
		if err != nil {
			return err
		}
		if config != nil {
			p.PluginConfig = append(p.PluginConfig, *config)
		}
	}
	return nil
}
