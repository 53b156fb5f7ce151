// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/rouse-scheduler/rouse/app/internal/features"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Configuration returns the configuration that file and flags come to. plugins are the names of all plugins that exist, scheme
// has the types of their arguments; it may be nil. The error is a manifest.ErrorList with everything that is wrong, or that of the operating system.
func (o *Options) Configuration(plugins sets.Set[string], scheme *apiruntime.Scheme) (config *profiles.Configuration, err error) {
	switched := o.switched()
	if o.ConfigFile != "" {
		config, err = profiles.Load(o.ConfigFile, profiles.Options{KnownPlugins: plugins, Scheme: scheme, Override: o.override, Features: switched})
	} else {
		config = switched.Default()
		o.applyDeprecated(config)
		o.applyLeaderElection(config)
		err = config.Validate()
	}
	if err != nil {
		return nil, err
	}
	return config, checkElection(config)
}

// switched returns the parts of a configuration that feature gates switch off.
func (o *Options) switched() profiles.Features {
	return profiles.Features{
		NoStorageCapacityScoring: !o.Gates.Enabled(features.StorageCapacityScoring),
		NoFilterTimeout:          !o.Gates.Enabled(features.DRASchedulerFilterTimeout),
		NoBindingConditions:      !o.Gates.Enabled(features.DRADeviceBindingConditions),
	}
}

// checkElection checks what client-go asks of an election beyond what a valid configuration is.
func checkElection(config *profiles.Configuration) error {
	election := config.LeaderElection
	longest := time.Duration(leaderelection.JitterFactor * float64(election.RetryPeriod.Duration))
	if election.LeaderElect && election.RenewDeadline.Duration <= longest {
		return fmt.Errorf("leaderElection.renewDeadline is %s, but must be longer than leaderElection.retryPeriod (%s) times %.1f",
			election.RenewDeadline.Duration, election.RetryPeriod.Duration, leaderelection.JitterFactor)
	}
	return nil
}

// override changes what a file says.
func (o *Options) override(config *profiles.Configuration) {
	o.applyLeaderElection(config)
	if config.ClientConnection.Kubeconfig == "" {
		config.ClientConnection.Kubeconfig = o.deprecated.kubeconfig
	}
}

// applyLeaderElection changes what the given flags of leader election say.
func (o *Options) applyLeaderElection(config *profiles.Configuration) {
	flags, election := &o.leaderElection, &config.LeaderElection
	for name, change := range map[string]func(){
		"leader-elect":                    func() { election.LeaderElect = flags.LeaderElect },
		"leader-elect-lease-duration":     func() { election.LeaseDuration = flags.LeaseDuration },
		"leader-elect-renew-deadline":     func() { election.RenewDeadline = flags.RenewDeadline },
		"leader-elect-retry-period":       func() { election.RetryPeriod = flags.RetryPeriod },
		"leader-elect-resource-lock":      func() { election.ResourceLock = flags.ResourceLock },
		"leader-elect-resource-name":      func() { election.ResourceName = flags.ResourceName },
		"leader-elect-resource-namespace": func() { election.ResourceNamespace = flags.ResourceNamespace },
	} {
		if o.given(electionSection, name) {
			change()
		}
	}
}

// RESTConfig returns how to reach the API server: as the kubeconfig says or, without one, as a pod does.
func (o *Options) RESTConfig(config *profiles.Configuration) (*restclient.Config, error) {
	connection := config.ClientConnection
	var rest *restclient.Config
	var err error
	if connection.Kubeconfig == "" && o.Master == "" {
		if rest, err = restclient.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("finding the API server: there is no kubeconfig (clientConnection.kubeconfig in the configuration, "+
				"or --kubeconfig), and no service account either: %w", err)
		}
	} else if rest, err = clientcmd.BuildConfigFromFlags(o.Master, connection.Kubeconfig); err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	rest.DisableCompression = true
	rest.AcceptContentTypes, rest.ContentType = connection.AcceptContentTypes, connection.ContentType
	rest.QPS, rest.Burst = connection.QPS, int(connection.Burst)
	return rest, nil
}
