// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

const configurationKind = "KubeSchedulerConfiguration"

// maxSize is how many bytes a configuration may have: more than an object of an API server, such as a ConfigMap, can.
const maxSize = manifest.MaxObjectSize

// Load reads a configuration file; see Parse. An error of the operating system is
// returned unchanged.
func Load(path string, opts Options) (*Configuration, error) {
	data, err := manifest.ReadFile(path, maxSize)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, opts)
}

// Parse reads a configuration from YAML or JSON text. name is the file name for
// messages. The text has to be one document of kind KubeSchedulerConfiguration and
// version kubescheduler.config.k8s.io/v1.
//
// The error is a manifest.ErrorList with everything that is wrong. Validation runs
// only on a configuration that could be decoded, unknown fields aside.
func Parse(name string, data []byte, opts Options) (*Configuration, error) {
	documents, err := manifest.Split(name, data)
	if err != nil {
		return nil, err
	}
	document := documents[0]
	if len(documents) > 1 {
		return nil, documents[1].Errorf("", "a second document: a scheduler configuration is a single document")
	}
	if err := checkForm(document, data); err != nil {
		return nil, err
	}
	if err := checkKind(document); err != nil {
		return nil, err
	}
	var written configv1.KubeSchedulerConfiguration
	var errs manifest.ErrorList
	errs.Add(document.Decode(&written))
	catalog := argsCatalog{scheme: opts.Scheme, features: opts.Features}
	configs, err := decodeAllArgs(document, catalog, written.Profiles)
	errs.Add(err)
	if !manifest.OnlyStrict(errs.Err()) {
		return nil, errs.Err()
	}
	result := defaultedConfiguration(&written, opts.Features)
	result.Source, result.document, result.written = name, document, &written
	if result.Profiles, err = defaultedProfiles(written.Profiles, configs, catalog); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if opts.Override != nil {
		opts.Override(result)
	}
	errs.Add(result.Validate())
	if opts.KnownPlugins != nil {
		errs.Add(result.checkNames(opts.KnownPlugins))
		result.Warnings = result.unusedNames(opts.KnownPlugins)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return result, nil
}

// defaultedProfiles merges and completes the profiles as written. configs has their
// decoded arguments.
func defaultedProfiles(written []configv1.KubeSchedulerProfile, configs [][]PluginConfig, catalog argsCatalog) ([]Profile, error) {
	if len(written) == 0 {
		written, configs = []configv1.KubeSchedulerProfile{{}}, [][]PluginConfig{nil}
	}
	result := make([]Profile, len(written))
	for i, profile := range written {
		name := ptr.Deref(profile.SchedulerName, "")
		if profile.SchedulerName == nil && len(written) == 1 {
			name = DefaultSchedulerName
		}
		result[i] = Profile{
			SchedulerName:            name,
			PercentageOfNodesToScore: profile.PercentageOfNodesToScore,
			Plugins:                  mergeWithDefaults(ptr.Deref(profile.Plugins, configv1.Plugins{})),
			PluginConfig:             configs[i],
		}
		if err := result[i].complete(catalog); err != nil {
			return nil, fmt.Errorf("profile %q: %w", name, err)
		}
	}
	return result, nil
}

// checkKind checks what the document says it is.
func checkKind(document *manifest.Document) error {
	header, err := document.Header()
	if err != nil {
		return err
	}
	var missing manifest.ErrorList
	if header.APIVersion == "" {
		missing.Add(document.Errorf("apiVersion", "Object 'apiVersion' is missing; write apiVersion: %s", configv1.SchemeGroupVersion))
	}
	if header.Kind == "" {
		missing.Add(document.Errorf("kind", "Object 'Kind' is missing; write kind: %s", configurationKind))
	}
	if err := missing.Err(); err != nil {
		return err
	}
	version, err := schema.ParseGroupVersion(header.APIVersion)
	if err != nil {
		return document.Errorf("apiVersion", "%w", err)
	}
	if version != configv1.SchemeGroupVersion {
		return document.Errorf("apiVersion", "no kind %q is registered for version %q; write apiVersion: %s%s",
			header.Kind, header.APIVersion, configv1.SchemeGroupVersion, removedHint(version))
	}
	if header.Kind == configurationKind {
		return nil
	}
	for _, kind := range argsKinds() {
		if kind == header.Kind {
			return document.Errorf("kind", "couldn't decode as %s, got %s: arguments belong in profiles[].pluginConfig[].args",
				configurationKind, version.WithKind(kind))
		}
	}
	return document.Errorf("kind", "no kind %q is registered for version %q; write kind: %s",
		header.Kind, header.APIVersion, configurationKind)
}

// removedHint tells the user of an old version what is different in the current one.
func removedHint(version schema.GroupVersion) string {
	if version.Group != configv1.GroupName {
		return ""
	}
	switch version.Version {
	case "v1beta1", "v1beta2", "v1beta3":
		return " (the beta versions were removed; most files load as v1 unchanged, except for plugins that are gone, such as SelectorSpread)"
	case "v1alpha1", "v1alpha2":
		return " (the alpha versions were removed; a scheduler policy becomes profiles[].plugins and profiles[].pluginConfig)"
	}
	return ""
}

// decodeAllArgs decodes the plugin arguments of all profiles.
func decodeAllArgs(document *manifest.Document, catalog argsCatalog, profiles []configv1.KubeSchedulerProfile) ([][]PluginConfig, error) {
	var errs manifest.ErrorList
	result := make([][]PluginConfig, len(profiles))
	for i, profile := range profiles {
		for j, config := range profile.PluginConfig {
			path := field.NewPath("profiles").Index(i).Child("pluginConfig").Index(j).Child("args")
			decoded, err := decodeArgs(document, catalog, path.String(), config)
			errs.Add(err)
			result[i] = append(result[i], decoded)
		}
	}
	return result, errs.Err()
}

// decodeArgs decodes the arguments of one plugin, found at path.
func decodeArgs(document *manifest.Document, catalog argsCatalog, path string, config configv1.PluginConfig) (PluginConfig, error) {
	raw := config.Args.Raw
	if !catalog.has(config.Name) {
		if len(raw) == 0 {
			return PluginConfig{Name: config.Name}, nil
		}
		if err := document.CheckNumbers(path, raw); err != nil { // plugins decode them
			return PluginConfig{}, err
		}
		args := &apiruntime.Unknown{Raw: raw, ContentType: apiruntime.ContentTypeJSON}
		return PluginConfig{Name: config.Name, Args: args}, nil
	}
	args, err := catalog.create(config.Name)
	if err != nil {
		return PluginConfig{}, document.Errorf(path, "decoding args for plugin %s: %w", config.Name, err)
	}
	var unknown error
	if len(raw) > 0 {
		if err := checkArgsKind(document, catalog, path, config); err != nil {
			return PluginConfig{}, err
		}
		if unknown = document.DecodeField(path, raw, args); !manifest.OnlyStrict(unknown) {
			return PluginConfig{}, unknown
		}
	}
	finished, err := catalog.finish(config.Name, args)
	if err != nil {
		return PluginConfig{}, document.Errorf(path, "%w", err)
	}
	return *finished, unknown
}

// checkArgsKind checks apiVersion and kind of arguments, where they are given.
func checkArgsKind(document *manifest.Document, catalog argsCatalog, path string, config configv1.PluginConfig) error {
	var given metav1.TypeMeta
	if err := document.DecodeFieldLenient(path, config.Args.Raw, &given); err != nil {
		return err
	}
	want := kindFor(config.Name)
	got := given.GroupVersionKind()
	if given.Kind == "" {
		got.Kind = want.Kind
	}
	if given.APIVersion == "" {
		got.Group, got.Version = want.Group, want.Version
	}
	switch {
	case got == want:
		return nil
	case got.GroupVersion() != want.GroupVersion():
		return document.Errorf(path+".apiVersion", "decoding args for plugin %s: no kind %q is registered for version %q; write apiVersion: %s or leave it out",
			config.Name, got.Kind, given.APIVersion, want.GroupVersion())
	case got.Kind == configurationKind || len(got.Kind) > len(argsSuffix) && catalog.has(got.Kind[:len(got.Kind)-len(argsSuffix)]):
		return document.Errorf(path+".kind", "args for plugin %s were not of type %s, got %s", config.Name, want.GroupKind(), got.GroupKind())
	}
	return document.Errorf(path+".kind", "decoding args for plugin %s: no kind %q is registered for version %q; write kind: %s or leave it out",
		config.Name, got.Kind, got.GroupVersion(), want.Kind)
}
