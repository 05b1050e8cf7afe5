package toolcall_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/toolcall"
)

func TestWhatIsRead(t *testing.T) {
	tests := []struct {
		text string
		want toolcall.CmdRun
	}{
		{`{"commandId":"ls"}`, toolcall.CmdRun{CommandID: "ls"}},
		{`{"commandId":""}`, toolcall.CmdRun{}},
		{
			`{"commandId":"ls","args":["-l","","é"],"cwd":"src","stdin":"a\u0000b","env":{"A":"","_b1":"x"},"timeoutMs":500}`,
			toolcall.CmdRun{
				CommandID: "ls", Args: []string{"-l", "", "é"}, Dir: "src", Stdin: []byte("a\x00b"),
				Env: map[string]string{"A": "", "_b1": "x"}, Timeout: 500 * time.Millisecond,
			},
		},
		{`{"commandId":"ls","args":[],"env":{}}`, toolcall.CmdRun{CommandID: "ls"}},
		{`{"commandId":"ls","timeoutMs":1}`, toolcall.CmdRun{CommandID: "ls", Timeout: time.Millisecond}},
		{`{"commandId":"ls","timeoutMs":5.0e3}`, toolcall.CmdRun{CommandID: "ls", Timeout: 5 * time.Second}},
		{`{"commandId":"ls","timeoutMs":1e999}`, toolcall.CmdRun{CommandID: "ls", Timeout: math.MaxInt64}},
		{`{"commandId":"ls","timeoutMs":9223372036854775807}`, toolcall.CmdRun{CommandID: "ls", Timeout: math.MaxInt64}},
	}
	for _, tt := range tests {
		got, err := toolcall.DecodeCmdRun([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.text, err, diff)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	many, _ := json.Marshal(make([]string, toolcall.MaxArgs+1))
	second := 1
	tests := []struct {
		text   string
		reason durward.Reason
		detail durward.Detail
	}{
		{``, durward.WrongType, durward.Detail{}},
		{`null`, durward.WrongType, durward.Detail{}},
		{`["ls"]`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","commandId":"ls"}`, durward.WrongType, durward.Detail{}},
		{`{}`, durward.MissingField, durward.Detail{}},
		{`{"args":7}`, durward.MissingField, durward.Detail{}},
		{`{"CommandId":"ls"}`, durward.UnknownField, durward.Detail{}},
		{`{"commandId":"ls","timeout":1}`, durward.UnknownField, durward.Detail{}},
		{`{"commandId":null}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":1}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","args":"-l"}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","args":[1]}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","args":["",null]}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","args":null}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","cwd":[]}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","stdin":null}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","env":[]}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","env":null}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","env":{"A":null}}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","env":{"A":1}}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":"5"}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":null}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":true}`, durward.WrongType, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":0}`, durward.BadTimeout, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":-1e999}`, durward.BadTimeout, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":1.99999999999999999999}`, durward.BadTimeout, durward.Detail{}},
		{`{"commandId":"ls","timeoutMs":1.5}`, durward.BadTimeout, durward.Detail{}},
		{`{"commandId":"ls","args":` + string(many) + `}`, durward.TooManyArgs, durward.Detail{Limit: 256, Actual: 257}},
		{`{"commandId":"ls","args":["","a\u0000"]}`, durward.ArgNUL, durward.Detail{ArgIndex: &second}},
		{`{"commandId":"ls","args":["","` + strings.Repeat("x", 32769) + `"]}`, durward.ArgTooLong, durward.Detail{ArgIndex: &second, Limit: 32768, Actual: 32769}},
		{`{"commandId":"ls","env":{"":""}}`, durward.BadEnvName, durward.Detail{}},
		{`{"commandId":"ls","env":{"1A":""}}`, durward.BadEnvName, durward.Detail{}},
		{`{"commandId":"ls","env":{"A=B":""}}`, durward.BadEnvName, durward.Detail{}},
		{`{"commandId":"ls","env":{"A\n":""}}`, durward.BadEnvName, durward.Detail{}},
		{`{"commandId":"ls","env":{"A":"\u0000"}}`, durward.BadEnvName, durward.Detail{}},
	}
	for _, tt := range tests {
		_, err := toolcall.DecodeCmdRun([]byte(tt.text))
		if durward.ReasonOf(err) != tt.reason || durward.KindOf(err) != durward.Invalid {
			t.Errorf("%.80s: %v, want %s", tt.text, err, tt.reason)
		}
		if diff := cmp.Diff(tt.detail, durward.DetailOf(err)); diff != "" {
			t.Errorf("%.80s: %s", tt.text, diff)
		}
	}
}

// A value may be a secret that was put in the wrong place.
func TestValuesAreNotRepeated(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		`{"commandId":["%s"]}`, `{"commandId":"ls","args":["%s\u0000"]}`, `{"commandId":"ls","env":{"A=%s":""}}`,
		`{"commandId":"ls","env":{"A":"%s\u0000"}}`, `{"commandId":"ls","timeoutMs":"%s"}`, `{"commandId":"%s"`,
	} {
		_, err := toolcall.DecodeCmdRun(fmt.Appendf(nil, text, secret))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzDecodeCmdRun(f *testing.F) {
	f.Add([]byte(`{"commandId":"ls","args":["-l"],"cwd":"src","stdin":"x","env":{"A":"b"},"timeoutMs":500}`))
	f.Add([]byte(`{"commandId":"","args":[null],"timeoutMs":1e1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := toolcall.DecodeCmdRun(text)
		if err != nil {
			if durward.KindOf(err) != durward.Invalid {
				t.Fatal(err)
			}
			return
		}
		if !json.Valid(text) || len(c.Args) > toolcall.MaxArgs || c.Timeout < 0 {
			t.Fatalf("%q became %+v", text, c)
		}
	})
}
