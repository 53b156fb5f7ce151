// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/rouse-scheduler/rouse/test/bench/objects"

type shape = objects.Shape

const (
	basic       = objects.Basic
	prefNode    = objects.PrefNode
	spread      = objects.Spread
	antiHost    = objects.AntiHost
	prefPodZone = objects.PrefPodZone
)
