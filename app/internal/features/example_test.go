// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package features_test

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rouse-scheduler/rouse/app/internal/features"
)

func Example() {
	gates, err := features.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	flags := pflag.NewFlagSet("scheduler", pflag.ContinueOnError)
	gates.AddFlags(flags)
	_ = flags.Parse([]string{"--feature-gates=SchedulerPopFromBackoffQ=false,GenericWorkload=true"})
	if err := gates.Set(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("popped early:", gates.Enabled(features.SchedulerPopFromBackoffQ))
	fmt.Println("without effect:", gates.Ineffective())
	// Output:
	// popped early: false
	// without effect: [GenericWorkload]
}
