package httpedge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// NeedJSON refuses, with BadContentType, a request whose Content-Type is not
// application/json; parameters are allowed. With absentOK it may be absent. A body in
// a content coding such as gzip is refused as well, for nothing here expands it.
func NeedJSON(r *http.Request, absentOK bool) error {
	if coding := r.Header.Values("Content-Encoding"); len(coding) > 0 && !strings.EqualFold(strings.Join(coding, ","), "identity") {
		return refused(durward.BadContentType, "content coding "+clip(coding[0]))
	}
	types := r.Header.Values("Content-Type")
	if len(types) == 0 && absentOK {
		return nil
	}
	if len(types) != 1 {
		return refused(durward.BadContentType, fmt.Sprintf("%d content types", len(types)))
	}
	if !isJSON(types[0]) {
		return refused(durward.BadContentType, "content type "+clip(types[0]))
	}
	return nil
}

func isJSON(contentType string) bool {
	const want = "application/json"
	if contentType == want { // as most write it
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == want
}

// ReadBody reads the whole body. One over maxBytes (zero means 1 MiB) is refused with
// BodyTooLarge: before anything of it is read where its length was announced, and
// after maxBytes and one byte where it was not. A body that takes too long is
// RequestTimeout, one that is cut short or wrongly framed BadRequest.
//
// After a refusal the rest of the body stays unread, and the connection ends with the
// answer.
func ReadBody(r *http.Request, maxBytes int64) ([]byte, error) {
	if maxBytes <= 0 {
		maxBytes = defaultBodyBytes
	}
	if r.ContentLength > maxBytes {
		return nil, tooLarge(maxBytes)
	}
	// Room is made for what was announced, within reason: nothing of it may ever come.
	room := min(max(r.ContentLength, 0)+bytes.MinRead, usualBodyBytes)
	body := bytes.NewBuffer(make([]byte, 0, room))
	_, err := body.ReadFrom(io.LimitReader(r.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, bodyError(err)
	case int64(body.Len()) > maxBytes:
		return nil, tooLarge(maxBytes)
	}
	return body.Bytes(), nil
}

func tooLarge(limit int64) error {
	return refused(durward.BodyTooLarge, fmt.Sprintf("the body is over %d bytes", limit))
}

func bodyError(err error) error {
	var ours *durward.Error
	if errors.As(err, &ours) {
		return err
	}
	reason := durward.BadRequest
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		reason = durward.RequestTimeout
	}
	return &durward.Error{Reason: reason, Op: op, Err: err}
}

// A body is a request body that knows whether its end was reached, and that refuses to
// give more than the server's limit.
type body struct {
	io.ReadCloser
	limit, left int64
	ended       bool // the end was seen; the handler's goroutine only
}

func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	// One byte more than is left tells a body at the limit from one over it.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, tooLarge(b.limit)
	}
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// NotStrict makes the refusal of a body that package jsonx refused, with reason BadJSON. It
// tells the place and nothing of the text; nil stays nil.
func NotStrict(err error) error {
	if err == nil {
		return nil
	}
	what := "the body is not strict JSON"
	if at := new(jsonx.SyntaxError); errors.As(err, &at) {
		if at.Over {
			what = "the body is over a limit: " + at.Problem
		}
		what = fmt.Sprintf("%s (line %d, column %d)", what, at.Line, at.Column)
	}
	return &durward.Error{Reason: durward.BadJSON, Op: "decode", Err: errors.New(what)}
}
