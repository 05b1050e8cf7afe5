package gateway

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// A request is the body of a run.
type request struct {
	input json.RawMessage
	// timeout is what the caller wants to wait at most; zero says nothing.
	timeout time.Duration
	dryRun  bool
	bytes   int
}

// decode reads the body of a run. Members that it does not know are passed over.
func decode(r *http.Request, maxBytes int64) (request, error) {
	body, err := httpedge.ReadBody(r, maxBytes)
	if err != nil {
		return request{}, err
	}
	q := request{bytes: len(body)}
	if err := httpedge.NeedJSON(r, true); err != nil {
		return q, err
	}
	members, err := object(body)
	if err != nil {
		return q, err
	}
	q.input = members["input"]
	if len(q.input) == 0 || q.input[0] != '{' {
		return q, malformed("input, an object, is missing")
	}
	if q.timeout, err = timeoutOf(members["timeout_sec"]); err != nil {
		return q, err
	}
	q.dryRun, err = flagOf("dry_run", members["dry_run"])
	return q, err
}

// object checks that a body is one strict object. What it says of a mistake is where it is,
// and nothing of the text.
func object(body []byte) (map[string]json.RawMessage, error) {
	limits := jsonx.Limits{Bytes: int64(len(body)) + 1, Values: len(body) + 1}
	if text := jsonx.TrimSpace(body); len(text) > 0 && text[0] == '{' {
		members, err := jsonx.Object(body, limits)
		return members, httpedge.NotStrict(err)
	}
	if err := jsonx.Check(body, limits); err != nil {
		return nil, httpedge.NotStrict(err)
	}
	return nil, malformed("the body is not an object")
}

func malformed(what string) error {
	return &durward.Error{Reason: durward.BadCall, Op: "decode", Err: errors.New(what + `; send {"input": {…}}`)}
}

// maxTimeout is the longest time that can be asked for; tools have less.
const maxTimeout = 24 * time.Hour

func timeoutOf(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds <= 0 || math.IsInf(seconds, 0) {
		return 0, &durward.Error{Reason: durward.BadTimeout, Op: "decode", Err: errors.New("timeout_sec is not a number above 0")}
	}
	if seconds >= maxTimeout.Seconds() {
		return maxTimeout, nil
	}
	return max(time.Duration(seconds*float64(time.Second)), 1), nil
}

func flagOf(name string, raw json.RawMessage) (bool, error) {
	switch string(raw) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, malformed(name + " is neither true nor false")
}
