package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fs_read","arguments":{"path":"/w/a"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}`,
	` { "jsonrpc" : "2.0" , "id" : 12345678901234567890 , "result" : { "b" : 1.0 , "a" : [ "\\\"" , {} ] } } `,
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"","data":null}}`,
	`{"id":1.0,"jsonrpc":"2.0","method":null,"params":[]}`, `{"json\u0072pc":"2\u002e0","method":"\ud83d\ude00"}`,
	`[{},[],"]",1 , {"a":[1]}]`, `[]`, `"x"`, `null`, `{"jsonrpc":"2.0","id":1,"id":2}`, "\xff", `{`,
}

// A shape is what encoding/json makes of a message, for comparison.
type shape map[string]json.RawMessage

func (s shape) text(name string) (text string, ok bool) {
	var v any
	ok = s[name] != nil && json.Unmarshal(s[name], &v) == nil
	text, isString := v.(string)
	return text, ok && isString
}

func (s shape) integer(name string) bool {
	return regexp.MustCompile(`^-?[0-9]+$`).Match(s[name])
}

func (s shape) isResponse() bool {
	return s["method"] == nil && (s["result"] != nil || s["error"] != nil)
}

// code is that of the error for a message that is no response, or 0.
func (s shape) code() int {
	version, _ := s.text("jsonrpc")
	_, named := s.text("id")
	_, callable := s.text("method")
	if version != "2.0" || !callable || s["id"] != nil && !named && !s.integer("id") {
		return jsonrpc.InvalidRequest
	}
	if s["id"] != nil && s["params"] != nil && s["params"][0] != '{' {
		return jsonrpc.InvalidParams
	}
	return 0
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, bad := jsonrpc.Parse(text)
		checkWritten(t, m, bad)
		checkBatch(t, text)
		strict := jsonx.Check(text, jsonx.Limits{})
		if (strict != nil) != (bad != nil && bad.Code == jsonrpc.ParseError) {
			t.Fatalf("%q gives %v, but as JSON %v", text, bad, strict)
		}
		var s shape
		if strict != nil || json.Unmarshal(text, &s) != nil || s == nil {
			if bad == nil || m.Kind != 0 || m.ID != (jsonrpc.ID{}) {
				t.Fatalf("%q is a message: %v", text, m)
			}
			return
		}
		checkMessage(t, s, m, bad)
	})
}

// checkMessage compares a message with what encoding/json reads.
func checkMessage(t *testing.T, s shape, m jsonrpc.Message, bad *jsonrpc.Error) {
	if s.isResponse() != (m.Kind == jsonrpc.Response) {
		t.Fatalf("%q is of kind %d", s, m.Kind)
	}
	if id, ok := s.text("id"); ok && m.ID != jsonrpc.StringID(id) || s.integer("id") && m.ID.String() != string(s["id"]) {
		t.Fatalf("%q has the id %s", s, m.ID)
	}
	if m.Kind == jsonrpc.Response {
		if bad == nil && m.Error == nil && !bytes.Equal(m.Result, s["result"]) {
			t.Fatalf("%q has the result %q", s, m.Result)
		}
		return
	}
	if code := s.code(); (bad == nil) != (code == 0) || bad != nil && bad.Code != code {
		t.Fatalf("%q gives %v, want %d", s, bad, code)
	}
	method, _ := s.text("method")
	if m.Kind != 0 && (m.Method != method || !bytes.Equal(m.Params, s["params"]) || (m.Kind == jsonrpc.Notification) != (s["id"] == nil)) {
		t.Fatalf("%q became %v", s, m)
	}
}

// checkWritten asks that what was read, or its answer, is written as one message.
func checkWritten(t *testing.T, m jsonrpc.Message, bad *jsonrpc.Error) {
	if bad != nil {
		m = m.Refuse(bad)
	}
	text := m.Append(nil)
	back, err := jsonrpc.Parse(text)
	if err != nil || back.Kind != m.Kind || !bytes.Equal(back.Append(nil), text) || bytes.ContainsAny(text, "\r\n") {
		t.Fatalf("%q came back as %v, %v", text, back, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil || !bytes.Equal(compact.Bytes(), text) {
		t.Fatalf("%q is not compact, %v", text, err)
	}
}

// checkBatch compares the elements of an array with what encoding/json reads.
func checkBatch(t *testing.T, text []byte) {
	list, bad := jsonrpc.Batch(text)
	var want []json.RawMessage
	if jsonx.Check(text, jsonx.Limits{}) != nil || json.Unmarshal(text, &want) != nil {
		want = nil
	}
	if !slices.EqualFunc(list, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) || (bad == nil) != (len(want) > 0) {
		t.Fatalf("%q has the elements %q, %v", text, list, bad)
	}
}

func FuzzLines(f *testing.F) {
	for i, s := range []string{"", "a\nb", "a\r\n\r\n \nb\r", "\n\n\nabcdefgh\r\nabcdefghi\nx", "abcdefghijklmnopqrstuvwxyz\na"} {
		f.Add([]byte(s), uint16(8), uint64(i))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint16, seed uint64) {
		most := int(limit) + 1
		var want []string
		for line := range bytes.SplitSeq(input, []byte("\n")) {
			line = bytes.TrimSuffix(line, []byte("\r"))
			switch {
			case len(line) > most:
				want = append(want, "…")
			case len(bytes.Trim(line, " \t\r")) > 0:
				want = append(want, string(line))
			}
		}
		if got := linesOf(t, shortReads(input, seed), most); !slices.Equal(got, want) {
			t.Fatalf("%q gives %q, want %q", input, got, want)
		}
		checkRoom(t, input, most)
	})
}

// checkRoom asks that no line keeps more memory than the limit allows.
func checkRoom(t *testing.T, input []byte, limit int) {
	in := jsonrpc.NewReader(bytes.NewReader(input), limit)
	for {
		line, err := in.ReadLine()
		if err == io.EOF {
			return
		}
		if cap(line) > limit+2 {
			t.Fatalf("a line holds %d bytes", cap(line))
		}
	}
}

// shortReads gives the input in pieces of random size, some of them empty.
func shortReads(input []byte, seed uint64) io.Reader {
	return &pieces{rest: input, size: rand.New(rand.NewPCG(seed, seed))}
}

type pieces struct {
	rest []byte
	size *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(len(p.rest), p.size.IntN(8))])
	p.rest = p.rest[n:]
	return n, nil
}
