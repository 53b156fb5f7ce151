// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"strings"
	"testing"
)

// TestForms has texts that kube-scheduler reads, and others that it does not although they are well-formed YAML.
func TestForms(t *testing.T) {
	const flow = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}\n"
	const inJSON = `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}` + "\n"
	for text, want := range map[string]string{
		fileHeader: "", "# c\n" + fileHeader: "", "---\n" + fileHeader: "", "# c\n---\n" + fileHeader: "", "%YAML 1.1\n---\n" + fileHeader: "",
		fileHeader + "---\n# c\n": "", "--- # c\n" + flow: "", "# c\n" + flow: "", inJSON: "", " \n" + inJSON: "",
		"---\n---\n" + fileHeader:       "c.yaml:3:1: the file begins with an empty document",
		"---\n# c\n---\n" + fileHeader:  "c.yaml:4:1: the file begins with an empty document",
		"%YAML 1.2\n---\n" + fileHeader: "c.yaml:3:1: kube-scheduler cannot read what comes before the document: ",
		flow:                            "c.yaml:1:1: kube-scheduler reads a file that begins with a brace as JSON",
		"\n" + flow:                     "c.yaml:2:1: kube-scheduler reads a file that begins with a brace as JSON",
		inJSON + "---\n":                "c.yaml:1:1: kube-scheduler reads a file that begins with a brace as JSON",
	} {
		_, err := Parse("c.yaml", []byte(text), Options{})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error = %v, want %q", text, err, want)
		}
	}
}

// TestUnknownFieldsDoNotHideOtherErrors has errors of all sorts in one file.
func TestUnknownFieldsDoNotHideOtherErrors(t *testing.T) {
	const text = fileHeader + `parallelism: 0
paralelism: 1
profiles:
- pluginConfig:
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 101, hard: 1}
  plugins:
    score: {enabled: [{name: NodeAfinity}], enabled: [{name: NodeAfinity}]}
`
	_, err := Parse("c.yaml", []byte(text), Options{KnownPlugins: knownPlugins()})
	for _, want := range []string{
		"c.yaml:3:1: parallelism: Invalid value: 0", `c.yaml:4:1: paralelism: unknown field; did you mean "parallelism"?`,
		"c.yaml:8:12: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101", "args.hard: unknown field",
		"already set on line 10", `ScorePlugin "NodeAfinity" does not exist; did you mean "NodeAffinity"?`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("there is no %q in:\n%v", want, err)
		}
	}
}
