// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
)

// An extender that has no room on the node a. The extenders of a scheduler go to scheduler.Options.Extenders.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"NodeNames": ["b"], "FailedNodes": {"a": "no GPU is free"}}`)
	}))
	defer server.Close()
	configuration := profiles.Default()
	configuration.Extenders = []configv1.Extender{{URLPrefix: server.URL, FilterVerb: "filter", NodeCacheCapable: true}}

	extenders, err := extender.New(configuration)
	if err != nil {
		fmt.Println(err)
		return
	}
	var nodes []fwk.NodeInfo
	for _, name := range []string{"a", "b"} {
		node := framework.NewNodeInfo()
		node.SetNode(&v1.Node{})
		node.Node().Name = name
		nodes = append(nodes, node)
	}
	kept, failed, _, err := extenders[0].Filter(&v1.Pod{}, nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range kept {
		fmt.Println(node.Node().Name, "is left")
	}
	for name, reason := range failed {
		fmt.Println(name+":", reason)
	}
	// Output:
	// b is left
	// a: no GPU is free
}
