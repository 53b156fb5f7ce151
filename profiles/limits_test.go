// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHugeConfigurationsAreRefused has what would take any amount of time or memory to read, here or in a plugin.
func TestHugeConfigurationsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"quantity in arguments of a plugin of one's own": {
			fileHeader + "profiles:\n- pluginConfig:\n  - name: Own\n    args: {limits: [{cpu: \"1e-2147483648\"}]}\n",
			"c.yaml:6:22: profiles[0].pluginConfig[0].args.limits[0].cpu: the number has more than 100 digits in a row, or an exponent beyond 999",
		},
		"aliases": {
			fileHeader + "profiles: &a\n- schedulerName: " + strings.Repeat("x", 1_000_000) + "\n- *a\n- *a\n",
			"",
		},
		"many aliases": {
			fileHeader + "profiles:\n- schedulerName: &a " + strings.Repeat("x", 100_000) + "\n" + strings.Repeat("- schedulerName: *a\n", 10_000),
			"c.yaml:172:18: alias *a: aliases lengthen the document by more than 16777216 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("c.yaml", []byte(test.text), Options{})
			if err == nil || test.want != "" && err.Error() != test.want {
				t.Errorf("error = %.300v\nwant %s", err, test.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(fileHeader+strings.Repeat("# long\n", 1_000_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, Options{}); err == nil || err.Error() != path+": longer than 3145728 bytes" {
		t.Errorf("a configuration of 7 MB: error = %.300v", err)
	}
}
