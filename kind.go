package durward

import (
	"log/slog"
	"net/http"
)

// A Kind is a class of failure. The set is closed; each kind has one default in
// every protocol, and a door that must answer otherwise says so by [Reason].
type Kind int

// The kinds. The zero value is not a kind: an error without one is Internal.
const (
	// Invalid: the request is malformed and will be until it is changed.
	Invalid Kind = iota + 1
	// Denied: policy refuses.
	Denied
	// NotFound: the thing named does not exist, or is not the caller's to see.
	NotFound
	// Timeout: the deadline passed; the work has been stopped.
	Timeout
	// Cancelled: the caller went away or asked to stop; the work has been stopped.
	Cancelled
	// TooLarge: an input or output is over its limit.
	TooLarge
	// Busy: no slot was free and the queue is full.
	Busy
	// Upstream: something beyond this machine's control failed.
	Upstream
	// Unavailable: a protection that was asked for cannot be had.
	Unavailable
	// Conflict: the state is not the one the request assumes.
	Conflict
	// Internal: a defect of ours.
	Internal
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{Invalid, Denied, NotFound, Timeout, Cancelled, TooLarge, Busy, Upstream, Unavailable, Conflict, Internal}
}

// A Retry says when trying again makes sense.
type Retry string

// The retry classes.
const (
	RetryLater Retry = "retry_later"
	FixState   Retry = "fix_state"
	FixRequest Retry = "fix_request"
	RetryNever Retry = "never"
)

type kindRow struct {
	name    string
	http    int
	jsonrpc int
	exit    int
	level   slog.Level
	retry   Retry
}

// StatusClientClosedRequest is the status of a call whose client went away; nobody
// reads it but the log.
const StatusClientClosedRequest = 499

// kindTable is the one place where a kind meets a protocol.
var kindTable = [...]kindRow{
	Invalid:     {"invalid", http.StatusBadRequest, -32602, 2, slog.LevelInfo, FixRequest},
	Denied:      {"denied", http.StatusForbidden, -31001, 4, slog.LevelWarn, RetryNever},
	NotFound:    {"not_found", http.StatusNotFound, -31005, 7, slog.LevelInfo, FixRequest},
	Timeout:     {"timeout", http.StatusGatewayTimeout, -31002, 6, slog.LevelWarn, RetryLater},
	Cancelled:   {"cancelled", StatusClientClosedRequest, -31006, 6, slog.LevelInfo, RetryLater},
	TooLarge:    {"too_large", http.StatusRequestEntityTooLarge, -31003, 1, slog.LevelInfo, FixRequest},
	Busy:        {"busy", http.StatusServiceUnavailable, -31007, 8, slog.LevelWarn, RetryLater},
	Upstream:    {"upstream", http.StatusBadGateway, -31008, 8, slog.LevelWarn, RetryLater},
	Unavailable: {"unavailable", http.StatusServiceUnavailable, -31009, 9, slog.LevelError, FixState},
	Conflict:    {"conflict", http.StatusConflict, -31010, 10, slog.LevelWarn, FixState},
	Internal:    {"internal", http.StatusInternalServerError, -32603, 1, slog.LevelError, RetryNever},
}

func (k Kind) row() kindRow {
	if k < Invalid || int(k) >= len(kindTable) {
		k = Internal
	}
	return kindTable[k]
}

// String gives the word of the kind, as logs and JSON show it.
func (k Kind) String() string { return k.row().name }

// HTTPStatus is the default status of the kind.
func (k Kind) HTTPStatus() int { return k.row().http }

// JSONRPCCode is the default error code of the kind.
func (k Kind) JSONRPCCode() int { return k.row().jsonrpc }

// ExitStatus is the default exit status of the kind.
func (k Kind) ExitStatus() int { return k.row().exit }

// LogLevel is the level at which the kind is logged.
func (k Kind) LogLevel() slog.Level { return k.row().level }

// Retry is the default retry class of the kind.
func (k Kind) Retry() Retry { return k.row().retry }
