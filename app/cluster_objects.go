// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// contextFlags say which cluster to read, as kubectl's do.
type contextFlags struct {
	kubeconfig, context string
	// current has the current context of the kubeconfig be read if nothing else is said.
	current bool
}

func addContextFlags(command *cobra.Command, current bool) *contextFlags {
	f := &contextFlags{current: current}
	command.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig, whose cluster is read through its API")
	command.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; the default is that of kubectl")
	complete(command, "context", f.contexts)
	return f
}

// asked reports whether a cluster is to be read, named whether that was said.
func (f *contextFlags) asked(command *cobra.Command) bool { return f.current || f.named(command) }

func (f *contextFlags) named(command *cobra.Command) bool {
	return command.Flags().Changed("context") || command.Flags().Changed("kubeconfig")
}

func (f *contextFlags) config() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// contexts returns the names of the contexts, for the shell.
func (f *contextFlags) contexts() []string {
	raw, err := f.config().RawConfig()
	if err != nil {
		return nil
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// namespace returns the namespace of the context; default if it has none.
func (f *contextFlags) namespace() string {
	namespace, _, err := f.config().Namespace()
	if err != nil || namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

// client returns a client for the cluster.
func (f *contextFlags) client() (*clientset.Clientset, error) {
	config, err := f.config().ClientConfig()
	if err != nil {
		return nil, &unreadableError{fmt.Errorf("reading the kubeconfig: %w", err)}
	}
	config.ContentType, config.QPS, config.Burst = apiruntime.ContentTypeProtobuf, 50, 100
	config.AcceptContentTypes = apiruntime.ContentTypeProtobuf + "," + apiruntime.ContentTypeJSON
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client, nil
}

// resource is a kind of object that the scheduler and the in-tree plugins read.
type resource struct {
	client restclient.Interface
	plural string
	empty  apiruntime.Object // list of them
}

// resourcesOf returns what simulate.KubectlResources names, nodes before pods.
func resourcesOf(client clientset.Interface) []resource {
	core, apps, storage, devices := client.CoreV1().RESTClient(), client.AppsV1().RESTClient(), client.StorageV1().RESTClient(), client.ResourceV1().RESTClient()
	return []resource{
		{core, "namespaces", &v1.NamespaceList{}},
		{client.SchedulingV1().RESTClient(), "priorityclasses", &schedulingv1.PriorityClassList{}},
		{storage, "storageclasses", &storagev1.StorageClassList{}},
		{storage, "csidrivers", &storagev1.CSIDriverList{}},
		{storage, "csinodes", &storagev1.CSINodeList{}},
		{storage, "csistoragecapacities", &storagev1.CSIStorageCapacityList{}},
		{storage, "volumeattachments", &storagev1.VolumeAttachmentList{}},
		{core, "persistentvolumes", &v1.PersistentVolumeList{}},
		{core, "persistentvolumeclaims", &v1.PersistentVolumeClaimList{}},
		{core, "services", &v1.ServiceList{}},
		{core, "replicationcontrollers", &v1.ReplicationControllerList{}},
		{apps, "replicasets", &appsv1.ReplicaSetList{}},
		{apps, "statefulsets", &appsv1.StatefulSetList{}},
		{client.PolicyV1().RESTClient(), "poddisruptionbudgets", &policyv1.PodDisruptionBudgetList{}},
		{devices, "deviceclasses", &resourceapi.DeviceClassList{}},
		{devices, "devicetaintrules", &resourceapi.DeviceTaintRuleList{}},
		{devices, "resourceclaims", &resourceapi.ResourceClaimList{}},
		{devices, "resourceclaimtemplates", &resourceapi.ResourceClaimTemplateList{}},
		{devices, "resourceslices", &resourceapi.ResourceSliceList{}},
		{core, "nodes", &v1.NodeList{}},
		{core, "pods", &v1.PodList{}},
	}
}

// pageSize is how many objects are asked for at a time.
const pageSize = 1000

// listCluster returns the objects of a cluster, with their kinds, and what may not be read. What the cluster does not serve is left out.
func listCluster(ctx context.Context, client clientset.Interface) (objects []apiruntime.Object, forbidden []string, err error) {
	for _, resource := range resourcesOf(client) {
		listed, err := resource.list(ctx)
		switch {
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, resource.plural)
		case apierrors.IsNotFound(err): // an API that is not enabled
		case err != nil:
			return nil, nil, fmt.Errorf("listing %s: %w", resource.plural, err)
		}
		objects = append(objects, listed...)
	}
	return objects, forbidden, nil
}

func (r resource) list(ctx context.Context) (all []apiruntime.Object, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page := r.empty.DeepCopyObject()
		if err := r.client.Get().Resource(r.plural).VersionedParams(&options, scheme.ParameterCodec).Do(ctx).Into(page); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			kinds, _, err := scheme.Scheme.ObjectKinds(item)
			if err != nil {
				return nil, err
			}
			item.GetObjectKind().SetGroupVersionKind(kinds[0])
			all = append(all, item)
		}
		list, err := meta.ListAccessor(page)
		if err != nil || list.GetContinue() == "" {
			return all, err
		}
		options.Continue = list.GetContinue()
	}
}

// warnForbidden says what was left out because it may not be read.
func warnForbidden(command *cobra.Command, forbidden []string) {
	if len(forbidden) > 0 {
		warn(command, fmt.Sprintf("you may not list %s, so they are left out as if there were none; it takes a ClusterRole with the verb list for them",
			strings.Join(forbidden, ", ")))
	}
}
