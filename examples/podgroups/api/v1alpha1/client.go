// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// NodePriceClient is a typed client, made as those that client-gen writes.
type NodePriceClient = gentype.ClientWithList[*NodePrice, *NodePriceList]

// NewNodePriceClient returns a client of the API server that the configuration names.
func NewNodePriceClient(config *rest.Config) (*NodePriceClient, error) {
	scheme := NewScheme()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &GroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for node prices: %w", err)
	}
	return gentype.NewClientWithList("nodeprices", client, apiruntime.NewParameterCodec(scheme), "",
		func() *NodePrice { return &NodePrice{} }, func() *NodePriceList { return &NodePriceList{} }), nil
}
