// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrewManifest has the manifest name the platforms for which make release builds binaries.
func TestKrewManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "deploy", "krew", "rouse.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			Version, Homepage, ShortDescription, Description, Caveats string
			Platforms                                                 []struct {
				Selector struct{ MatchLabels map[string]string }
				URI      string
				SHA256   string
				Bin      string
			}
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, platform := range manifest.Spec.Platforms {
		os, arch := platform.Selector.MatchLabels["os"], platform.Selector.MatchLabels["arch"]
		platforms = append(platforms, os+"/"+arch)
		if platform.Bin != "kubectl-rouse" || !strings.HasSuffix(platform.URI, "/"+manifest.Spec.Version+"/kubectl-rouse-"+os+"-"+arch+".tar.gz") || len(platform.SHA256) != 64 {
			t.Errorf("%+v does not belong to version %s", platform, manifest.Spec.Version)
		}
	}
	makefile, err := os.ReadFile(filepath.Join("..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	built := regexp.MustCompile(`(?m)^PLATFORMS *\??= *(.*)$`).FindStringSubmatch(string(makefile))
	if built == nil || !slices.Equal(platforms, strings.Fields(built[1])) {
		t.Errorf("the manifest has %q, make release builds %q", platforms, built)
	}
	if manifest.Kind != "Plugin" || manifest.Metadata["name"] != "rouse" || len(manifest.Spec.ShortDescription) > 50 {
		t.Errorf("manifest %+v", manifest)
	}
}
