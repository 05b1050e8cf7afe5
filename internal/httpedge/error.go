package httpedge

import (
	"errors"
	"net/http"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

const op = "http"

// An ErrorWriter answers a request with an error. Each door has its own shape.
type ErrorWriter func(w http.ResponseWriter, r *http.Request, err error)

// WriteError is the default [ErrorWriter]: the status of [Status] and the body
//
//	{"error":"the method is not allowed","code":"method"}
//
// The body says nothing but what the reason's summary says.
func WriteError(w http.ResponseWriter, _ *http.Request, err error) {
	line, failed := jsonx.Marshal(struct {
		Error string         `json:"error"`
		Code  durward.Reason `json:"code"`
	}{summary(err), code(err)})
	if failed != nil {
		line = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(Status(err))
	_, _ = w.Write(line) // a client that is gone is noticed elsewhere
}

// Status gives the HTTP status of an error: that of its kind, but for the reasons
// that HTTP has a closer one for.
func Status(err error) int {
	switch durward.ReasonOf(err) {
	case durward.BadContentType:
		return http.StatusUnsupportedMediaType
	case durward.MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case durward.Unauthenticated:
		return http.StatusUnauthorized
	case durward.RequestTimeout:
		return http.StatusRequestTimeout
	}
	return durward.KindOf(err).HTTPStatus()
}

func summary(err error) string {
	if s := durward.ReasonOf(err).Summary(); s != "" {
		return s
	}
	return durward.KindOf(err).String()
}

func code(err error) durward.Reason {
	if r := durward.ReasonOf(err); r != "" {
		return r
	}
	return durward.Reason(durward.KindOf(err).String())
}

func refused(reason durward.Reason, why string) error {
	return &durward.Error{Reason: reason, Op: op, Err: errors.New(why)}
}

func badRequest(why string) error { return refused(durward.BadRequest, why) }

// refuse answers with err and ends the connection, so that nothing the client sent
// behind a refused request is taken for another one.
func refuse(w http.ResponseWriter, r *http.Request, write ErrorWriter, err error) {
	w.Header().Set("Connection", "close")
	write(w, r, err)
}
