// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

func ExampleDocument_Decode() {
	const text = `
kind: Greeting
spec:
  salutation: Hello
  nmae: [you]
`
	var greeting struct {
		Kind string `json:"kind"`
		Spec struct {
			Salutation string `json:"salutation"`
			Name       string `json:"name"`
		} `json:"spec"`
	}
	documents, err := manifest.Split("greeting.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, document := range documents {
		fmt.Println(document.Decode(&greeting))
	}
	// Output:
	// greeting.yaml:5:3: spec.nmae: unknown field; did you mean "name"?
}

func ExampleDocument_Errorf() {
	documents, err := manifest.Split("pods.yaml", []byte("kind: Pod\nspec:\n  priority: -1\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(documents[0].Errorf("spec.priority", "must not be negative, but is %d", -1))
	// Output:
	// pods.yaml:3:3: spec.priority: must not be negative, but is -1
}
