package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
)

func TestMessagesAreOneCompactLine(t *testing.T) {
	id := jsonrpc.Message{ID: jsonrpc.IntID(1)}
	tests := []struct {
		name string
		m    jsonrpc.Message
		want string
	}{
		{"a request", jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.StringID("a"), Method: "m"}, `{"jsonrpc":"2.0","id":"a","method":"m"}`},
		{"a notification", jsonrpc.Message{Kind: jsonrpc.Notification, Method: "<\n>", Params: json.RawMessage(`{}`)}, `{"jsonrpc":"2.0","method":"<\n>","params":{}}`},
		{"a result over lines", id.Answer(json.RawMessage("{\r\n\t\"a b\": [ 1.0,\n12345678901234567890 ],\n\"<\":\"\\n\\\\\" , \"c\" : \"\\\\\\\" \"\n}\n")), `{"jsonrpc":"2.0","id":1,"result":{"a b":[1.0,12345678901234567890],"<":"\n\\","c":"\\\" "}}`},
		{"no result", id.Answer(nil), `{"jsonrpc":"2.0","id":1,"result":null}`},
		{
			"an error", id.Refuse(&jsonrpc.Error{Code: -31001, Message: "no <\"> \xff", Data: json.RawMessage(`{ "code": "POLICY_DENY" }`)}),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-31001,"message":"no <\"> \ufffd","data":{"code":"POLICY_DENY"}}}`,
		},
		{"an error for nobody", jsonrpc.Message{}.Refuse(&jsonrpc.Error{Code: 1}), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out calls
			if err := jsonrpc.NewWriter(&out).Send(tt.m); err != nil {
				t.Fatal(err)
			}
			if want := []string{tt.want + "\n"}; !slices.Equal(out.lines, want) {
				t.Errorf("got %q\nwant %q", out.lines, want)
			}
		})
	}
}

// What only claims to be JSON cannot forge a line, and does not spoil the stream.
func TestARawTextCannotBeTwoLines(t *testing.T) {
	var out calls
	w := jsonrpc.NewWriter(&out)
	forged := jsonrpc.Message{}.Answer(json.RawMessage("\"\n{}"))
	if err := w.Send(forged); durward.ReasonOf(err) != durward.Defect {
		t.Errorf("the error is %v", err)
	}
	if err := w.Send(jsonrpc.Message{}.Answer(nil)); err != nil || len(out.lines) != 1 {
		t.Errorf("%q, %v", out.lines, err)
	}
}

// TestWritersTakeTurns needs the race detector to say everything it can.
func TestWritersTakeTurns(t *testing.T) {
	const writers, each = 8, 100
	var out calls // without a lock of its own
	w := jsonrpc.NewWriter(&out)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				m := jsonrpc.Message{ID: jsonrpc.IntID(int64(i))}
				if err := w.Send(m.Answer(json.RawMessage(fmt.Sprint(n)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := make(map[jsonrpc.ID]int)
	for _, line := range out.lines {
		m, bad := jsonrpc.Parse([]byte(line))
		if bad != nil || strings.Count(line, "\n") != 1 || string(m.Result) != fmt.Sprint(next[m.ID]) {
			t.Fatalf("%q, %v: want result %d", line, bad, next[m.ID])
		}
		next[m.ID]++
	}
	if len(out.lines) != writers*each {
		t.Errorf("%d lines", len(out.lines))
	}
}

func TestTheFirstWriteErrorIsForAll(t *testing.T) {
	out := calls{errs: []error{nil, errors.New("first"), errors.New("second")}}
	w := jsonrpc.NewWriter(&out)
	for _, want := range []string{"<nil>", "first", "first"} {
		if err := w.Send(jsonrpc.Message{}.Answer(nil)); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := w.SendBatch([]jsonrpc.Message{{}}); fmt.Sprint(err) != "first" || len(out.lines) != 2 {
		t.Errorf("%v after %q", err, out.lines)
	}
}

// calls keeps what each call of Write was given, and fails as told.
type calls struct {
	lines []string
	errs  []error
}

func (c *calls) Write(p []byte) (int, error) {
	c.lines = append(c.lines, string(p))
	if n := len(c.lines); n <= len(c.errs) && c.errs[n-1] != nil {
		return 0, c.errs[n-1]
	}
	return len(p), nil
}

func TestMessagesComeBack(t *testing.T) {
	object := rapid.Map(rapid.MapOf(rapid.String(), rapid.String()), func(v map[string]string) json.RawMessage {
		text, _ := json.MarshalIndent(v, "", " ")
		return text
	})
	ids := rapid.OneOf(rapid.Map(rapid.Int64(), jsonrpc.IntID), rapid.Map(rapid.String(), jsonrpc.StringID))
	rapid.Check(t, func(t *rapid.T) {
		m := jsonrpc.Message{ID: ids.Draw(t, "id"), Kind: rapid.SampledFrom([]jsonrpc.Kind{jsonrpc.Request, jsonrpc.Notification, jsonrpc.Response}).Draw(t, "kind")}
		raw := object.Draw(t, "object")
		switch {
		case m.Kind != jsonrpc.Response:
			m.Method, m.Params = rapid.String().Draw(t, "method"), raw
		case rapid.Bool().Draw(t, "error"):
			m = m.Refuse(&jsonrpc.Error{Code: rapid.Int().Draw(t, "code"), Message: rapid.String().Draw(t, "message"), Data: raw})
		default:
			m = m.Answer(raw)
		}
		text := m.Append(nil)
		back, bad := jsonrpc.Parse(text)
		if bad != nil || back.Kind != m.Kind || string(back.Append(nil)) != string(text) {
			t.Fatalf("%s came back as %s, %v", text, back.Append(nil), bad)
		}
		if m.Kind != jsonrpc.Notification && back.ID != m.ID || back.Method != m.Method {
			t.Fatalf("%v came back as %v", m, back)
		}
	})
}
