// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apiwrite_test

import (
	"context"
	"fmt"
	"io"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

func ExampleRetry() {
	calls := 0
	err := apiwrite.Retry(context.Background(), apiwrite.IsTransient, func() error {
		if calls++; calls == 1 {
			return io.EOF // the API server has closed the connection
		}
		return nil
	})
	fmt.Println(calls, "calls, error:", err)
	// Output:
	// 2 calls, error: <nil>
}
