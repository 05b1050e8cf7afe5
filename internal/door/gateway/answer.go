package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/durward/durward/internal/jsonx"
)

// success gives the answer to a run: the worker's output as it came.
func (u *run) success(output json.RawMessage) []byte {
	line := make([]byte, 0, len(output)+256)
	line = u.begin(line, true)
	line = append(append(line, `,"output":`...), output...)
	return u.end(line)
}

// refusal gives the answer that is an error.
func (u *run) refusal(f failure) []byte {
	line := u.begin(make([]byte, 0, 512), false)
	line = jsonx.AppendString(append(line, `,"error":{"code":`...), f.code)
	line = jsonx.AppendString(append(line, `,"message":`...), f.message)
	line = strconv.AppendBool(append(line, `,"retryable":`...), f.retryable)
	line = append(append(append(line, `,"details":`...), text(f.details)...), '}')
	if f.load {
		line = jsonx.AppendString(append(line, `,"detail":`...), f.message)
	}
	return u.end(line)
}

// passed gives the answer that is the worker's own error.
func (u *run) passed(failure json.RawMessage) []byte {
	line := u.begin(make([]byte, 0, len(failure)+256), false)
	line = append(append(line, `,"error":`...), failure...)
	return u.end(line)
}

func (u *run) begin(line []byte, ok bool) []byte {
	line = strconv.AppendBool(append(line, `{"ok":`...), ok)
	line = jsonx.AppendString(append(line, `,"tool_id":`...), string(u.tool))
	return jsonx.AppendString(append(line, `,"tool_run_id":`...), string(u.id))
}

func (u *run) end(line []byte) []byte {
	line = jsonx.AppendString(append(line, `,"meta":{"trace_id":`...), u.traceName())
	line = strconv.AppendInt(append(line, `,"duration_ms":`...), time.Since(u.began).Milliseconds(), 10)
	return append(line, "}}\n"...)
}

// text gives a value of our own as JSON.
func text(v any) []byte {
	line, err := jsonx.Marshal(v)
	if err != nil {
		panic(err) // it is nothing that a request brings
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}

// write sends a body of JSON.
func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is noticed by the server
}
