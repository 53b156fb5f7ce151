// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects builds the objects that tests of schedulers and plugins are about: pods and nodes, volumes and their
// claims, devices and their claims. They look as they do in a cluster, but for what the test says:
//
//	pod := objects.Pod("web").Label("team", "shop").Requests("cpu", "500m", "memory", "1Gi").Build()
//	node := objects.Node("n1").Capacity("cpu", "4").Label("rack", "r1").Build()
//	claim := objects.PersistentVolumeClaim("data").StorageClass("fast").Request("10Gi").Build()
//
// Kinds that tests often configure have a builder. Its methods return a changed copy, With changes what has no method, and Build
// returns the object. The other kinds have a function that returns the object itself.
//
// Names are enough for an identity: what is built without a UID gets one made of namespace and name, so that the same
// object has the same UID everywhere. What cannot be parsed, such as a quantity, is a mistake in the source of a test, and
// panics.
package objects
