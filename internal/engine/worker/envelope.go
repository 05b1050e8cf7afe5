package worker

import (
	"errors"
	"iter"
	"strconv"

	"github.com/durward/durward/internal/jsonx"
)

// envelopeDepth is how deep a reply may be nested: what reads it behind us often goes no
// deeper.
const envelopeDepth = 1000

// An envelope is a reply that a worker may give. What is in it shares the memory of the
// reply.
type envelope struct {
	ok bool
	// output is the object that the worker gave or, where ok is not set, its error with all
	// four members.
	output []byte
	// retryable is set on an error that the worker would try again.
	retryable bool
	// traceID and runID are values of the worker's meta; nil where it has none.
	traceID, runID []byte
}

// readEnvelope reads a reply strictly. Members that it does not know are passed over.
func readEnvelope(status int, body []byte) (envelope, error) {
	e, err := parseEnvelope(status, body)
	if err != nil {
		return envelope{}, nonStandard(status, err)
	}
	return e, nil
}

func parseEnvelope(status int, body []byte) (envelope, error) {
	if status < 200 || status/100 == 3 {
		return envelope{}, errors.New("the status is one that no envelope has")
	}
	// A value takes a byte at least: the size of the reply bounds how many there are.
	size := max(len(body), 1)
	if err := jsonx.Check(body, jsonx.Limits{Bytes: int64(size), Depth: envelopeDepth, Values: size}); err != nil {
		return envelope{}, errors.New("the body is not strict JSON") // its names are not for the log
	}
	if body = jsonx.TrimSpace(body); !isObject(body) {
		return envelope{}, errors.New("the body is no object")
	}
	return takeApart(status, body)
}

func takeApart(status int, body []byte) (e envelope, err error) {
	var said, output, failed, meta []byte
	for name, value := range given(body) {
		switch string(name) {
		case "ok":
			said = value
		case "output":
			output = value
		case "error":
			failed = value
		case "meta":
			meta = value
		}
	}
	if e.ok, err = readBool(said); err != nil {
		return e, errors.New("ok is missing or no boolean")
	}
	if err := e.readMeta(meta); err != nil {
		return e, err
	}
	if !e.ok {
		return e, e.readError(failed)
	}
	switch e.output = output; {
	case status/100 != 2:
		return e, errors.New("ok is true, and the status says otherwise")
	case !isObject(output):
		return e, errors.New("output is missing or no object")
	}
	return e, nil
}

// given gives the members of an object but for those that are null: many programs write so
// what they leave out.
func given(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for name, value := range jsonx.Members(object) {
			if string(value) != "null" && !yield(name, value) {
				return
			}
		}
	}
}

func (e *envelope) readMeta(meta []byte) error {
	if meta == nil {
		return nil
	}
	if !isObject(meta) {
		return errors.New("meta is no object")
	}
	for name, value := range jsonx.Members(meta) {
		switch string(name) {
		case "trace_id":
			e.traceID = value
		case "tool_run_id":
			e.runID = value
		}
	}
	return nil
}

// names tells whether a value of meta is the id that was sent, or missing.
func (e *envelope) names(value []byte, ours string) bool {
	text, ok := jsonx.Unquote(value)
	return value == nil || ok && string(text) == ours
}

// readError reads an error and gives it all its members.
func (e *envelope) readError(object []byte) error {
	if !isObject(object) {
		return errors.New("error is missing or no object")
	}
	var code, message, retryable []byte
	details := []byte("{}")
	for name, value := range given(object) {
		switch string(name) {
		case "code":
			code = value
		case "message":
			message = value
		case "retryable":
			retryable = value
		case "details":
			details = value
		}
	}
	word, ok := jsonx.Text(code)
	if !ok || !isString(message) || !isObject(details) {
		return errors.New("error lacks its code or message, or a member has the wrong type")
	}
	if !isCode(word) {
		word = "INTERNAL"
	}
	e.retryable = word == "UPSTREAM_ERROR" || word == "TIMEOUT" || word == "RATE_LIMITED"
	if retryable != nil {
		var err error
		if e.retryable, err = readBool(retryable); err != nil {
			return errors.New("retryable is no boolean")
		}
	}
	e.output = normalised(word, message, e.retryable, details)
	return nil
}

func normalised(code string, message []byte, retryable bool, details []byte) []byte {
	text := make([]byte, 0, len(code)+len(message)+len(details)+64)
	text = append(append(text, `{"code":"`...), code...)
	text = append(append(text, `","message":`...), message...)
	text = strconv.AppendBool(append(text, `,"retryable":`...), retryable)
	text = append(append(text, `,"details":`...), details...)
	return append(text, '}')
}

// isCode tells whether a word is of the form [A-Z][A-Z0-9_]{0,63}.
func isCode(word string) bool {
	if len(word) == 0 || len(word) > 64 || word[0] < 'A' || word[0] > 'Z' {
		return false
	}
	for i := range len(word) {
		c := word[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

func readBool(value []byte) (bool, error) {
	if len(value) > 0 && (value[0] == 't' || value[0] == 'f') {
		return value[0] == 't', nil
	}
	return false, errors.New("no boolean")
}
