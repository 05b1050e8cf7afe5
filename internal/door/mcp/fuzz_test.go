package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// FuzzConversation sends whatever it likes. Every answer is one line of strict JSON, and
// every request has one answer, but for those that were cancelled.
func FuzzConversation(f *testing.F) {
	for _, seed := range []string{
		initialize + listTools + "\n" + ping,
		slow + "\n" + cancelSlow + "\n" + slow + "\n" + slow,
		batchHello + "[" + slow + "," + ping + ",1]\n[" + cancelSlow + "]\n[]",
		modernCall("tools/call", `"name":"cmd_run","arguments":{"commandId":"rg","args":["\ud83d\ude00"]},`) + modernCall("server/discover", ""),
		modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`) + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		modernCall("resources/read", `"uri":"mdmcp://commands/catalog",`) + "\xff\n[[]]\n{}\n\"\"",
		`{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"a","encoding":"base64"}}` + "\n" + `{"jsonrpc":"2.0","method":"fs.write"}`,
		initialize + `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"fail"},"_meta":{"progressToken":"x"}}}`,
	} {
		f.Add([]byte(seed))
	}
	o := options(double(fickle))
	o.Surface = func() Surface {
		s := surface()
		s.Resources = true
		return s
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var said bytes.Buffer
		if err := Serve(t.Context(), o, bytes.NewReader(input), &said); err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, requested(input), said.Bytes())
	})
}

// fickle fails some of the calls.
func fickle(ctx context.Context, c durward.Call) (durward.Result, error) {
	if c.Captured != nil {
		c.Captured(1)
	}
	if strings.Contains(c.CommandID+c.Path, "f") {
		return durward.Result{Stdout: printed("\xffx", 3)}, &durward.Error{Reason: durward.DeadlineExceeded, Err: errors.New("\xff")}
	}
	return echo(ctx, c)
}

// A count says how often an id is to be answered, at least and at most.
type count struct{ least, most int }

// requested counts the answers that an input calls for, by the JSON of their ids.
func requested(input []byte) map[string]count {
	counts := map[string]count{}
	add := func(id string, least int) {
		c := counts[id]
		counts[id] = count{c.least + least, c.most + 1}
	}
	var cancelled []string
	message := func(text []byte) {
		m, _ := jsonrpc.Parse(text)
		switch {
		case m.Kind == jsonrpc.Notification:
			var p struct {
				ID jsonrpc.ID `json:"requestId"`
			}
			if m.Params != nil && decode(m.Params, &p) == nil && p.ID != (jsonrpc.ID{}) {
				cancelled = append(cancelled, p.ID.String())
			}
		case m.Kind != jsonrpc.Response:
			add(m.ID.String(), 1)
		}
	}
	for line := range bytes.SplitSeq(input, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		list, bad := jsonrpc.Batch(line)
		switch {
		case len(bytes.Trim(line, " \t\r")) == 0:
		case bad != nil:
			message(line)
		default: // as many answers as elements, or one, whichever revision holds
			add("null", 0)
			for _, text := range list {
				before := maps.Clone(counts)
				message(text)
				loosen(counts, before)
			}
		}
	}
	for _, id := range cancelled {
		counts[id] = count{0, counts[id].most}
	}
	return counts
}

// loosen takes back what is asked for at least.
func loosen(counts, before map[string]count) {
	for id, c := range counts {
		counts[id] = count{before[id].least, c.most}
	}
}

// checkAnswers compares what was said with what was to be.
func checkAnswers(t *testing.T, want map[string]count, said []byte) {
	got := map[string]int{}
	for line := range bytes.Lines(said) {
		texts := []json.RawMessage{line}
		if jsonrpc.IsBatch(line) {
			texts, _ = jsonrpc.Batch(bytes.TrimSpace(line))
		}
		if err := jsonx.Check(line, jsonx.Limits{Bytes: 1 << 30}); err != nil || !bytes.HasSuffix(line, []byte("}\n")) && !bytes.HasSuffix(line, []byte("}]\n")) {
			t.Fatalf("%q is no line of JSON: %v", line, err)
		}
		for _, text := range texts {
			m, bad := jsonrpc.Parse(text)
			switch {
			case bad != nil || m.Kind == jsonrpc.Request:
				t.Fatalf("%q is neither an answer nor a notification: %v", text, bad)
			case m.Kind == jsonrpc.Response:
				got[m.ID.String()]++
			}
		}
	}
	for id, n := range got {
		if n > want[id].most {
			t.Errorf("%s is answered %d times, want %d at most\n%s", id, n, want[id].most, said)
		}
	}
	for id, c := range want {
		if got[id] < c.least {
			t.Errorf("%s is answered %d times, want %d at least\n%s", id, got[id], c.least, said)
		}
	}
}
