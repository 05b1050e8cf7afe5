package site

import (
	"net/http"

	doorsite "github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/jsonx"
)

// A Refusal is the body of the answer to a POST that ran nothing, or not to its end.
// That to any other request has its first two members only.
type Refusal struct {
	Error string `json:"error"`
	Code  Code   `json:"code"`
	ActionResponse
}

// WriteError answers a request with an error as a site does, for what stands around its
// handler: a server that ends, middleware.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	status, code, message := doorsite.Fault(inward(err))
	var body any = struct {
		Error string `json:"error"`
		Code  Code   `json:"code"`
	}{message, Code(code)}
	if r.Method == http.MethodPost {
		body = Refusal{message, Code(code), ActionResponse{Stderr: message, ReturnCode: 1}}
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
