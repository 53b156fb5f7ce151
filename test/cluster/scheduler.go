// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// SchedulerOptions say how a scheduler is run.
type SchedulerOptions struct {
	Name      string         // of the process in messages
	Binary    string         // path
	Arguments []string       // before the flags that every scheduler gets
	Config    string         // the KubeSchedulerConfiguration as in deploy
	Settings  map[string]any // fields of the configuration to set on top, by path: "leaderElection.leaderElect"
	// API is where the API server is, with the bearer token of the scheduler.
	API *restclient.Config
}

// Scheduler is a scheduler that runs as a process of its own.
type Scheduler struct {
	*Process
	url    string
	client *http.Client
}

// StartScheduler starts a scheduler with a kubeconfig that has nothing but its token. It returns before the scheduler is
// ready.
func StartScheduler(tb testing.TB, options SchedulerOptions) *Scheduler {
	tb.Helper()
	folder := tb.TempDir()
	kubeconfig, config := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "scheduler.yaml")
	if err := WriteKubeconfig(kubeconfig, options.API); err != nil {
		tb.Fatal(err)
	}
	settings := map[string]any{
		"clientConnection.kubeconfig": kubeconfig,
		// As fast as it can: what is looked at here is the scheduler, not its limit.
		"clientConnection.qps": 5000, "clientConnection.burst": 5000,
	}
	maps.Copy(settings, options.Settings)
	if err := writeConfig(config, options.Config, settings); err != nil {
		tb.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	arguments := append(append([]string{}, options.Arguments...),
		"--config="+config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--v=2",
	)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // it signs itself
	tb.Cleanup(transport.CloseIdleConnections)
	return &Scheduler{
		Process: StartProcess(tb, options.Name, options.Binary, arguments...),
		url:     fmt.Sprintf("https://127.0.0.1:%d", port),
		client:  &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}
}

// Answer is what the scheduler's own server says.
type Answer struct {
	Code int
	Body string
}

// Read asks the scheduler's own server, with a token if there is one.
func (s *Scheduler) Read(ctx context.Context, path, token string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return Answer{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("asking %s for %s: %w", s.name, path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("reading %s of %s: %w", path, s.name, err)
	}
	return Answer{Code: response.StatusCode, Body: string(body)}, nil
}

// WaitReady waits until /readyz says so.
func (s *Scheduler) WaitReady(ctx context.Context, tb testing.TB) {
	tb.Helper()
	var last string
	WaitFor(ctx, tb, 60*time.Second, func() (bool, string) {
		if s.Ended() {
			tb.Fatalf("%s has ended:\n%s", s.name, lastLines(s.Log(), 30))
		}
		answer, err := s.Read(ctx, "/readyz", "")
		if err != nil {
			last = err.Error()
		} else {
			last = answer.Body
		}
		return err == nil && answer.Code == http.StatusOK, s.name + " to be ready: " + last
	})
}

// WriteKubeconfig writes how to reach an API server with a bearer token.
func WriteKubeconfig(path string, api *restclient.Config) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{
		Server: api.Host, CertificateAuthorityData: api.CAData, TLSServerName: api.ServerName,
	}
	config.AuthInfos["scheduler"] = &clientcmdapi.AuthInfo{Token: api.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "scheduler"}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writeConfig writes a configuration with some fields set.
func writeConfig(path, text string, settings map[string]any) error {
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	for field, value := range settings {
		at := config
		names := strings.Split(field, ".")
		for _, name := range names[:len(names)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}
		at[names[len(names)-1]] = value
	}
	written, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return os.WriteFile(path, written, 0o600)
}
