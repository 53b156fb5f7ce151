// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrEmpty is the cause of the error that Split returns for a file without any
// document: no text at all, or only comments and separators. A caller that
// accepts such files checks for it with errors.Is.
var ErrEmpty = errors.New("no document found")

// Position is a place in a file. Line and Column count from 1, columns in
// characters. The zero value means that the place is not known.
type Position struct {
	Line, Column int
}

// Error is an error in a file. Everything except Message may be missing.
type Error struct {
	// File is the name that was given to Split.
	File string
	// Line and Column say where the error is, both from 1; 0 is unknown.
	Line, Column int
	// Field is the path of the wrong field in its document, such as
	// "spec.steps[0].create".
	Field string
	// Message says what is wrong and, where it is not obvious, what is expected.
	Message string
	// Suggestion is what the author probably meant, empty if there is no guess.
	Suggestion string
	// Err is the cause, for errors.Is and errors.As. It is not printed.
	Err error
	// Strict is set for an unknown field and for a key given twice, in spite of which the rest was decoded.
	Strict bool
}

// OnlyStrict reports whether every error in err is one of Decode with Strict set, so that the value was decoded in spite
// of them.
func OnlyStrict(err error) bool {
	var list ErrorList
	list.Add(err)
	for _, err := range list {
		var problem *Error
		if !errors.As(err, &problem) || !problem.Strict {
			return false
		}
	}
	return true
}

// Error returns "file:line:column: field: message; did you mean "suggestion"?",
// without the parts that are not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	if e.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Suggestion)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorList is several errors reported together, one a line. The zero value is
// an empty list, ready to use.
type ErrorList []error

// Add appends errors. A nil error adds nothing and an ErrorList adds its entries.
func (l *ErrorList) Add(errs ...error) {
	for _, err := range errs {
		switch err := err.(type) {
		case nil:
		case ErrorList:
			*l = append(*l, err...)
		default:
			*l = append(*l, err)
		}
	}
}

// Err returns nil for an empty list, and otherwise the list sorted.
func (l ErrorList) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l.Sorted()
}

// Sorted returns the list sorted by file and position, errors without a position
// last, each text once.
func (l ErrorList) Sorted() ErrorList {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, compareErrors)
	seen := make(map[string]bool, len(sorted))
	return slices.DeleteFunc(sorted, func(err error) bool {
		text := err.Error()
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// Error joins the texts with line breaks.
func (l ErrorList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the entries, for errors.Is and errors.As.
func (l ErrorList) Unwrap() []error { return l }

func compareErrors(a, b error) int {
	var left, right *Error
	leftOK, rightOK := errors.As(a, &left), errors.As(b, &right)
	if !leftOK || !rightOK {
		return boolOrder(leftOK, rightOK)
	}
	return cmp.Or(
		cmp.Compare(left.File, right.File),
		boolOrder(left.Line > 0, right.Line > 0),
		cmp.Compare(left.Line, right.Line),
		cmp.Compare(left.Column, right.Column),
	)
}

// boolOrder sorts true before false.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
