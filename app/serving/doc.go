// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving is what a scheduler process answers over HTTPS: probes, metrics, and views of itself.
package serving

import (
	_ "k8s.io/apiserver/pkg/endpoints/filters"
	_ "k8s.io/apiserver/pkg/server/filters"
	_ "k8s.io/apiserver/pkg/server/flagz"
	_ "k8s.io/apiserver/pkg/server/healthz"
	_ "k8s.io/apiserver/pkg/server/options"
	_ "k8s.io/apiserver/pkg/server/routes"
	_ "k8s.io/apiserver/pkg/server/statusz"
	_ "k8s.io/component-base/compatibility"
	_ "k8s.io/component-base/configz"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version"
	_ "k8s.io/component-base/zpages/features"
)
