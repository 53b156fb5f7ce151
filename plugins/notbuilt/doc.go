// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notbuilt holds stand-ins for the plugins of the default profile that Rouse does not have yet, so that every
// profile written for kube-scheduler loads, and no pod is placed as if something that it asks for did not matter.
//
// # What a stand-in does
//
// A pod with a need that only the missing plugin can look after is rejected with a reason that names the plugin and
// the field of the pod. Every other pod passes as if the plugin were not there. A stand-in implements every extension
// point of the plugin that it stands for, so that a profile resolves to the same lists; at points other than PreFilter
// and Filter it does nothing:
//
//	DynamicResources  resource claims, and extended resources that a DeviceClass serves
//
// Preferences are not needs: without the plugin, nodes are merely not compared by them.
//
// # Waking
//
// A stand-in registers no events. Nearly all needs are in fields of a pod that never change, so no event can help. One
// need also hangs on other objects, extended resources that a DeviceClass serves; when those change, the pod is not
// woken, but tried again when it has been unschedulable for long enough.
//
// Stand-ins don't sign pods either, since what the real plugin would read is not known to them. So profiles with one of
// them have no pod signatures.
package notbuilt
