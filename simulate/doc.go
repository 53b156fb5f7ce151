// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate replays manifests and scenarios on a cluster in memory, with virtual time and the scheduler itself:
// the same event handlers, queue and cycles that work in a real cluster. The same input always has the same result.
//
// [Load] reads an [Input] from files and [Run] replays it:
//
//	input, err := simulate.Load([]string{"cluster.yaml", "scenario.yaml"}, simulate.LoadOptions{})
//	...
//	report, err := simulate.Run(ctx, input, simulate.Options{})
//
// A [Cluster] is the same step by step, for tests: create and change objects, let time pass with [Cluster.Advance] or
// [Cluster.Settle], and look at what became of the pods.
//
// # Input
//
// Manifests are those of kubectl, lists included. Objects are created in the order read, but nodes before pods and
// everything else before both. A pod with spec.nodeName is bound already, and a finished one does not count. What an
// API server would do to new objects is done as far as scheduling depends on it: requests default to limits,
// allocatable to capacity, and pods get the priority of their class. Namespaces that are used but not in the input are
// created automatically.
//
// A document with apiVersion rouse/v1alpha1 and kind Scenario is a timeline:
//
//	apiVersion: rouse/v1alpha1
//	kind: Scenario
//	metadata: {name: label-wakes-pod}
//	spec:
//	  steps:
//	  - at: 20s
//	    patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: ssd}}}
//	  - expect:
//	      pods:
//	      - {name: web-1, node: n1, wokenBy: NodeUpdateNodeLabel}
//
// # What is simulated
//
// There is an API server without admission plugins, a scheduler, and nothing else: no kubelets (a bound pod counts as
// started), and only two controllers. Claims are bound, and volumes made for them, as soon as there is a reason to. The
// status of disruption budgets follows their pods, of which those with a node are healthy and as many are expected as
// there are; only a budget that says neither minAvailable nor maxUnavailable keeps the status that it was given.
// Deleted objects are gone at once unless they have finalizers. Binding takes no time, and neither does a scheduling
// cycle; time passes between steps, while pods back off, and in the timers of plugins. Plugins that wait by other means
// than the clock of the simulation are not deterministic any more; one that waits for something that only happens in
// virtual time waits forever.
//
// The API server has every kind that client-go has a type for, and the custom kinds of the input. Plugins reach it through
// the clientset of their handle, and through clients and informers of any sort that they make from its KubeConfig. Watches
// deliver a change before the scheduler sees it, and the simulation goes on when the informers of plugins, and the
// goroutines that these wake, have nothing more to do. Server-side apply merges without regard to who owns which field; dry
// runs, the conversion between versions, OpenAPI and all subresources but status, binding, eviction and resize are not
// simulated.
//
// The CustomResourceDefinition of a custom resource, if the input has it, defines its plural, whether it belongs to a namespace,
// and whether its status is a subresource. Without one, the plural is the English one or the one under which a plugin requests the
// kind, and objects belong to a namespace if one of them names its own. Dynamic informers of a kind that nothing is known of are
// empty until there is an object; typed clients get an error, unless a scheme of [Options] has the type. Kinds that nothing reads
// are mentioned in a warning.
//
// # Concurrency
//
// Everything happens in the goroutine that calls [Run], or the methods of a [Cluster], which therefore must not be
// called concurrently, except for its clients. Different clusters don't share anything; an [Input] may be used by several of them at once.
package simulate
