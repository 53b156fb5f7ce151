// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// SetDefaults sets the arguments that are not given.
func SetDefaults(args *GangArgs) {
	if args.PermitTimeout.Duration == 0 {
		args.PermitTimeout.Duration = time.Minute
	}
}
