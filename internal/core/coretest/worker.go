package coretest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// workerPath is where a [RequestServer] is a tool worker: its input names one of the other
// paths, and its output is what that answers.
const workerPath = "/run"

// worker does in an envelope what a path does. What has no end of its own ends with its client.
func (d *desk) worker(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input struct{ Path string } }
	err := json.NewDecoder(r.Body).Decode(&asked)
	to, wrong := url.Parse(asked.Input.Path)
	if err != nil || wrong != nil || to.Path == workerPath {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	within := r.Clone(r.Context())
	within.URL = to
	said := &answer{ResponseWriter: w}
	d.ServeHTTP(said, within)
	envelope := map[string]any{"ok": true, "output": map[string]any{"said": said.text.Bytes()}}
	if said.status >= http.StatusBadRequest {
		envelope = map[string]any{"ok": false, "error": map[string]any{"code": "FAILED", "message": http.StatusText(said.status)}}
	}
	_ = json.NewEncoder(w).Encode(envelope)
}

// An answer is kept for the envelope around it.
type answer struct {
	http.ResponseWriter
	text   bytes.Buffer
	status int
}

func (a *answer) Write(p []byte) (int, error) { return a.text.Write(p) }

func (a *answer) WriteHeader(status int) { a.status = status }

// Unwrap lets a path flush what is before its end.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
