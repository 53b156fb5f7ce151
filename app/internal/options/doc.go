// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package options is the command line of a scheduler that runs against a cluster: the flags of kube-scheduler, their
// defaults, and what wins where a flag and the configuration file say different things.
//
//	o, err := options.New()            // defaults
//	o.AddFlags(command.Flags())        // parse them
//	err = o.Complete(...)              // gates; nothing may ask for a gate before
//	config, err := o.Configuration(registeredPlugins, scheme)
//
// A configuration file (--config) is stronger than the deprecated flags, which are ignored then, and weaker than
// the flags of leader election that are given. An Options is not safe for concurrent use.
package options
