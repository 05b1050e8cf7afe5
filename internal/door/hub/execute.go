package hub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/mcpspec"
	"github.com/durward/durward/internal/schema"
)

// maxBody bounds the body of a request.
const maxBody = 4 << 20

// An order is the body of a POST to /execute.
type order struct {
	tool      string
	arguments json.RawMessage
	timeout   time.Duration // zero asks for none
	id        string
	fresh     bool // no result that was kept will do
}

// decode reads an order. Members that it does not know are passed over. With an error there may be
// the tool that it is for, and its arguments.
func decode(r *http.Request) (order, error) {
	body, err := httpedge.ReadBody(r, maxBody)
	if err != nil {
		return order{}, err
	}
	if err := httpedge.NeedJSON(r, false); err != nil {
		return order{}, err
	}
	limits := jsonx.Limits{Bytes: maxBody + 1, Values: maxBody}
	if err := jsonx.Check(body, limits); err != nil {
		return order{}, misread(body, err)
	}
	members, err := jsonx.Object(body, limits)
	if err != nil {
		return order{}, invalid("the body is no object")
	}
	return read(members)
}

// misread says why a body is not taken. Numbers that JSON lacks, which programs write all the same,
// are no less wrong than other values that are not allowed.
func misread(body []byte, err error) error {
	if at := new(jsonx.SyntaxError); errors.As(err, &at) {
		rest := bytes.TrimPrefix(body[min(at.Offset, len(body)):], []byte("-"))
		for _, word := range []string{"NaN", "Infinity"} {
			if bytes.HasPrefix(rest, []byte(word)) {
				return invalid(word + " is no number of JSON")
			}
		}
	}
	return httpedge.NotStrict(err)
}

func read(members map[string]json.RawMessage) (o order, err error) {
	var ok bool
	if o.tool, ok = jsonx.Text(members["tool_name"]); !ok || o.tool == "" {
		return o, invalid("tool_name, a string, is missing")
	}
	if o.arguments = members["arguments"]; len(o.arguments) == 0 {
		o.arguments = json.RawMessage("{}")
	}
	if o.arguments[0] != '{' {
		return o, invalid("arguments is no object")
	}
	if raw := members["request_id"]; len(raw) > 0 {
		if o.id, ok = jsonx.Text(raw); !ok {
			return o, invalid("request_id is no string")
		}
	}
	switch raw := members["cache"]; string(raw) {
	case "", "true", "null":
	case "false":
		o.fresh = true
	default:
		return o, invalid("cache is neither true nor false")
	}
	o.timeout, err = timeoutOf(members["timeout"])
	return o, err
}

// timeoutOf reads a number of seconds above zero.
func timeoutOf(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	seconds, _ := strconv.ParseFloat(string(raw), 64) // what is too large is infinite, and what is no number 0
	if !(seconds > 0) {
		return 0, &durward.Error{Reason: durward.BadTimeout, Op: "decode", Err: errors.New("timeout is no number of seconds above 0")}
	}
	const most = 1e6
	return max(time.Duration(min(seconds, most)*float64(time.Second)), 1), nil
}

func invalid(what string) error {
	return &durward.Error{Reason: durward.BadCall, Op: "decode", Err: errors.New(what)}
}

// execute answers a POST to /execute.
func (d *door) execute(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	o, err := decode(r)
	c := durward.Call{
		Door: Name, Surface: "http", Caller: httpedge.CallerOf(r.Context()), Trace: httpedge.TraceOf(r), ClientID: o.id,
		Tool: durward.ToolID(o.tool), Input: o.arguments, Fresh: o.fresh, Arrived: began,
	}
	if err == nil && isRequest(c.Tool) {
		err = &durward.Error{Reason: durward.ToolNotFound, Op: "execute", Err: errors.New("this is no tool")}
	}
	switch {
	case err != nil && o.tool != "":
		return d.Runtime.Refuse(c, err)
	case err != nil:
		return err
	}
	timeout := d.Timeout(durward.ToolID(o.tool), o.timeout)
	c.Ask.Limits.Wall, c.Deadline = timeout, began.Add(timeout)
	result, err := d.Runtime.Do(r.Context(), c)
	a, err := outcome(result, httpedge.EndOf(r.Context(), err), timeout)
	if err != nil {
		d.Metrics.count(o.tool, "refused", time.Since(began))
		return err
	}
	d.Metrics.count(o.tool, a.status, time.Since(began))
	if a.isText && d.ParsesText(c.Tool) {
		a.parse()
	}
	a.write(w, time.Since(began))
	return nil
}

// isRequest reports whether an id is that of a request which clients of MCP make, and of no tool.
func isRequest(id durward.ToolID) bool {
	_, _, request := hubconfig.OfRequest(id)
	_, prompt := hubconfig.OfPrompt(id)
	return request || prompt
}

// An answer is what an order came to, where its server was asked.
type answer struct {
	status string
	output json.RawMessage // nil is null
	isText bool            // the output is the text of the only block
	err    string          // of a failure
	code   *int64          // of an error of the server's protocol
	cached bool            // it is that of an equal order
	lost   bool            // the server, or the hub, ended meanwhile, and nobody knows whether the tool ran
}

const (
	success = "success"
	failure = "error"
)

// outcome makes an answer of what a call came to. An error is one for which no server was
// asked.
func outcome(result durward.Result, err error, timeout time.Duration) (answer, error) {
	if err == nil {
		return answerOf(result), nil
	}
	reason := durward.ReasonOf(err)
	switch reason {
	case durward.DeadlineExceeded:
		return answer{status: failure, err: "Tool execution timed out after " + strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64) + "s"}, nil
	case durward.ServerDisconnected, durward.ServerError, durward.MalformedResult, durward.InputRequired, durward.InputMismatch, durward.OutputTooLarge:
		a := answer{status: failure, err: messageOf(err, reason), lost: reason == durward.ServerDisconnected}
		if code, ok := durward.DetailOf(err).Members["code"].(int64); ok {
			a.code = &code
		}
		return a, nil
	}
	if begun, _ := durward.DetailOf(err).Members[hubconfig.MayHaveRun].(bool); begun {
		return answer{status: failure, err: reason.Summary(), lost: true}, nil
	}
	return answer{}, err
}

// texts are what callers are told where a server says nothing itself.
var texts = map[durward.Reason]string{
	durward.MalformedResult: "malformed result",
	durward.InputRequired:   "input required",
	durward.OutputTooLarge:  "output_too_large",
}

// messageOf gives what the caller is told of a server's failure.
func messageOf(err error, reason durward.Reason) string {
	members := durward.DetailOf(err).Members
	message, ok := members["message"].(string)
	server, named := members["server"].(string)
	switch {
	case ok:
		return message
	case reason == durward.ServerDisconnected && named:
		return "MCP server '" + server + "' disconnected"
	}
	found, _ := members["errors"].([]schema.Violation)
	return cmp.Or(texts[reason], reason.Summary()) + mismatchOf(found)
}

// mismatchOf says what of the arguments does not fit, of much only the beginning.
func mismatchOf(found []schema.Violation) (text string) {
	const most = 2
	between := ": "
	for _, v := range found[:min(len(found), most)] {
		text += between + cmp.Or(mcpspec.Short(v.Path), "the arguments") + " " + v.Message
		between = "; "
	}
	if more := len(found) - most; more > 0 {
		text += "; and " + strconv.Itoa(more) + " more"
	}
	return text
}

// answerOf makes an answer of the result object of a tool.
func answerOf(result durward.Result) answer {
	a := answer{status: success, cached: result.Cached}
	var blocks []json.RawMessage
	structured := false
	for name, value := range jsonx.Members(jsonx.TrimSpace(result.Output)) {
		switch string(name) {
		case "structuredContent":
			if string(value) != "null" {
				a.output, structured = value, true
			}
		case "content":
			if len(value) > 0 && value[0] == '[' {
				blocks = jsonx.Elements(value)
			}
		}
	}
	if !structured {
		a.output, a.isText = outputOf(blocks)
	}
	if result.Failed {
		a.status, a.err = failure, joined(blocks)
	}
	return a
}

// parse puts the value that a text is the JSON of in the place of the text. Any other text stays.
func (a *answer) parse() {
	said, _ := jsonx.Text(a.output)
	text := []byte(said)
	if jsonx.Check(text, jsonx.Limits{Bytes: int64(len(text)) + 1, Values: len(text) + 1}) == nil {
		a.output = bytes.TrimSpace(text)
	}
}

// outputOf gives the text of one block of text, all blocks where there are several, and nil
// where there is none.
func outputOf(blocks []json.RawMessage) (output json.RawMessage, isText bool) {
	switch len(blocks) {
	case 0:
		return nil, false
	case 1:
		if text, ok := textOf(blocks[0]); ok {
			return text, true
		}
	}
	list := []byte{'['}
	for i, block := range blocks {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, block...)
	}
	return append(list, ']'), false
}

// textOf gives the text of a block of text, as it stands in it.
func textOf(block json.RawMessage) (text json.RawMessage, ok bool) {
	if len(block) == 0 || block[0] != '{' {
		return nil, false
	}
	isText := false
	for name, value := range jsonx.Members(block) {
		switch string(name) {
		case "type":
			kind, _ := jsonx.Text(value)
			isText = kind == "text"
		case "text":
			if _, is := jsonx.Text(value); is {
				text = value
			}
		}
	}
	return text, isText && text != nil
}

// joined gives the texts of all blocks of text.
func joined(blocks []json.RawMessage) string {
	var texts []string
	for _, block := range blocks {
		if raw, ok := textOf(block); ok {
			text, _ := jsonx.Text(raw)
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// write sends the answer.
func (a answer) write(w http.ResponseWriter, took time.Duration) {
	line := jsonx.AppendString(append(make([]byte, 0, len(a.output)+128), `{"status":`...), a.status)
	line = append(line, `,"output":`...)
	if a.output == nil {
		line = append(line, "null"...)
	}
	line = append(append(line, a.output...), `,"error":`...)
	if a.status == success {
		line = append(line, "null"...)
	} else {
		line = jsonx.AppendString(line, a.err)
	}
	if a.code != nil {
		line = strconv.AppendInt(append(line, `,"error_code":`...), *a.code, 10)
	}
	if a.cached {
		line = append(line, `,"cached":true`...)
	}
	if a.lost {
		line = append(line, `,"may_have_run":true`...)
	}
	line = strconv.AppendFloat(append(line, `,"execution_time_ms":`...), float64(took.Microseconds())/1000, 'f', -1, 64)
	send(w, http.StatusOK, append(line, "}\n"...))
}
