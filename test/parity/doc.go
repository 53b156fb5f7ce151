// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parity runs kube-scheduler's plugins next to those of Rouse on the same random clusters, and compares.
package parity
