// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package mutant_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/mutant"
)

const file = "internal/mutant/mutant.go"

func TestMutantsThatNoLongerFitAreNamed(t *testing.T) {
	root, err := mutant.Root()
	if err != nil {
		t.Fatal(err)
	}
	fits := mutant.Mutant{Name: "fits", File: file, Find: "names[m.Name] = true", Replace: "names[m.Name] = false"}
	for want, list := range map[string][]mutant.Mutant{
		"":                                  {fits},
		`two mutants are called "fits"`:     {fits, fits},
		`mutant "gone": its text must`:      {{Name: "gone", File: file, Find: "no such " + "text"}},
		"but does so 0 times":               {{Name: "absent", File: file, Find: "no such " + "line"}},
		`mutant "idle": it changes nothing`: {{Name: "idle", File: file, Find: fits.Find, Replace: fits.Find}},
		"no such file":                      {{Name: "lost", File: "lost.go", Find: "x"}},
	} {
		err := mutant.Check(root, list)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestTestsRunOnMutatedSources puts errors into this package itself, and runs the test above on it.
func TestTestsRunOnMutatedSources(t *testing.T) {
	names := mutant.Mutant{Name: "names", File: file, Find: "names[m.Name] = true", Replace: "names[m.Name] = false"}
	idle := mutant.Mutant{Name: "idle", File: file, Find: "if m.Find == m.Replace {", Replace: "if false {"}
	harmless := mutant.Mutant{Name: "harmless", File: file, Find: "var errs []error\n", Replace: "errs := []error{}\n"}
	broken := mutant.Mutant{Name: "broken", File: file, Find: "return folder, nil", Replace: "return"}
	missing := mutant.Mutant{Name: "missing", File: file, Find: "no such " + "text"}
	before := read(t)

	test := mutant.Test{Package: "internal/mutant", Run: "TestMutantsThatNoLongerFitAreNamed"}
	for _, row := range []struct {
		mutants []mutant.Mutant
		found   bool
		says    string // in the output or the error
	}{
		{nil, false, "PASS"},
		{[]mutant.Mutant{harmless}, false, "PASS"},
		{[]mutant.Mutant{names}, true, "two mutants are called"},
		{[]mutant.Mutant{harmless, idle}, true, "it changes nothing"},
		{[]mutant.Mutant{broken}, false, "not enough return values"},
		{[]mutant.Mutant{missing}, false, `putting in mutant "missing"`},
	} {
		result, err := test.Try(t.Context(), row.mutants...)
		if result.Found != row.found || !strings.Contains(result.Output+fmt.Sprint(err), row.says) {
			t.Errorf("mutants %v: found %t, error %v, want found %t and %q:\n%s", row.mutants, result.Found, err, row.found, row.says, result.Output)
		}
	}
	if read(t) != before {
		t.Error("the sources were changed")
	}
}

func read(t *testing.T) string {
	t.Helper()
	root, err := mutant.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
