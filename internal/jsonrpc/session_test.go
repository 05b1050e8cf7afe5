package jsonrpc_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
)

// A peer answers as a door would: "echo" gives back its params, "wait" is never
// done, and no other method is known.
type peer struct {
	in       *jsonrpc.Reader
	out      *jsonrpc.Writer
	inFlight jsonrpc.InFlight
	batches  bool
}

// converse gives all that a peer says to an input.
func converse(t *testing.T, input string, batches bool) string {
	t.Helper()
	var said bytes.Buffer
	p := peer{in: jsonrpc.NewReader(strings.NewReader(input), 1<<10), out: jsonrpc.NewWriter(&said), batches: batches}
	if err := p.serve(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return said.String()
}

func (p *peer) serve() error {
	for {
		line, err := p.in.ReadLine()
		switch {
		case err == jsonrpc.ErrTooLong:
			err = p.out.Send(jsonrpc.Message{}.Refuse(jsonrpc.ErrTooLong))
		case err != nil:
			return err
		case p.batches && jsonrpc.IsBatch(line):
			err = p.batch(line)
		default:
			if answer, ok := p.answer(line); ok {
				err = p.out.Send(answer)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (p *peer) batch(line []byte) error {
	list, bad := jsonrpc.Batch(line)
	if bad != nil {
		return p.out.Send(jsonrpc.Message{}.Refuse(bad))
	}
	var answers []jsonrpc.Message
	for _, text := range list {
		if answer, ok := p.answer(text); ok {
			answers = append(answers, answer)
		}
	}
	if len(answers) == 0 {
		return nil
	}
	return p.out.SendBatch(answers)
}

func (p *peer) answer(text []byte) (answer jsonrpc.Message, ok bool) {
	m, bad := jsonrpc.Parse(text)
	switch {
	case m.Kind == jsonrpc.Response || m.Kind == jsonrpc.Notification:
		return jsonrpc.Message{}, false
	case bad != nil:
		return m.Refuse(bad), true
	}
	if !p.inFlight.Add(m.ID, func() {}) {
		return m.Refuse(&jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: "the id is in use"}), true
	}
	if m.Method == "wait" {
		return jsonrpc.Message{}, false
	}
	defer p.inFlight.Done(m.ID)
	if m.Method == "echo" {
		return m.Answer(m.Params), true
	}
	return m.Refuse(&jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "unknown method"}), true
}

func parseError(problem string) string {
	return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON: ` + problem + `"}}` + "\n"
}

func invalidRequest(id, problem string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"` + problem + `"}}` + "\n"
}

const (
	noVersion  = `jsonrpc is not \"2.0\"`
	noMethod   = "method is missing or no string"
	noID       = "id is neither a string nor an integer"
	noObject   = "a message is an object"
	noBatch    = "a batch is not accepted"
	noElements = "a batch holds at least one message"
)

func TestWhatALineIsAnswered(t *testing.T) {
	const after = `{"jsonrpc":"2.0","id":"after","method":"echo","params":{}}` + "\n"
	const afterAnswer = `{"jsonrpc":"2.0","id":"after","result":{}}` + "\n"
	tests := []struct {
		name, line, want string
	}{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1.0}}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}` + "\n"},
		{"without params", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"result":null}` + "\n"},
		{"white space", " { \"jsonrpc\" : \"2.0\" ,\t\"id\" : 1 , \"method\" : \"echo\" , \"params\" : { \"a b\" : [ 1 , \" \\\" \" ] } } \r", `{"jsonrpc":"2.0","id":1,"result":{"a b":[1," \" "]}}` + "\n"},
		{"escaped names", `{"json\u0072pc":"2\u002e0","\u0069d":1,"method":"ech\u006f","p\u0061rams":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"},
		{"unknown members", `{"x":{"id":2},"jsonrpc":"2.0","ID":3,"id":1,"method":"echo","trace":[],"result":4}`, `{"jsonrpc":"2.0","id":1,"result":null}` + "\n"},
		{"a string with no HTML escaped", `{"jsonrpc":"2.0","id":"<&>","method":"echo","params":{"<":"&"}}`, `{"jsonrpc":"2.0","id":"<&>","result":{"<":"&"}}` + "\n"},

		{"not JSON", `{"jsonrpc":"2.0","id":1,"method":"echo"`, parseError("1:40: the text ends where ',' or '}' should be")},
		{"a word", `hello`, parseError("1:1: expected a value")},
		{"two values", `{} {}`, parseError("1:4: data after the value")},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", parseError("1:35: a string that is not UTF-8")},
		{"half a surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, parseError("1:35: half a surrogate pair")},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"echo"}`, parseError(`1:25: the member \"id\" stands twice in one object`)},
		{"a member twice in params", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1,"\u0061":1}}`, parseError(`1:57: the member \"a\" stands twice in one object`)},

		{"a string", `"echo"`, invalidRequest("null", noObject)},
		{"a number", ` 1`, invalidRequest("null", noObject)},
		{"null", `null`, invalidRequest("null", noObject)},
		{"no members", `{}`, invalidRequest("null", noVersion)},
		{"no version", `{"id":1,"method":"echo"}`, invalidRequest("1", noVersion)},
		{"another version", `{"jsonrpc":"1.0","id":"1","method":"echo"}`, invalidRequest(`"1"`, noVersion)},
		{"a number for version", `{"jsonrpc":2.0,"id":1,"method":"echo"}`, invalidRequest("1", noVersion)},
		{"version in wrong case", `{"JSONRPC":"2.0","id":1,"method":"echo"}`, invalidRequest("1", noVersion)},
		{"no version, no id", `{"method":"echo"}`, invalidRequest("null", noVersion)},
		{"no method", `{"jsonrpc":"2.0","id":1}`, invalidRequest("1", noMethod)},
		{"no method, no id", `{"jsonrpc":"2.0"}`, invalidRequest("null", noMethod)},
		{"method in wrong case", `{"jsonrpc":"2.0","id":1,"Method":"echo"}`, invalidRequest("1", noMethod)},
		{"a number for method", `{"jsonrpc":"2.0","id":1,"method":1}`, invalidRequest("1", noMethod)},
		{"null for method", `{"jsonrpc":"2.0","id":1,"method":null,"result":1}`, invalidRequest("1", noMethod)},
		{"null for id", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, invalidRequest("null", noID)},
		{"a fraction for id", `{"jsonrpc":"2.0","id":1.5,"method":"echo"}`, invalidRequest("null", noID)},
		{"1.0 for id", `{"jsonrpc":"2.0","id":1.0,"method":"echo"}`, invalidRequest("null", noID)},
		{"1e2 for id", `{"jsonrpc":"2.0","id":1e2,"method":"echo"}`, invalidRequest("null", noID)},
		{"an object for id", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, invalidRequest("null", noID)},
		{"an array for id", `{"jsonrpc":"2.0","id":[1],"method":"echo"}`, invalidRequest("null", noID)},
		{"a word for id", `{"jsonrpc":"2.0","id":true,"method":"echo"}`, invalidRequest("null", noID)},
		{"id and version", `{"jsonrpc":2,"id":null,"method":"echo"}`, invalidRequest("null", noVersion)},

		{"an empty array", `[]`, invalidRequest("null", noBatch)},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, invalidRequest("null", noBatch)},
		{"half a batch", `[{"jsonrpc":"2.0","id":1,"method":"echo"}`, parseError("1:42: the text ends where ',' or ']' should be")},

		{
			"an id in flight", `{"jsonrpc":"2.0","id":1,"method":"wait"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"echo"}` + "\n" + `{"jsonrpc":"2.0","id":"1","method":"echo"}`,
			invalidRequest("1", "the id is in use") + `{"jsonrpc":"2.0","id":"1","result":null}` + "\n",
		},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"what"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}}` + "\n"},
		{"an empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}}` + "\n"},
		{"an array for params", `{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params is not an object"}}` + "\n"},
		{"null for params", `{"jsonrpc":"2.0","id":1,"method":"echo","params":null}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params is not an object"}}` + "\n"},

		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`, ""},
		{"an error for nobody", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, ""},
		{"a broken response", `{"id":null,"result":1,"error":2}`, ""},
		{"a notification", `{"jsonrpc":"2.0","method":"echo","params":{}}`, ""},
		{"a notification of an unknown method", `{"jsonrpc":"2.0","method":"what"}`, ""},
		{"a notification with an array", `{"jsonrpc":"2.0","method":"echo","params":[1]}`, ""},
		{"a notification with ID", `{"jsonrpc":"2.0","ID":1,"method":"echo"}`, ""},

		{"blank lines", "\n\r\n \t\n", ""},
		{"a long line", strings.Repeat(" ", 1<<10+1), invalidRequest("null", "the line is too long")},
		{"a line of the limit", strings.Repeat("x", 1<<10) + "\r", parseError("1:1: expected a value")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := converse(t, tt.line+"\n"+after, false); got != tt.want+afterAnswer {
				t.Errorf("got %s\nwant %s", got, tt.want+afterAnswer)
			}
			if got := converse(t, tt.line, false); got != tt.want {
				t.Errorf("without line end: got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestWhatABatchIsAnswered(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"one", `[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `[{"jsonrpc":"2.0","id":1,"result":null}]` + "\n"},
		{
			"all kinds", ` [ {"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1,{"b":"]"}]}} ,1,[],"a,b",{"jsonrpc":"2.0","method":"x"}, {"id":2} ]`,
			`[{"jsonrpc":"2.0","id":1,"result":{"a":[1,{"b":"]"}]}},` + join(invalidRequest("null", noObject), invalidRequest("null", noBatch), invalidRequest("null", noObject), invalidRequest("2", noVersion)) + "]\n",
		},
		{"notifications", `[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","method":"x"}]`, ""},
		{"none", ` [ ] `, invalidRequest("null", noElements)},
		{"half of one", `[{},`, parseError("1:5: the text ends where a value should be")},
		{"no batch", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"result":null}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := converse(t, tt.line, true); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
	if _, bad := jsonrpc.Batch([]byte("{}")); bad == nil || bad.Code != jsonrpc.InvalidRequest {
		t.Errorf("a single message is no batch: %v", bad)
	}
}

func join(lines ...string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.Join(lines, ""), "\n"), "\n", ",")
}
