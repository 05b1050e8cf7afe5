package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/durward/durward/internal/jsonx"
)

// timeoutHeader says how many milliseconds the caller will still wait. It holds where
// the clocks of two machines differ.
const timeoutHeader = "X-Request-Timeout-Ms"

func limits(bytes int64) jsonx.Limits { return jsonx.Limits{Bytes: bytes, Values: 1 << 20} }

// parse reads the envelope of a call. The ids of the call are given beside an error, too,
// as far as they can be read.
func parse(body []byte) (Call, error) {
	var c Call
	members, err := jsonx.Object(body, limits(int64(len(body))))
	if err != nil {
		return c, invalid("the body is not one JSON object: " + problem(err))
	}
	if err := c.Meta.parse(members["meta"]); err != nil {
		return c, err
	}
	c.Input = members["input"]
	if !isObject(c.Input) {
		return c, invalid("the body has no input object")
	}
	return c, nil
}

// parse reads the member meta, which may be missing. Members that it does not know are
// for others.
func (m *Meta) parse(meta json.RawMessage) error {
	if isAbsent(meta) {
		return nil
	}
	if !isObject(meta) {
		return invalid("meta is no object")
	}
	var wrong error
	for name, value := range jsonx.Members(meta) {
		if err := m.set(string(name), value); err != nil {
			wrong = err
		}
	}
	return wrong
}

func (m *Meta) set(name string, value json.RawMessage) (err error) {
	if isAbsent(value) {
		return nil
	}
	into := map[string]*string{"trace_id": &m.TraceID, "tool_run_id": &m.ToolRunID, "domain_id": &m.DomainID}[name]
	ok := true
	switch {
	case into != nil:
		*into, ok = jsonx.Text(value)
	case name == "deadline_ms":
		m.Deadline, ok = unixMilli(string(value))
	}
	if !ok {
		return invalid("meta." + name + " has the wrong type")
	}
	return nil
}

// unixMilli reads a number of milliseconds since 1970. One that no clock will show is the
// last one that it can.
func unixMilli(text string) (time.Time, bool) {
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return time.Time{}, false
	}
	const last = 1 << 53
	return time.UnixMilli(int64(math.Floor(min(max(ms, -last), last)))), true
}

// remaining is what the timeout header leaves of the time from now.
func remaining(h http.Header, now time.Time) (deadline time.Time, err error) {
	values := h.Values(timeoutHeader)
	if len(values) == 0 {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || len(values) > 1 {
		return time.Time{}, invalid(timeoutHeader + " is not one whole number")
	}
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return now.Add(time.Duration(min(max(ms, -longest), longest)) * time.Millisecond), nil
}

// earlier gives the first of two deadlines, of which the zero value is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

func isAbsent(value json.RawMessage) bool {
	return len(value) == 0 || bytes.Equal(value, []byte("null"))
}

func invalid(message string) *Error { return &Error{Code: ValidationError, Message: message} }

// An answer is what a caller gets.
type answer struct {
	OK     bool            `json:"ok"`
	Meta   answerMeta      `json:"meta"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  *answerError    `json:"error,omitempty"`
}

type answerMeta struct {
	TraceID    string `json:"trace_id"`
	ToolRunID  string `json:"tool_run_id"`
	DurationMs int64  `json:"duration_ms"`
}

type answerError struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details"`
}

func (e *Error) answer() *answerError {
	a := &answerError{e.code(), e.Message, e.retryable(), e.Details}
	if a.Message == "" {
		a.Message = "the tool failed"
	}
	if a.Details == nil {
		a.Details = map[string]any{}
	}
	return a
}

// encodeOutput gives the output of a tool as JSON.
func encodeOutput(output any) (json.RawMessage, error) {
	if output == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := jsonx.Marshal(output)
	if err == nil && !isObject(text) {
		err = errors.New("the output is no object")
	}
	if err != nil {
		return nil, &Error{Code: Internal, Message: "the tool gave no usable output", Err: err}
	}
	return text, nil
}
