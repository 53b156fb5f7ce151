// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the custom resources that the plugins read, and their arguments.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// GroupVersion is that of the custom resources.
var GroupVersion = schema.GroupVersion{Group: "scheduling.example.com", Version: "v1alpha1"}

// PodGroup is a gang: its pods, which name it in a label, are bound together or not at all.
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PodGroupSpec   `json:"spec"`
	Status PodGroupStatus `json:"status,omitempty"`
}

// PodGroupSpec is what a user asks for.
type PodGroupSpec struct {
	// MinMember is how many pods must have a place before any is bound.
	MinMember int `json:"minMember"`
}

// PodGroupStatus is what the scheduler says.
type PodGroupStatus struct {
	// Phase is Scheduled once pods of the gang are bound.
	Phase string `json:"phase,omitempty"`
}

// PodGroupList is a list of gangs.
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PodGroup `json:"items"`
}

// NodePrice is what the nodes of an instance type cost; the name of the object is that of the type.
type NodePrice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// CentsPerHour is the price.
	CentsPerHour int64 `json:"centsPerHour"`
}

// NodePriceList is a list of prices.
type NodePriceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodePrice `json:"items"`
}

// GangArgs are the arguments of the plugin Gang, as they are written in a profile.
type GangArgs struct {
	metav1.TypeMeta `json:",inline"`

	// PermitTimeout is how long a pod that has a place waits for the rest of its gang; a minute by default.
	PermitTimeout metav1.Duration `json:"permitTimeout"`
}

// NewScheme returns a scheme with the custom resources and the arguments.
func NewScheme() *apiruntime.Scheme {
	scheme := apiruntime.NewScheme()
	scheme.AddKnownTypes(GroupVersion, &PodGroup{}, &PodGroupList{}, &NodePrice{}, &NodePriceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	scheme.AddKnownTypes(configv1.SchemeGroupVersion, &GangArgs{})
	scheme.AddTypeDefaultingFunc(&GangArgs{}, func(args any) { SetDefaults(args.(*GangArgs)) })
	return scheme
}
