// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	cliflag "k8s.io/component-base/cli/flag"
	componentconfig "k8s.io/component-base/config"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/version"

	"github.com/rouse-scheduler/rouse/app/internal/features"
)

// DefaultSecurePort is where a scheduler serves HTTPS.
const DefaultSecurePort = 10259

// Options are what the flags say. Make them with [New].
type Options struct {
	// ConfigFile is a KubeSchedulerConfiguration file; empty means the default configuration.
	ConfigFile string
	// WriteConfigTo is the file to write the completed configuration to, instead of scheduling; empty means to schedule.
	WriteConfigTo string
	// Master is the URL of the API server, in place of the one of the kubeconfig; empty means that one.
	Master string
	// MaxInUnschedulable is how long a pod may wait for an event before it is tried again without one.
	MaxInUnschedulable time.Duration

	// SecureServing, Authentication and Authorization are about the HTTPS port.
	SecureServing  *serveroptions.SecureServingOptionsWithLoopback
	Authentication *serveroptions.DelegatingAuthenticationOptions
	Authorization  *serveroptions.DelegatingAuthorizationOptions
	// Metrics chooses the metrics that are shown.
	Metrics *metrics.Options
	// Logs says what is logged, and in which form.
	Logs *logs.Options
	// Gates are the feature gates.
	Gates *features.Gates

	// leaderElection and deprecated count only as far as their flags are given.
	leaderElection componentconfig.LeaderElectionConfiguration
	deprecated     deprecated
	sections       cliflag.NamedFlagSets
}

// New returns the defaults. An error means that libraries disagree about a feature gate.
func New() (*Options, error) {
	gates, err := features.New()
	if err != nil {
		return nil, err
	}
	o := &Options{
		MaxInUnschedulable: 5 * time.Minute,
		SecureServing:      serveroptions.NewSecureServingOptions().WithLoopback(),
		Authentication:     serveroptions.NewDelegatingAuthenticationOptions(),
		Authorization:      serveroptions.NewDelegatingAuthorizationOptions(),
		Metrics:            metrics.NewOptions(),
		Logs:               logs.NewOptions(),
		Gates:              gates,
	}
	o.SecureServing.BindPort = DefaultSecurePort
	o.SecureServing.ServerCert.CertDirectory = "" // an empty one keeps the generated certificate in memory
	o.SecureServing.ServerCert.PairName = "rouse"
	o.Authentication.TolerateInClusterLookupFailure = true
	o.Authentication.RemoteKubeConfigFileOptional = true
	o.Authorization.RemoteKubeConfigFileOptional = true
	o.setDefaults()
	o.sections = o.makeSections()
	return o, nil
}

// AddFlags adds all flags. A flag of the same name that is there already stays.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	for _, name := range o.sections.Order {
		flags.AddFlagSet(o.sections.FlagSets[name])
	}
}

// IsLogFlag reports whether a flag is about logging.
func (o *Options) IsLogFlag(flag *pflag.Flag) bool {
	return o.sections.FlagSets[logsSection].Lookup(flag.Name) != nil
}

// Sections returns the flags in the sections of the help text.
func (o *Options) Sections() cliflag.NamedFlagSets { return o.sections }

// Complete takes over the feature gates and checks everything that can be checked without the configuration file. It
// is called once, after the flags are parsed. The error has everything that is wrong.
func (o *Options) Complete() error {
	if err := o.Gates.Set(); err != nil {
		return err
	}
	var errs []error
	errs = append(errs, o.SecureServing.Validate()...)
	errs = append(errs, o.Authentication.Validate()...)
	errs = append(errs, o.Authorization.Validate()...)
	if version.Get().Major != "" { // in a build without a version of Kubernetes, no metric is hidden and any version is right
		errs = append(errs, o.Metrics.Validate()...)
	}
	if o.MaxInUnschedulable <= 0 {
		errs = append(errs, fmt.Errorf("--pod-max-in-unschedulable-pods-duration %s must be longer than 0", o.MaxInUnschedulable))
	}
	return errors.Join(errs...)
}

// EnsureCertificate makes a certificate for this machine alone if the flags name none.
func (o *Options) EnsureCertificate() error {
	err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("creating a self-signed certificate: %w", err)
	}
	return nil
}
