// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
)

const (
	// ExplainPath is where explanations are, followed by the namespace of a pod, a slash and its name.
	ExplainPath = "/explain/pods/"
	// ExplainNodes is the parameter of a query that says how many of the closest nodes an explanation is to have.
	ExplainNodes = "nodes"
)

// Explainer explains pods, as [inspect.LiveExplainer] does. It is safe for concurrent use.
type Explainer interface {
	// Explain explains a pod with at most so many of the closest nodes. A [*inspect.NoSuchPodError] is answered with code
	// 404, an error of apimachinery with its own code, and any other with 500.
	Explain(ctx context.Context, namespace, name string, nodes int) (*inspect.Explanation, error)
}

// explain answers with an explanation as JSON or, as an API server does, with a Status.
func explain(explainer Explainer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		explanation, err := explanationFor(explainer, r)
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			status := statusOf(err)
			w.WriteHeader(int(status.Code))
			_ = json.NewEncoder(w).Encode(status) // the connection may be gone
			return
		}
		_ = render.JSON(w, explanation) // likewise
	})
}

func explanationFor(explainer Explainer, r *http.Request) (*inspect.Explanation, error) {
	if r.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(v1.Resource("pods"), r.Method)
	}
	namespace, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, ExplainPath), "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is not the path of a pod; write %sNAMESPACE/NAME", r.URL.Path, ExplainPath))
	}
	nodes := inspect.DefaultNodes
	if wanted := r.URL.Query().Get(ExplainNodes); wanted != "" {
		var err error
		if nodes, err = strconv.Atoi(wanted); err != nil || nodes < 0 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s is %q, but must be a number that is not negative", ExplainNodes, wanted))
		}
	}
	return explainer.Explain(r.Context(), namespace, name, nodes)
}

// statusOf returns what to answer instead of an explanation.
func statusOf(err error) metav1.Status {
	status := metav1.Status{
		Status: metav1.StatusFailure, Message: err.Error(),
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
	}
	var (
		own     apierrors.APIStatus
		missing *inspect.NoSuchPodError
	)
	switch {
	case errors.As(err, &own):
		status = own.Status()
	case errors.As(err, &missing):
		status.Code, status.Reason = http.StatusNotFound, metav1.StatusReasonNotFound
		status.Details = &metav1.StatusDetails{Kind: "pods", Name: missing.Name}
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}
