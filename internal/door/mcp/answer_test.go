package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// What is written without looking at types is what jsonx.Marshal gives.
func TestSuccessIsWhatMarshalGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		data := rapid.OneOf(rapid.Just("a\nb\t\"c\""), rapid.String()).Draw(t, "data")
		output, err := jsonx.Marshal(struct {
			Data any `json:"data"`
			Size int `json:"bytesRead"`
		}{rapid.SampledFrom([]any{data, 1, nil}).Draw(t, "member"), 1})
		must(err)
		if rapid.Bool().Draw(t, "spaced") {
			var spaced bytes.Buffer
			must(json.Indent(&spaced, output, " ", "\t"))
			output = spaced.Bytes()
		}
		m := mark{ResultType: rapid.SampledFrom([]string{"", "complete"}).Draw(t, "mark")}
		inv := invocation{call: durward.Call{Tool: rapid.SampledFrom([]durward.ToolID{fsRead, fsWrite, cmdRun}).Draw(t, "tool")}}
		inv.input = json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"encoding":"base64"}`}).Draw(t, "input"))
		r := durward.Result{Output: output, Stdout: durward.Capture{Head: []byte(data), Total: int64(len(data))}}

		raw, err := encode(outputOf(inv, r))
		must(err)
		want, err := encode(toolResult{mark: m, Content: []block{shownAs(inv, raw)}, Structured: outputOf(inv, r)})
		must(err)
		got, err := encode(success(m, inv, r))
		must(err)
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// An output that is no JSON is noticed, whatever shows it.
func TestSuccessOfNoJSON(t *testing.T) {
	for _, output := range []string{"", "{", `{"data":`, "\xff", `{"data":"a"}}`} {
		inv := invocation{call: durward.Call{Tool: fsRead}, input: json.RawMessage("{}")}
		if got, err := encode(success(mark{}, inv, durward.Result{Output: json.RawMessage(output)})); err == nil {
			t.Errorf("%q gives %s", output, got)
		}
	}
}
