// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	componentconfig "k8s.io/component-base/config"
	componentvalidation "k8s.io/component-base/config/validation"
)

// Validate checks a configuration that was built or changed in Go; Load and Parse
// have already done it. The error is a manifest.ErrorList of everything wrong.
func (c *Configuration) Validate() error {
	errs := componentvalidation.ValidateClientConnectionConfiguration(&c.ClientConnection, field.NewPath("clientConnection"))
	errs = append(errs, validateLeaderElection(&c.LeaderElection, field.NewPath("leaderElection"))...)
	if c.Parallelism <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("parallelism"), c.Parallelism, "should be an integer value greater than zero"))
	}
	errs = append(errs, c.validateProfiles()...)
	errs = append(errs, validatePercentage(field.NewPath("percentageOfNodesToScore"), &c.PercentageOfNodesToScore)...)
	errs = append(errs, c.validateBackoff()...)
	errs = append(errs, validateExtenders(field.NewPath("extenders"), c.Extenders)...)
	return c.locate(errs).Err()
}

func validateLeaderElection(election *componentconfig.LeaderElectionConfiguration, path *field.Path) field.ErrorList {
	errs := componentvalidation.ValidateLeaderElectionConfiguration(election, path)
	if election.LeaderElect && election.ResourceLock != defaultResourceLock {
		errs = append(errs, field.Invalid(path.Child("resourceLock"), election.ResourceLock,
			fmt.Sprintf("resourceLock value must be %q", defaultResourceLock)))
	}
	return errs
}

// validatePercentage checks a percentage of nodes; nil is valid.
func validatePercentage(path *field.Path, percentage *int32) field.ErrorList {
	if percentage == nil || *percentage >= 0 && *percentage <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *percentage, "not in valid range [0-100]")}
}

func (c *Configuration) validateBackoff() field.ErrorList {
	var errs field.ErrorList
	if c.PodInitialBackoffSeconds <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("podInitialBackoffSeconds"), c.PodInitialBackoffSeconds, "must be greater than 0"))
	}
	if c.PodMaxBackoffSeconds < c.PodInitialBackoffSeconds {
		errs = append(errs, field.Invalid(field.NewPath("podMaxBackoffSeconds"), c.PodMaxBackoffSeconds,
			"must be greater than or equal to PodInitialBackoffSeconds"))
	}
	return errs
}
