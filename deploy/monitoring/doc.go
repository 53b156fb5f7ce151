// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring has no code: its tests check the alerts and the dashboard of this folder against the metrics that the
// scheduler has. They need Prometheus's parser, so that the folder is a module of its own.
package monitoring
