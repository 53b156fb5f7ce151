// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// userAgent is what the API server's logs call the scheduler.
const userAgent = "rouse-scheduler"

func (p *program) runCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "run",
		Short: "Schedule the pods of a cluster",
		Long: "Runs the scheduler against a cluster until it is told to stop. It takes the place of kube-scheduler, or\n" +
			"runs beside it for pods that name one of its profiles in spec.schedulerName.",
		Example: "  rouse run --config scheduler.yaml\n" +
			"  rouse run --config scheduler.yaml --kubeconfig ~/.kube/config",
		Args: between(0, 0, ""),
	}
	config := addConfigFlag(command)
	kubeconfig := command.Flags().String("kubeconfig", "", "kubeconfig file; without it that of the configuration, or else the service account of the pod")
	master := command.Flags().String("master", "", "URL of the API server, instead of that of the kubeconfig")
	command.RunE = func(command *cobra.Command, _ []string) error {
		registry, err := p.registry()
		if err != nil {
			return err
		}
		configuration, err := p.load(command, *config, registry)
		if err != nil {
			return err
		}
		if *kubeconfig != "" {
			configuration.ClientConnection.Kubeconfig = *kubeconfig
		}
		rest, err := restConfig(configuration, *master)
		if err != nil {
			return err
		}
		return run(command.Context(), rest, scheduler.Options{Configuration: configuration, Registry: registry})
	}
	return command
}

// restConfig returns how to reach the API server: as the kubeconfig says or, without one, as a pod does.
func restConfig(configuration *profiles.Configuration, master string) (*restclient.Config, error) {
	connection := configuration.ClientConnection
	rest, err := clientcmd.BuildConfigFromFlags(master, connection.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	rest.DisableCompression = true
	rest.AcceptContentTypes, rest.ContentType = connection.AcceptContentTypes, connection.ContentType
	rest.QPS, rest.Burst = connection.QPS, int(connection.Burst)
	return rest, nil
}

// run schedules until the context ends.
func run(ctx context.Context, rest *restclient.Config, options scheduler.Options) error {
	client, err := clientset.NewForConfig(restclient.AddUserAgent(rest, userAgent))
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(restclient.AddUserAgent(rest, userAgent))
	if err != nil {
		return fmt.Errorf("making a client for custom resources: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	options.Client, options.KubeConfig = client, rest
	options.Informers = scheduler.NewInformerFactory(client)
	options.DynamicInformers = dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	options.Recorder = func(schedulerName string) events.EventRecorderLogger {
		return broadcaster.NewRecorder(scheme.Scheme, schedulerName)
	}
	options.Logger = klog.Background()
	options.Seed = uint64(time.Now().UnixNano())
	built, err := scheduler.New(ctx, options)
	if err != nil {
		return err
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("recording events: %w", err)
	}
	if err := fillCaches(ctx, options.Informers, options.DynamicInformers, built); err != nil {
		options.Logger.Error(err, "Ending before the scheduler knew the cluster")
	}
	return built.Run(ctx)
}

// fillCaches starts the informers and returns once everything that exists has passed through the event handlers.
func fillCaches(ctx context.Context, typed informers.SharedInformerFactory, custom dynamicinformer.DynamicSharedInformerFactory, built *scheduler.Scheduler) error {
	typed.Start(ctx.Done())
	custom.Start(ctx.Done())
	typed.WaitForCacheSync(ctx.Done())
	return built.WaitForHandlersSync(ctx)
}
