// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  Error
		want string
	}{
		{Error{Message: "m"}, "m"},
		{Error{File: "f", Message: "m"}, "f: m"},
		{Error{File: "f", Line: 3, Message: "m"}, "f:3: m"},
		{Error{File: "f", Line: 3, Column: 2, Field: "a.b", Message: "m", Suggestion: "c"}, `f:3:2: a.b: m; did you mean "c"?`},
		{Error{Field: "a", Message: "m"}, "a: m"},
	}
	for _, test := range tests {
		if got := test.err.Error(); got != test.want {
			t.Errorf("Error() = %q, want %q", got, test.want)
		}
	}
}

func TestErrorList(t *testing.T) {
	var list ErrorList
	if err := list.Err(); err != nil {
		t.Errorf("Err of an empty list = %v", err)
	}
	list.Add(nil)
	list.Add(
		errors.New("without a position"),
		&Error{File: "b", Line: 1, Message: "m"},
		&Error{File: "a", Message: "about the file"},
		&Error{File: "a", Line: 2, Column: 5, Message: "m"},
	)
	list.Add(ErrorList{
		&Error{File: "a", Line: 2, Column: 1, Message: "m", Err: io.EOF},
		&Error{File: "a", Line: 2, Column: 5, Message: "m"},
	})
	err := list.Err()
	want := []string{"a:2:1: m", "a:2:5: m", "a: about the file", "b:1: m", "without a position"}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("sorted list (-want +got):\n%s", diff)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("errors.Is does not find the cause of an entry")
	}
	if len(list) != 6 {
		t.Errorf("Err changed the list: %d entries", len(list))
	}
}

func TestErrorfKeepsCause(t *testing.T) {
	err := first(t, "a: 1\n").Errorf("a", "reading: %w", io.EOF)
	if !errors.Is(err, io.EOF) || err.Error() != "f.yaml:1:1: a: reading: EOF" {
		t.Errorf("Errorf = %v", err)
	}
}
