package worker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/schema"
)

func TestEnvelopes(t *testing.T) {
	none := nonStandardSays
	failed := func(code string, retry bool) string {
		return fmt.Sprintf(`failed=true {"code":%q,"message":"m","retryable":%t,"details":{}}`, code, retry)
	}
	e := engine(t, Options{})
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"done", 200, `{"ok":true,"meta":{"trace_id":"x"},"output":{"a":1}}`, `failed=false {"a":1}`},
		{"no meta", 200, `{"ok":true,"output":{}}`, `failed=false {}`},
		{"another status of success", 201, `{"ok":true,"output":{}}`, `failed=false {}`},
		{"white space and members nobody knows", 200, "\r\n\t { \"x\":null, \"output\" : {\"a\" : [ 1 ] } ,\n\"ok\" : true }\n ", `failed=false {"a" : [ 1 ] }`},
		{"numbers as they are", 200, `{"ok":true,"output":{"a":1.10,"b":1E400,"c":-0,"d":12345678901234567890}}`, `failed=false {"a":1.10,"b":1E400,"c":-0,"d":12345678901234567890}`},
		{"names spelt with escapes", 200, `{"\u006fk":true,"outpu\u0074":{}}`, `failed=false {}`},
		{"an error beside the output", 200, `{"ok":true,"output":{},"error":7}`, `failed=false {}`},
		{"deep", 200, `{"ok":true,"output":{"a":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}}`, `failed=false {"a":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`},

		{"an error with all", 200, `{"ok":false,"meta":{},"error":{"code":"TIMEOUT","message":"m\u0007\"","retryable":false,"details":{"b":1.0}}}`, `failed=true {"code":"TIMEOUT","message":"m\u0007\"","retryable":false,"details":{"b":1.0}}`},
		{"retryable by its code", 200, `{"ok":false,"error":{"code":"UPSTREAM_ERROR","message":"m"}}`, failed("UPSTREAM_ERROR", true)},
		{"TIMEOUT", 200, `{"ok":false,"error":{"code":"TIMEOUT","message":"m"}}`, failed("TIMEOUT", true)},
		{"VALIDATION_ERROR", 200, `{"ok":false,"error":{"code":"VALIDATION_ERROR","message":"m"}}`, failed("VALIDATION_ERROR", false)},
		{"INTERNAL", 200, `{"ok":false,"error":{"code":"INTERNAL","message":"m"}}`, failed("INTERNAL", false)},
		{"a code of its own", 200, `{"ok":false,"error":{"code":"X_9","message":"m"}}`, failed("X_9", false)},
		{"the longest code", 200, `{"ok":false,"error":{"code":"` + strings.Repeat("A", 64) + `","message":"m"}}`, failed(strings.Repeat("A", 64), false)},
		{"a longer code", 200, `{"ok":false,"error":{"code":"` + strings.Repeat("A", 65) + `","message":"m"}}`, failed("INTERNAL", false)},
		{"a code in small letters", 200, `{"ok":false,"error":{"code":"timeout","message":"m"}}`, failed("INTERNAL", false)},
		{"a code that begins with a digit", 200, `{"ok":false,"error":{"code":"9A","message":"m"}}`, failed("INTERNAL", false)},
		{"a code with a line end", 200, `{"ok":false,"error":{"code":"TIMEOUT\n","message":"m"}}`, failed("INTERNAL", false)},
		{"an empty code", 200, `{"ok":false,"error":{"code":"","message":"m","retryable":true}}`, failed("INTERNAL", true)},
		{"a code with an escape", 200, `{"ok":false,"error":{"code":"\u0054IMEOUT","message":"m"}}`, failed("TIMEOUT", true)},
		{"an output beside the error", 200, `{"ok":false,"output":[],"error":{"code":"INTERNAL","message":"m"}}`, failed("INTERNAL", false)},
		{"an error with status 400", 400, `{"ok":false,"error":{"code":"INTERNAL","message":"m"}}`, failed("INTERNAL", false)},
		{"an error with status 503", 503, `{"ok":false,"error":{"code":"INTERNAL","message":"m"}}`, failed("INTERNAL", false)},

		{"an error with status 302", 302, `{"ok":false,"error":{"code":"INTERNAL","message":"m"}}`, none(302)},
		{"a redirect", 307, done, none(307)},
		{"not modified", 304, ``, none(304)},
		{"done with status 400", 400, done, none(400)},
		{"done with status 500", 500, done, none(500)},
		{"done with status 429", 429, done, none(429)},
		{"an error page 502", 502, `<html>`, none(502)},
		{"an error page 503", 503, `busy`, none(503)},
		{"an error page 504", 504, ``, none(504)},
		{"an error page 500", 500, `x`, none(500)},
		{"nothing", 200, ``, none(200)},
		{"no content", 204, ``, none(204)},
		{"no JSON", 200, `ok`, none(200)},
		{"a mark before it", 200, "\xef\xbb\xbf" + done, none(200)},
		{"two values", 200, done + done, none(200)},
		{"cut short", 200, done[:len(done)-1], none(200)},
		{"no object", 200, `[` + done + `]`, none(200)},
		{"null", 200, `null`, none(200)},
		{"no ok", 200, `{"output":{}}`, none(200)},
		{"ok is a string", 200, `{"ok":"true","output":{}}`, none(200)},
		{"ok is a number", 200, `{"ok":1,"output":{}}`, none(200)},
		{"ok is null", 200, `{"ok":null,"output":{}}`, none(200)},
		{"OK", 200, `{"OK":true,"output":{}}`, none(200)},
		{"ok twice", 200, `{"ok":false,"ok":true,"output":{}}`, none(200)},
		{"a member twice, deep within", 200, `{"ok":true,"output":{"a":[{"b":1,"\u0062":2}]}}`, none(200)},
		{"no output", 200, `{"ok":true}`, none(200)},
		{"an output that is null", 200, `{"ok":true,"output":null}`, none(200)},
		{"an output that is a list", 200, `{"ok":true,"output":[]}`, none(200)},
		{"an output that is text", 200, `{"ok":true,"output":"{}"}`, none(200)},
		{"a meta that is null", 200, `{"ok":true,"meta":null,"output":{}}`, `failed=false {}`},
		{"a meta that is a list", 200, `{"ok":false,"meta":[],"error":{"code":"INTERNAL","message":"m"}}`, none(200)},
		{"no error", 200, `{"ok":false}`, none(200)},
		{"an error that is text", 200, `{"ok":false,"error":"m"}`, none(200)},
		{"no code", 200, `{"ok":false,"error":{"message":"m"}}`, none(200)},
		{"a code that is a number", 200, `{"ok":false,"error":{"code":1,"message":"m"}}`, none(200)},
		{"no message", 200, `{"ok":false,"error":{"code":"INTERNAL"}}`, none(200)},
		{"a message that is an object", 200, `{"ok":false,"error":{"code":"INTERNAL","message":{}}}`, none(200)},
		{"details that are a list", 200, `{"ok":false,"error":{"code":"INTERNAL","message":"m","details":[]}}`, none(200)},
		{"details that are null", 200, `{"ok":false,"error":{"code":"INTERNAL","message":"m","details":null}}`, `failed=true {"code":"INTERNAL","message":"m","retryable":false,"details":{}}`},
		{"retryable that is text", 200, `{"ok":false,"error":{"code":"INTERNAL","message":"m","retryable":"false"}}`, none(200)},
		{"retryable that is null", 200, `{"ok":false,"error":{"code":"INTERNAL","message":"m","retryable":null}}`, `failed=true {"code":"INTERNAL","message":"m","retryable":false,"details":{}}`},
		{"half a surrogate pair", 200, `{"ok":true,"output":{"a":"\ud800"}}`, none(200)},
		{"no UTF-8", 200, "{\"ok\":true,\"output\":{\"a\":\"\xff\"}}", none(200)},
		{"a number that is none", 200, `{"ok":true,"output":{"a":01}}`, none(200)},
		{"too deep", 200, `{"ok":true,"output":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`, none(200)},
	} {
		p := speaks(t, whole(tt.status, tt.body))
		if got := says(do(patient(t), e, tool(p.url()), call(`{}`))); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, clip(got), clip(tt.want))
		}
	}
}

func clip(text string) string { return text[:min(len(text), 300)] }

// A worker that is asked for much may say so many small things that they are within its limit.
func TestManyValues(t *testing.T) {
	body := `{"ok":true,"output":{"a":[0` + strings.Repeat(",0", 400_000) + `]}}`
	p := speaks(t, whole(200, body))
	r, err := do(patient(t), engine(t, Options{}), tool(p.url()), call(`{}`))
	if err != nil || len(r.Output) != len(body)-len(`{"ok":true,"output":}`) {
		t.Errorf("%d bytes, %v", len(r.Output), err)
	}
}

// An error that is completed beyond the limit is too large.
func TestCompletedErrorIsBounded(t *testing.T) {
	body := `{"ok":false,"error":{"code":"TIMEOUT","message":"` + strings.Repeat("x", 900) + `"}}`
	p := speaks(t, whole(200, body))
	of, e := tool(p.url()), engine(t, Options{})
	for _, room := range []int{len(body), len(body) + 64} {
		prepared, err := e.Prepare(t.Context(), durward.Tool{Spec: of}, call(`{}`), durward.Grant{Limits: durward.Limits{Output: int64(room)}})
		must(t, err)
		r, err := prepared.Run(patient(t))
		if tooLarge := durward.ReasonOf(err) == durward.ReplyTooLarge; tooLarge != (room == len(body)) || len(r.Output) > room {
			t.Errorf("with room for %d bytes: %s", room, says(r, err))
		}
	}
}

// An output that does not fit the tool's schema is not passed on, and nothing of it is said.
// An error needs to fit none.
func TestOutputSchema(t *testing.T) {
	folder := schema.NewFolder("schemas", func(string) ([]byte, error) {
		return []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":false}`), nil
	})
	fits, err := folder.Compile("output.json")
	must(t, err)
	e := engine(t, Options{})
	for body, want := range map[string]string{
		done:                                  good,
		`{"ok":true,"output":{"n":"secret"}}`: `output_schema retry=false {"reason":"output_schema"}`,
		`{"ok":true,"output":{"n":1,"secret":2}}`:                      `output_schema retry=false {"reason":"output_schema"}`,
		`{"ok":true,"output":{}}`:                                      `output_schema retry=false {"reason":"output_schema"}`,
		`{"ok":false,"error":{"code":"X","message":""},"output":"{}"}`: `failed=true {"code":"X","message":"","retryable":false,"details":{}}`,
	} {
		of := tool(speaks(t, whole(200, body)).url())
		of.Output = fits
		r, err := do(patient(t), e, of, call(`{}`))
		if got := says(r, err); got != want || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
}

// FuzzEnvelope asks of whatever a worker says that it is refused, or that what is passed on
// is strict JSON of the form that its reader was promised.
func FuzzEnvelope(f *testing.F) {
	for _, text := range []string{
		done, `{"ok":false,"error":{"code":"X","message":"m","details":{"a":1},"retryable":true}}`, ` {"ok" : true , "output" : {"a":"\u00e9"}, "meta":{"trace_id":7}} `,
		`{"ok":false,"error":{"code":"\n","message":"\\\""}}`, `{"ok":true,"output":{"ok":false,"output":{}},"x":[{},[]]}`,
	} {
		f.Add(200, []byte(text))
	}
	f.Add(500, []byte(`{"ok":false,"error":{"code":"INTERNAL","message":""}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		before := bytes.Clone(body)
		e, err := readEnvelope(status, body)
		if !bytes.Equal(before, body) {
			t.Fatalf("%q became %q", before, body)
		}
		all := jsonx.Limits{Bytes: 1 << 30, Depth: envelopeDepth, Values: 1 << 30}
		if err != nil {
			if durward.ReasonOf(err) != durward.NonStandardReply || e.output != nil {
				t.Fatalf("%v beside %q", err, e.output)
			}
			return
		}
		said, err := jsonx.Object(body, all)
		if err != nil || string(said["ok"]) != fmt.Sprint(e.ok) || status < 200 || status/100 == 3 || e.ok && status/100 != 2 {
			t.Fatalf("%d %q is taken", status, body)
		}
		if jsonx.Check(e.output, all) != nil || e.output[0] != '{' {
			t.Fatalf("%q is passed on", e.output)
		}
		if e.ok {
			return
		}
		members, err := jsonx.Object(e.output, all)
		must(t, err)
		code, _ := jsonx.Text(members["code"])
		if len(members) != 4 || !isCode(code) || !isString(members["message"]) || !isObject(members["details"]) || string(members["retryable"]) != fmt.Sprint(e.retryable) {
			t.Fatalf("%q", e.output)
		}
	})
}
