// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	cliflag "k8s.io/component-base/cli/flag"
	componentoptions "k8s.io/component-base/config/options"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"github.com/rouse-scheduler/rouse/profiles"
)

// The names of the sections, in their order.
const (
	miscSection          = "misc"
	servingSection       = "secure serving"
	authenticateSection  = "authentication"
	authorizationSection = "authorization"
	deprecatedSection    = "deprecated"
	electionSection      = "leader election"
	gatesSection         = "feature gate"
	metricsSection       = "metrics"
	logsSection          = "logs"
)

func (o *Options) setDefaults() {
	config := profiles.Default()
	o.leaderElection = config.LeaderElection
	o.deprecated = deprecatedDefaults(config)
}

func (o *Options) makeSections() cliflag.NamedFlagSets {
	sections := cliflag.NamedFlagSets{NormalizeNameFunc: cliflag.WordSepNormalizeFunc}
	misc := sections.FlagSet(miscSection)
	misc.StringVar(&o.ConfigFile, "config", "", "KubeSchedulerConfiguration file; without it the default profile is used")
	misc.StringVar(&o.WriteConfigTo, "write-config-to", "", "write the configuration, with all defaults, to this file and exit")
	misc.StringVar(&o.Master, "master", "", "URL of the API server, in place of the one of the kubeconfig")
	o.SecureServing.AddFlags(sections.FlagSet(servingSection))
	o.Authentication.AddFlags(sections.FlagSet(authenticateSection))
	o.Authorization.AddFlags(sections.FlagSet(authorizationSection))
	o.addDeprecated(sections.FlagSet(deprecatedSection))
	componentoptions.BindLeaderElectionFlags(&o.leaderElection, sections.FlagSet(electionSection))
	o.Gates.AddFlags(sections.FlagSet(gatesSection))
	o.Metrics.AddFlags(sections.FlagSet(metricsSection))
	logsapi.AddFlags(o.Logs, sections.FlagSet(logsSection))
	return sections
}
