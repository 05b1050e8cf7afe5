package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// codes lists every code there is, with its status.
var codes = map[string]int{
	"bad_request": 400, "bad_content_type": 415, "body_too_large": 413, "bad_env": 400, "path_denied": 403, "not_found": 404,
	"no_frontmatter": 400, "bad_frontmatter": 400, "not_allowed": 403, "arg_denied": 403, "exec_failed": 500, "timeout": 408,
	"output_too_large": 413, "url_denied": 403, "network": 502, "origin_denied": 403, "method": 405, "busy": 503,
	"shutting_down": 503, "internal": 500, "unauthenticated": 401, "cancelled": 499,
}

// Whatever goes wrong, the answer has one of the codes, with its one status.
func TestEveryReasonHasACode(t *testing.T) {
	failures := []error{errors.New("x"), fmt.Errorf("x: %w", http.ErrAbortHandler)}
	for _, reason := range durward.Reasons() {
		failures = append(failures, &durward.Error{Reason: reason}, &durward.Error{Reason: reason, Err: errors.New("x")})
	}
	for _, err := range failures {
		status, code, message := Fault(err)
		if want, ok := codes[code]; !ok || status != want || message == "" {
			t.Errorf("%s: %d %q %q", durward.ReasonOf(err), status, code, message)
		}
	}
}

// A cause is told only where it is made to be told.
func TestCausesStayHere(t *testing.T) {
	for _, reason := range durward.Reasons() {
		_, _, message := Fault(&durward.Error{Reason: reason, Err: errors.New("/srv/secret")})
		if strings.Contains(message, "secret") != told[reason] {
			t.Errorf("%s: %q", reason, message)
		}
	}
}

// So do hints that are meant for the operator.
func TestHintsStayHere(t *testing.T) {
	for _, reason := range durward.Reasons() {
		hint := hintOf(&durward.Error{Reason: reason, Hint: "/srv/secret"})
		if (hint != "") != (told[reason] || advised[reason]) {
			t.Errorf("%s: %q", reason, hint)
		}
	}
	if hint := hintOf(errors.New("x")); hint != "" {
		t.Error(hint)
	}
}

// Every refusal says what can be done about it, but to a stranger, and to one who is gone.
func TestEveryCodeHasAHint(t *testing.T) {
	for code := range codes {
		if told := hints[code] != ""; told == (code == "unauthenticated" || code == "cancelled") {
			t.Errorf("%s: the hint is %q", code, hints[code])
		}
	}
}

// A server that refuses a request by itself can answer in the form of the door.
func TestWriteError(t *testing.T) {
	for method, members := range map[string]int{"POST": 6, "GET": 3} {
		w := httptest.NewRecorder()
		WriteError(w, httptest.NewRequest(method, "/", nil), &durward.Error{Reason: durward.ShuttingDown})
		var body map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || len(body) != members || w.Code != 503 || body["code"] != "shutting_down" {
			t.Errorf("%s: %d %s %v", method, w.Code, w.Body, err)
		}
	}
}
