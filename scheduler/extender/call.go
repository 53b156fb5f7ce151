// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const (
	// maxAnswer is the longest answer that is read, in bytes. The nodes of the largest clusters fit.
	maxAnswer int64 = 512 << 20
	// maxQuote is how much of an answer an error repeats, in bytes.
	maxQuote = 256
)

// answer is what extenders answer with.
type answer interface {
	extenderv1.ExtenderFilterResult | extenderv1.HostPriorityList | extenderv1.ExtenderPreemptionResult | extenderv1.ExtenderBindingResult
}

// call sends a request and returns the answer, which is never nil without an error.
func call[A answer](e *Extender, verb string, arguments any) (*A, error) {
	url := e.prefix + "/" + verb
	body, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments of %s for the extender at URL %s: %w", verb, url, err)
	}
	request, err := http.NewRequestWithContext(e.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("calling %s of the extender at URL %s: %w", verb, url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("calling %s of the extender: %w", verb, err) // which names the URL
	}
	defer func() { _ = response.Body.Close() }()
	read := &boundedReader{from: response.Body, limit: e.maxAnswer, left: e.maxAnswer}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("failed %s with extender at URL %s, code %d%s", verb, url, response.StatusCode, quoteRest(read, ": "))
	}
	var begin beginning
	result := new(A)
	decoder := json.NewDecoder(io.TeeReader(read, &begin))
	if err := decoder.Decode(result); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the answer is empty")
		}
		return nil, fmt.Errorf("failed %s with extender at URL %s, whose response is not a %T%s: %w",
			verb, url, *result, begin.quote(": "), err)
	}
	// What is left, such as a line feed, is read so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, read, maxQuote)
	return result, nil
}

// boundedReader is like io.LimitedReader, except that reaching the limit is an error.
type boundedReader struct {
	from        io.Reader
	limit, left int64
}

// Read implements io.Reader.
func (r *boundedReader) Read(into []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("the answer reaches %d bytes; with nodeCacheCapable it would need no more than names", r.limit)
	}
	if int64(len(into)) > r.left {
		into = into[:r.left]
	}
	n, err := r.from.Read(into)
	r.left -= int64(n)
	return n, err
}

// beginning keeps the first bytes that are written to it.
type beginning struct{ kept []byte }

// Write implements io.Writer; it takes everything, whatever it keeps.
func (b *beginning) Write(some []byte) (int, error) {
	if room := maxQuote - len(b.kept); room > 0 {
		b.kept = append(b.kept, some[:min(room, len(some))]...)
	}
	return len(some), nil
}

// quote returns the first bytes in quotes, behind a separator, or nothing if there are none.
func (b *beginning) quote(separator string) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(b.kept), "?"))
	if text == "" {
		return ""
	}
	if len(b.kept) == maxQuote {
		text += "..."
	}
	return fmt.Sprintf("%s%q", separator, text)
}

// quoteRest quotes what the rest of an answer begins with.
func quoteRest(from io.Reader, separator string) string {
	var begin beginning
	_, _ = io.CopyN(&begin, from, maxQuote)
	return begin.quote(separator)
}
