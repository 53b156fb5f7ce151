// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Which wake-ups does a scenario show to be missing?
func ExampleRunAudit() {
	input, err := simulate.Load([]string{"../testdata/scenarios/audit-existing-anti-affinity.yaml"}, simulate.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	audit, err := inspect.RunAudit(context.Background(), input, simulate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range audit.Missed {
		missed := &audit.Missed[i]
		fmt.Println(missed)
		for _, blame := range missed.Blame {
			fmt.Println(blame.Plugin, blame.Event, blame.Why)
		}
	}
	// Output:
	// 20s  pod default/visitor would go to node n2 since NodeAdd (Node n2 was added), but was left asleep
	// InterPodAffinity NodeAdd skipped
}
