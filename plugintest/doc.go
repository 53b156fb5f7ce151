// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugintest is for the tests of scheduler plugins. It needs no cluster, no network and no goroutine, and a test
// has the same outcome on every run.
//
// # Pods and nodes
//
// Package objects, below this one, builds pods, nodes and other objects that look as they do in a cluster, but for what the
// test says:
//
//	pod := objects.Pod("web").Label("team", "shop").Requests("cpu", "500m").Build()
//	node := objects.Node("n1").Capacity("cpu", "4").Label("rack", "r1").Build()
//
// # One plugin alone
//
// [NewFramework] builds a plugin as a scheduler does, from its factory and its arguments, over the nodes and pods of
// [Options]. What the plugin says about a pod takes one line:
//
//	f := plugintest.NewFramework(t, rackbudget.Name, rackbudget.New, plugintest.Options{
//		Args:  map[string]any{"podsPerRack": 1},
//		Nodes: []*v1.Node{node},
//		Pods:  []*v1.Pod{running},
//	})
//	status := f.Filter(pod, "n1")      // PreFilter and Filter on a node; nil accepts
//	statuses := f.FilterAll(pod)       // on every node, by name
//	scores := f.Scores(pod)            // raw and normalized, by name of the node
//	wakes := f.Wakes(pod, plugintest.Deleted(running)) // the events and hints of the plugin
//
// Statuses can be compared with cmp.Diff. For anything else the framework is a runtime.Framework: it has a Run method for
// every extension point, and Plugin returns the plugin itself. What plugins work with comes from the packages where a
// scheduler has it from: framework.NewCycleState, cache.NewSnapshot, queue.NewNominator; waiting pods belong to the framework.
//
// # A cluster
//
// [NewCluster] puts the plugin into the default profile of a scheduler, next to the in-tree plugins, and that into a
// cluster in memory with virtual time:
//
//	cluster := plugintest.NewCluster(t, rackbudget.Name, rackbudget.New, options)
//	cluster.Settle()
//	cluster.ExpectRejected("web", rackbudget.Name)
//	cluster.Delete(running)
//	cluster.Settle()
//	cluster.ExpectBound("web", "n1")
//
// The same can be written as a scenario in YAML, which [Cluster.Replay] plays and the simulate command does, too. When a
// test fails, its log shows what happened to every pod, and when.
//
// # Wake-ups
//
// A pod that a plugin rejected waits until an event happens that the plugin registered and its hint does not skip. An
// event that is forgotten, or a hint that is too strict, leaves pods waiting although they would fit: nothing fails, and
// a test that does not look for it passes. [CheckRequeue] looks for it. It takes a list of things that may happen, makes
// them happen, and has the plugin judge before and after:
//
//	plugintest.CheckRequeue(t, rackbudget.Name, rackbudget.New, options,
//		plugintest.Deleted(running),
//		plugintest.Added(objects.Node("n2").Build()),
//		plugintest.Updated(node, relabelled),
//	)
//
// What it finds says what to do:
//
//	plugin RackBudget misses a wake-up: it rejected pod default/web (node(s) in a rack without room for the team) and,
//	when Node n1 is deleted, accepts it on node n2, but the pod is not woken: EventsToRegister does not return NodeDelete
//
// # Concurrency
//
// Everything runs in the goroutine of the test. Frameworks and clusters share nothing with each other, so that tests may
// run in parallel; one of them must not be used by several goroutines.
package plugintest
