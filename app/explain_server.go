// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	restclient "k8s.io/client-go/rest"

	"github.com/rouse-scheduler/rouse/app/internal/serving"
	"github.com/rouse-scheduler/rouse/inspect"
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 20

// serverFlags say which scheduler to ask, and how. Their names are those of kubectl.
type serverFlags struct {
	server, tokenFile, authority string
	insecure                     bool
	timeout                      time.Duration
}

func addServerFlags(command *cobra.Command) *serverFlags {
	f := &serverFlags{}
	flags := command.Flags()
	flags.StringVar(&f.server, "server", "", "URL of a running scheduler to ask, such as https://localhost:10259")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the bearer token to authenticate with")
	flags.StringVar(&f.authority, "certificate-authority", "", "file with the certificate of the authority that signed the certificate of the scheduler")
	flags.BoolVar(&f.insecure, "insecure-skip-tls-verify", false, "do not verify the certificate of the scheduler")
	flags.DurationVar(&f.timeout, "request-timeout", 30*time.Second, "how long to wait for the answer; 0 waits forever")
	return f
}

// asked reports whether a scheduler is to be asked.
func (f *serverFlags) asked(command *cobra.Command) bool {
	return slices.ContainsFunc([]string{"server", "token-file", "certificate-authority", "insecure-skip-tls-verify", "request-timeout"},
		command.Flags().Changed)
}

// explain asks the scheduler about a pod; further are arguments that have no place here.
func (f *serverFlags) explain(command *cobra.Command, further []string, namespace, name string, nodes int) (*inspect.Explanation, error) {
	if f.server == "" {
		return nil, usageError(command, "%q needs --server, the URL of the scheduler to ask", command.CommandPath())
	}
	for _, flag := range []string{"scenario", "at", "config", "seed"} {
		if command.Flags().Changed(flag) {
			return nil, usageError(command, "--%s is for a simulation, and cannot be used with --server", flag)
		}
	}
	if len(further) > 0 {
		return nil, usageError(command, "with --server, %q takes one pod, but got %q as well", command.CommandPath(), further[0])
	}
	base, err := f.url()
	if err != nil {
		return nil, usageError(command, "%w", err)
	}
	client, err := f.client(base)
	if err != nil {
		return nil, err
	}
	address := base.JoinPath(serving.ExplainPath, namespace, name)
	address.RawQuery = url.Values{serving.ExplainNodes: {strconv.Itoa(nodes)}}.Encode()
	return f.ask(command.Context(), client, base, address)
}

// url returns the URL of the scheduler.
func (f *serverFlags) url() (*url.URL, error) {
	text := f.server
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--server: %w", err)
	case parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "":
		return nil, fmt.Errorf("--server is %q, but must be a URL such as https://localhost:10259", f.server)
	case parsed.Scheme == "http" && f.tokenFile != "":
		return nil, errors.New("--token-file needs an https URL: over http, anyone on the network path could read the token")
	}
	return parsed, nil
}

// client returns a client that sends the token to the scheduler only: it follows no redirections.
func (f *serverFlags) client(base *url.URL) (*http.Client, error) {
	config := &restclient.Config{
		Host:            base.Host,
		TLSClientConfig: restclient.TLSClientConfig{CAFile: f.authority, Insecure: f.insecure},
		Timeout:         f.timeout,
	}
	if f.tokenFile != "" {
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		if config.BearerToken = strings.TrimSpace(string(token)); config.BearerToken == "" {
			return nil, fmt.Errorf("the file of the token, %s, is empty", f.tokenFile)
		}
	}
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to ask %s: %w", base, err)
	}
	own := *client // the other may be the default one
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own, nil
}

func (f *serverFlags) ask(ctx context.Context, client *http.Client, base, address *url.URL) (*inspect.Explanation, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", base, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, f.unreachable(base, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, f.unreachable(base, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, f.refused(base, response.StatusCode, body)
	}
	explanation := &inspect.Explanation{}
	if err := json.Unmarshal(body, explanation); err != nil || explanation.At == "" {
		return nil, fmt.Errorf("the response of %s is not an explanation; is it the URL of a 'rouse run'?", base)
	}
	return explanation, nil
}

// unreachable explains why no answer came.
func (f *serverFlags) unreachable(base *url.URL, err error) error {
	var (
		failed     *url.Error
		untrusted  *tls.CertificateVerificationError
		notEncoded tls.RecordHeaderError
	)
	switch timedOut := errors.As(err, &failed) && failed.Timeout(); {
	case timedOut:
		return fmt.Errorf("%s did not answer within %v; --request-timeout gives it more time", base, f.timeout)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s cannot be verified: %w; name the authority that signed it with "+
			"--certificate-authority, or do without with --insecure-skip-tls-verify", base, untrusted.Err)
	case errors.As(err, &notEncoded):
		return fmt.Errorf("%s does not speak HTTPS; is the port right?", base)
	case failed != nil:
		err = failed.Err // without the whole URL once more
	}
	return fmt.Errorf("asking %s: %w", base, err)
}

// refused explains an answer that is no explanation.
func (f *serverFlags) refused(base *url.URL, code int, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{}
	}
	message := cmp.Or(status.Message, http.StatusText(code))
	const giveToken = "give a token with --token-file, such as one of 'kubectl create token'"
	switch aboutPod := status.Details != nil && status.Details.Kind == "pods"; {
	case code == http.StatusUnauthorized && f.tokenFile == "":
		return fmt.Errorf("%s requires authentication; %s", base, giveToken)
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the token in %s; has it expired?", base, f.tokenFile)
	case code == http.StatusForbidden && f.tokenFile == "":
		return fmt.Errorf("%s does not explain pods without credentials; %s", base, giveToken)
	case code == http.StatusForbidden:
		return fmt.Errorf("%s: %s; that takes a role with {nonResourceURLs: [%q], verbs: [get]}", base, message, serving.ExplainPath+"*")
	case code == http.StatusNotFound && aboutPod:
		return errors.New(message)
	case code == http.StatusNotFound:
		return fmt.Errorf("%s does not explain pods: it has no %s; is it the URL of a 'rouse run' of this version?", base, serving.ExplainPath)
	}
	return fmt.Errorf("%s answers with code %d: %s", base, code, message)
}
