// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rouse-scheduler/rouse/app/internal/options"
)

func Example() {
	o, err := options.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	o.AddFlags(flags)
	_ = flags.Parse([]string{"--leader-elect-resource-name=second-scheduler", "--kube-api-qps=100"})
	if err := o.Complete(); err != nil {
		fmt.Println(err)
		return
	}
	config, err := o.Configuration(nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.LeaderElection.ResourceName, config.ClientConnection.QPS)
	// Output: second-scheduler 100
}
