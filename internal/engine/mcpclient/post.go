package mcpclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// do sends one request. There is no body to send again, so that nobody does.
func (m *remote) do(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, m.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if request.GetBody = nil; body == nil {
		request.Body, request.ContentLength = nil, 0
	}
	request.Header = header
	answer, err := m.client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // the URL may hold a secret
	}
	return answer, err
}

// post sends a message, and has what is answered taken in. A request always gets a reply.
func (m *remote) post(ctx context.Context, message jsonrpc.Message, era string) {
	header := m.header(era)
	header.Set("Content-Type", "application/json")
	if era == modern {
		header.Set("Mcp-Method", message.Method)
		if name := nameOf(message); name != "" {
			header.Set("Mcp-Name", asField(name))
		}
	}
	if message.Method == "initialize" {
		header.Del("Mcp-Session-Id")
	}
	began, stream := m.engine.options.clock.now(), false
	answer, err := m.do(ctx, http.MethodPost, header, message.Append(nil))
	if err == nil {
		defer answer.Body.Close()
		stream, err = m.receive(message, answer)
	}
	switch {
	case durward.ReasonOf(err) == durward.ServerStopped: // nothing was done, though the run ends by it
		m.give(message, err)
	case m.all.Err() != nil: // the end of the run tells why
	case ctx.Err() != nil:
		m.give(message, durward.Ended(ctx, op))
	case errors.As(err, new(unreachable)):
		m.end(fmt.Errorf("it cannot be reached: %w", err)) // before anybody hears of it
		m.give(message, stopped(m.config.Name, soon))
	case err != nil:
		m.give(message, err)
	case message.Method == initialized:
		m.follow.Do(func() { m.posts.Go(m.listenAlong) })
	case message.Method == listening && stream:
		m.listenAgain(ctx, began)
	default:
		m.give(message, disconnected(m.config.Name, errors.New("it ended its answer before the result")))
	}
}

// give answers a question that is still open; what was given up, or answered, is not.
func (m *remote) give(message jsonrpc.Message, err error) {
	if message.Kind != jsonrpc.Request {
		return
	}
	end := m.forget
	switch durward.ReasonOf(err) {
	case durward.DeadlineExceeded, durward.CallCancelled, durward.ServerDisconnected: // it may go on
		end = m.giveUp
	}
	if q := end(numberOf(message.ID)); q != nil {
		q.reply <- reply{err: err}
	}
}

// receive takes in what a server answers, and tells whether that was a stream.
func (m *remote) receive(message jsonrpc.Message, answer *http.Response) (stream bool, err error) {
	if id := answer.Header.Get("Mcp-Session-Id"); message.Method == "initialize" && answer.StatusCode == http.StatusOK && id != "" && len(id) <= mostSessionBytes {
		m.session.Store(&id)
	}
	switch {
	case answer.StatusCode == http.StatusOK && isStream(answer):
		m.events(answer.Body, numberOf(message.ID))
		return true, nil
	case answer.StatusCode == http.StatusAccepted || answer.StatusCode == http.StatusNoContent:
		return false, nil
	}
	text, err := m.whole(answer)
	switch {
	case err != nil:
		return false, err
	case answer.StatusCode == http.StatusOK:
		m.heed(text, numberOf(message.ID))
		return false, nil
	case m.noted(answer.StatusCode):
		return false, stopped(m.config.Name, soon)
	}
	if said := errorIn(text); said != nil {
		return false, said
	}
	return false, refusedBy(answer.StatusCode)
}

// whole reads a body that is no stream.
func (m *remote) whole(answer *http.Response) ([]byte, error) {
	most := int64(m.engine.options.lineBytes)
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case int64(len(text)) > most:
		return nil, tooLarge(most)
	case err != nil:
		return nil, disconnected(m.config.Name, err)
	case answer.StatusCode == http.StatusOK && !hasType(answer, "application/json"):
		return nil, malformed("it is neither JSON nor a stream of events")
	}
	return text, nil
}

// errorIn reads the error of JSON-RPC that an answer with another status than 200 may have.
func errorIn(text []byte) error {
	m, bad := jsonrpc.ParseWithin(text, jsonx.Limits{Bytes: int64(len(text)), Depth: messageDepth, Values: len(text)})
	if bad != nil || m.Kind != jsonrpc.Response || m.Error == nil {
		return nil
	}
	return m.Error
}

// refusedBy is for a status that says no more.
func refusedBy(status int) error {
	text := strings.TrimSpace(fmt.Sprintf("the server answered with HTTP status %d %s", status, http.StatusText(status)))
	if status/100 == 3 {
		text += ": redirects are not followed, so configure the address that it leads to"
	}
	return &durward.Error{Reason: durward.ServerError, Op: op, Err: durward.Detail{Members: map[string]any{"message": text}, Err: errors.New(text)}}
}

// listenAgain asks a modern server anew to tell of changes, since it has ended the stream in which
// it did.
func (m *remote) listenAgain(ctx context.Context, began time.Time) {
	if m.rest(ctx, began) {
		_ = m.listen(m.talk)                         // it fails when the run ends
		m.mark(tools, resources, templates, prompts) // there may have been changes meanwhile
	}
}

// nameOf gives what a request is about, for the field of its header.
func nameOf(message jsonrpc.Message) string {
	switch message.Method {
	case "tools/call", hubconfig.GetPrompt:
		return keyOf(message.Params, "name")
	case hubconfig.ReadResource:
		return keyOf(message.Params, "uri")
	}
	return ""
}

const (
	codedBegin = "=?base64?"
	codedEnd   = "?="
)

// asField gives a text as the value of a field: as it is, or in base64 where that is not possible.
func asField(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
	if plain && !(strings.HasPrefix(text, codedBegin) && strings.HasSuffix(text, codedEnd)) {
		return text
	}
	return codedBegin + base64.StdEncoding.EncodeToString([]byte(text)) + codedEnd
}

func isStream(answer *http.Response) bool { return hasType(answer, "text/event-stream") }

func hasType(answer *http.Response, want string) bool {
	got, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err == nil && got == want
}
