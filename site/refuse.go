package site

import (
	"errors"
	"net/http"

	"github.com/durward/durward"
	doorsite "github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/jsonx"
)

// A Refusal is the body of the answer to a request that could not be granted.
type Refusal struct {
	Error string `json:"error"`
	Code  Code   `json:"code"`
	// Hint says what to do; it may be empty.
	Hint string `json:"hint,omitempty"`
}

// An ActionRefusal is that body for a POST.
type ActionRefusal struct {
	Refusal
	ActionResponse
}

// WriteError answers a request with an error as a site does, for what stands around its
// handler: a server that ends, middleware.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	err = inward(err)
	status, code, message := doorsite.Fault(err)
	refusal := Refusal{Error: message, Code: Code(code)}
	var e *durward.Error
	if errors.As(err, &e) {
		refusal.Hint = e.Hint
	}
	var body any = refusal
	if r.Method == http.MethodPost {
		body = ActionRefusal{refusal, ActionResponse{Stderr: message, ReturnCode: 1}}
	}
	line, failed := jsonx.Marshal(body)
	if failed != nil {
		line = nil
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(line) // a client that is gone is noticed by the server
}
