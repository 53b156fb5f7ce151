// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugins holds the in-tree plugins, a package each, and the registry of them all.
//
// [NewInTreeRegistry] has every plugin that the default profile names. To use a plugin of your own, add it to the
// registry before building a framework from it; [Describe] says what is in the registry of this version.
//
// # The plugins
//
// Every plugin has a package named like the plugin in lower case, with the same files: plugin.go (what the plugin
// decides, its constructor New, and which interfaces it implements), filter.go, score.go, events.go (the events that
// requeue a pod that the plugin rejected, and their hints), sign.go (what the plugin reads of a pod), keys.go (the
// keys by which its verdicts and scores are cached) and batch.go (the same verdicts and scores for many nodes at once), as
// far as they apply. The comment of a plugin's package says in a few lines where it runs, which arguments it takes, what
// wakes its pods, and what its answers depend on.
//
// Package preemption is not a plugin: it is what DefaultPreemption is made of, for plugins that preempt differently.
//
// A framework that is built outside of package scheduler gets what DynamicResources and NodeVolumeLimits need from
// [NewManagers].
//
// # Wrapping an in-tree plugin
//
// The types of the plugins are not exported. A plugin that changes one of them embeds what New returns, as the
// interfaces that it wants to pass on (fwk.FilterPlugin, fwk.EnqueueExtensions and so on, joined in an interface), and
// overrides methods; the example of [NewInTreeRegistry] named Wrap shows it. Interfaces that are left out are not
// implemented: leave out framework.FilterKeyPlugin and framework.BatchFilterPlugin if Filter reads more than it did.
//
// # Adding an in-tree plugin
//
// In addition to its package, a new plugin has to be known in these places:
//
//   - plugins/registry.go. A plugin that is missing there or in the default profile fails TestRegistryHasTheDefaultProfile.
//   - profiles/default_plugins.go: its place in the default profile, and its weight.
//   - profiles/args.go, profiles/default_args.go and a file profiles/validate_..._args.go, if it has arguments.
//   - inspect/explain_details.go, if a rejection can be explained by numbers, and inspect/audit_evaluation.go, which
//     lists the plugins whose verdict on a node changes only with that node. One that is missing is asked more often.
//   - test/parity/configurations.go and test/parity/profiles.go, if kube-scheduler has the plugin: they draw its arguments.
//   - plugins/internal/gatedoff/gatedoff.go instead of registry.go, if its feature gate is off by default and it does nothing.
//   - scheduler/trim.go, if it reads a field of pods that have a node, or a condition or kind of volume, that no plugin read
//     before: rouse run keeps only what is listed there, so that the field reads as empty and nothing fails. The same list
//     is in the comment of scheduler.InformerOptions and in docs/writing-a-plugin.md.
//   - plugins/events_test.go (the events that each plugin registers, and the default profile by extension point) and
//     profiles/intree_test.go (the extension points of each plugin), which have the expected lists.
//   - app/internal/features/table.go, and app/run_gates.go, which acts on it, if a feature gate switches it.
//   - README.md, the table under Status, and docs/differences.md, if it differs from that of kube-scheduler.
//
// If it reads or registers a kind of object that no plugin did before, this also has to be known in these places:
//
//   - framework/event_table.go, if changes of the kind wake pods: its informer and its actions. Kinds that are not there are
//     registered as plural.version.group.
//   - deploy/base/cluster_role.yaml: permission to list and watch it.
//   - simulate/kinds.go, the kinds that matter to scheduling, and simulate/references.go, the resources that are asked of a
//     cluster to simulate it; README.md and docs/inspecting.md have the same kubectl command. Tests compare them.
//
// # Concurrency
//
// Filter and Score may be called concurrently for different nodes, hints, SignPod and PreEnqueue at any time. Most plugins
// do not change after New; those that keep something from one pod to the next (counts of pods by domain, assumed volumes)
// guard it with locks of their own.
package plugins
