package httpedge

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// A reply is the answer to one request. When it begins before the end of the request's
// body was read, it ends the connection: net/http would otherwise wait for a body that
// may never come, and what is left of the body must not be read as another request.
type reply struct {
	http.ResponseWriter
	conn  *conn
	in    *body
	begun bool
}

func (w *reply) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *reply) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what was written so far; see [http.ResponseController].
func (w *reply) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is FlushError for callers that know the older interface only.
func (w *reply) Flush() { _ = w.FlushError() }

// Hijack hands the connection over, for a WebSocket.
func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begun = true
	w.conn.keepQuiet()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap is for [http.ResponseController].
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *reply) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if w.in.ended {
		return
	}
	w.Header().Set("Connection", "close")
	w.conn.lingerAtClose()
	// After the handler net/http looks for the end of the body once more; this makes
	// it give up at once, with the answer already sent.
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
}
