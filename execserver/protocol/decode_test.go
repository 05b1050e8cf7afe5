package protocol_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/execserver/protocol"
)

func ptr[T any](v T) *T { return &v }

// decode is Decode for tables of several types.
func decode[T any](raw string) (any, error) {
	v, err := protocol.Decode[T](json.RawMessage(raw))
	return v, err
}

const start = `"argv":["a"],"cwd":"/","env":{},"tty":false`

func TestDecode(t *testing.T) {
	tests := []struct {
		name   string
		decode func(string) (any, error)
		raw    string
		want   any
	}{
		{
			"only what is required", decode[protocol.StartParams], `{"processId":"",` + start + `}`,
			protocol.StartParams{Argv: []string{"a"}, Cwd: "/", Env: map[string]string{}},
		},
		{
			"null is absence", decode[protocol.StartParams], `{"processId":"p",` + start + `,"arg0":null,"pipeStdin":null,"envPolicy":null,"sandbox":null,"durward":null}`,
			protocol.StartParams{ProcessID: "p", Argv: []string{"a"}, Cwd: "/", Env: map[string]string{}},
		},
		{
			"everything that a current client sends", decode[protocol.StartParams],
			`{"processId":"1-a","argv":["ls","-l"],"cwd":"file:///w","env":{"A":"1"},"tty":true,"arg0":"x","pipeStdin":true,` +
				`"envPolicy":{"inherit":"core","ignoreDefaultExcludes":true,"exclude":["A*"],"set":{"B":"2"},"includeOnly":[]},` +
				`"sandbox":{"permissions":{}},"metadata":{"threadId":"t"},"durward":{"flow":true}}`,
			protocol.StartParams{
				ProcessID: "1-a", Argv: []string{"ls", "-l"}, Cwd: "file:///w", Env: map[string]string{"A": "1"}, TTY: true, Arg0: ptr("x"), PipeStdin: true,
				EnvPolicy: &protocol.EnvPolicy{Inherit: protocol.InheritCore, IgnoreDefaultExcludes: true, Exclude: []string{"A*"}, Set: map[string]string{"B": "2"}, IncludeOnly: []string{}},
				Sandbox:   json.RawMessage(`{"permissions":{}}`), Metadata: json.RawMessage(`{"threadId":"t"}`), Durward: &protocol.StartExtras{Flow: true},
			},
		},
		{
			"a name in another case is unknown", decode[protocol.ReadParams], `{"processId":"p","PROCESSID":1,"afterseq":-1,"waitMs":7}`,
			protocol.ReadParams{ProcessID: "p", WaitMs: ptr(uint64(7))},
		},
		{
			"the largest number", decode[protocol.ReadParams], `{"processId":"p","afterSeq":18446744073709551615}`,
			protocol.ReadParams{ProcessID: "p", AfterSeq: ptr(uint64(1<<64 - 1))},
		},
		{
			"names and texts with escapes", decode[protocol.ReadParams], ` { "process\u0049d" : "\"\\\ud83d\ude00" , "x":[{"a":"]}\\"}] } `,
			protocol.ReadParams{ProcessID: `"\😀`},
		},
		{"absent params that need nothing", decode[protocol.Empty], ``, protocol.Empty{}},
		{"null params that need nothing", decode[protocol.Empty], `null`, protocol.Empty{}},
		{"no session to resume", decode[protocol.InitializeParams], `{"clientName":"c"}`, protocol.InitializeParams{ClientName: "c"}},
		{
			"null to resume", decode[protocol.InitializeParams], `{"clientName":"c","resumeSessionId":null}`,
			protocol.InitializeParams{ClientName: "c", ResumeSessionID: protocol.ResumeNull()},
		},
		{
			"a session to resume", decode[protocol.InitializeParams], `{"clientName":"c","resumeSessionId":"s"}`,
			protocol.InitializeParams{ClientName: "c", ResumeSessionID: protocol.ResumeSession("s")},
		},
		{
			"base64", decode[protocol.WriteParams], `{"processId":"p","chunk":"aGk=","writeId":"1"}`,
			protocol.WriteParams{ProcessID: "p", Chunk: protocol.Base64("hi"), WriteID: ptr("1")},
		},
		{
			"base64 with slashes escaped", decode[protocol.WriteParams], `{"processId":"p","chunk":"\/\/\/\/"}`,
			protocol.WriteParams{ProcessID: "p", Chunk: protocol.Base64("\xff\xff\xff")},
		},
		{
			"chunks", decode[protocol.ReadResult], `{"chunks":[{"seq":1,"stream":"pty","chunk":""}],"nextSeq":2,"exited":true,"exitCode":-1,"closed":false,"failure":null}`,
			protocol.ReadResult{Chunks: []protocol.Chunk{{Seq: 1, Stream: protocol.PTY, Chunk: protocol.Base64{}}}, NextSeq: 2, Exited: true, ExitCode: ptr(-1)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.decode(tt.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct {
		name   string
		decode func(string) (any, error)
		raw    string
		member string
	}{
		{"no params", decode[protocol.ReadParams], ``, "processId"},
		{"null params", decode[protocol.InitializeParams], `null`, "clientName"},
		{"params that are a string", decode[protocol.Empty], `"x"`, ""},
		{"params that are a list", decode[protocol.ReadParams], `["p"]`, ""},
		{"a missing member", decode[protocol.StartParams], `{"processId":"p","argv":["a"],"cwd":"/","env":{}}`, "tty"},
		{"a required member that is null", decode[protocol.CopyParams], `{"sourcePath":"/a","destinationPath":"/b","recursive":null}`, "recursive"},
		{"a member twice", decode[protocol.ReadParams], `{"processId":"p","processId":"q"}`, "processId"},
		{"no program", decode[protocol.StartParams], `{"processId":"p","argv":[],"cwd":"/","env":{},"tty":false}`, ""},
		{"an argument that is null", decode[protocol.StartParams], `{"processId":"p","argv":["a",null],"cwd":"/","env":{},"tty":false}`, "argv[1]"},
		{"a variable that is null", decode[protocol.StartParams], `{"processId":"p","argv":["a"],"cwd":"/","env":{"A":null},"tty":false}`, "env.A"},
		{"a flag that is a string", decode[protocol.StartParams], `{"processId":"p","argv":["a"],"cwd":"/","env":{},"tty":"false"}`, "tty"},
		{"a flag that is a number", decode[protocol.StartParams], `{"processId":"p",` + start + `,"pipeStdin":1}`, "pipeStdin"},
		{"an environment policy without all of it", decode[protocol.StartParams], `{"processId":"p",` + start + `,"envPolicy":{"inherit":"all","ignoreDefaultExcludes":true,"exclude":[],"set":{}}}`, "envPolicy.includeOnly"},
		{"an unknown word", decode[protocol.StartParams], `{"processId":"p",` + start + `,"envPolicy":{"inherit":"some","ignoreDefaultExcludes":true,"exclude":[],"set":{},"includeOnly":[]}}`, "envPolicy.inherit"},
		{"another signal", decode[protocol.SignalParams], `{"processId":"p","signal":"kill"}`, "signal"},
		{"another mode", decode[protocol.OpenParams], `{"handleId":"h","path":"/","mode":"write"}`, "mode"},
		{"a negative number", decode[protocol.ReadParams], `{"processId":"p","afterSeq":-1}`, "afterSeq"},
		{"a fraction", decode[protocol.ReadParams], `{"processId":"p","maxBytes":1.0}`, "maxBytes"},
		{"an exponent", decode[protocol.ReadParams], `{"processId":"p","waitMs":1e2}`, "waitMs"},
		{"a number that is too large", decode[protocol.ReadParams], `{"processId":"p","waitMs":18446744073709551616}`, "waitMs"},
		{"more rows than a terminal can have", decode[protocol.ResizeParams], `{"processId":"p","rows":65536,"cols":1}`, "rows"},
		{"a number that is a string", decode[protocol.WalkParams], `{"path":"/","options":{"maxDepth":"1"}}`, "options.maxDepth"},
		{"a session that is a number", decode[protocol.InitializeParams], `{"clientName":"c","resumeSessionId":1}`, "resumeSessionId"},
		{"base64 that is a list", decode[protocol.WriteFileParams], `{"path":"/","dataBase64":[1]}`, "dataBase64"},
		{"a missing member beside bad base64", decode[protocol.WriteFileParams], `{"dataBase64":"!"}`, "path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.decode(tt.raw)
			var wrong *protocol.DecodeError
			if !errors.As(err, &wrong) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if wrong.Member != tt.member {
				t.Errorf("the error is about %q: %v", wrong.Member, err)
			}
			if errors.Is(err, protocol.ErrBase64) {
				t.Errorf("told as bad base64: %v", err)
			}
		})
	}
}

func TestBadBase64IsToldApart(t *testing.T) {
	for name, text := range map[string]string{
		"another alphabet":          `_-_-`,
		"no padding":                `aGk`,
		"padding of nothing":        `====`,
		"padding in the middle":     `aG==aGk=`,
		"bits that are left over":   `aGl=`,
		"a newline":                 `aGVs\nbG8=`,
		"newlines of a whole group": `aGVs\n\n\n\nbG8=`,
		"raw newlines":              "aGVs\n\n\n\nbG8=",
		"a character beyond ASCII":  `aGké`,
		"too little":                `!!`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode[protocol.WriteFileParams](`{"path":"/","dataBase64":"` + text + `"}`)
			var wrong *protocol.DecodeError
			if !errors.Is(err, protocol.ErrBase64) || !errors.As(err, &wrong) || wrong.Member != "dataBase64" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  func() (json.RawMessage, error)
		want string
	}{
		{
			name: "nothing is null that a peer needs",
			got:  func() (json.RawMessage, error) { return protocol.Encode(protocol.StartParams{ProcessID: "<p>"}) },
			want: `{"processId":"<p>","argv":[],"cwd":"","env":{},"tty":false}`,
		},
		{
			name: "what may be null says so",
			got:  func() (json.RawMessage, error) { return protocol.Encode(protocol.ReadResult{NextSeq: 1}) },
			want: `{"chunks":[],"nextSeq":1,"exited":false,"exitCode":null,"closed":false,"failure":null,"sandboxDenied":false}`,
		},
		{
			name: "no bytes are an empty text",
			got: func() (json.RawMessage, error) {
				return protocol.Encode(protocol.WriteParams{Chunk: nil})
			},
			want: `{"processId":"","chunk":""}`,
		},
		{
			name: "null to resume",
			got: func() (json.RawMessage, error) {
				return protocol.Encode(protocol.InitializeParams{ResumeSessionID: protocol.ResumeNull()})
			},
			want: `{"clientName":"","resumeSessionId":null}`,
		},
		{
			name: "nothing to resume",
			got:  func() (json.RawMessage, error) { return protocol.Encode(protocol.InitializeParams{}) },
			want: `{"clientName":""}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.got()
			if err != nil || string(got) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// FuzzDecode: what the standard library reads as the same struct, Decode reads alike or
// refuses, and no text makes it panic.
func FuzzDecode(f *testing.F) {
	f.Add(`{"processId":"p",` + start + `}`)
	f.Add(`{"processId":"p","argv":["\u0061"],"cwd":"","env":{"a":"b"},"tty":true,"arg0":null,"envPolicy":{"inherit":"all","ignoreDefaultExcludes":true,"exclude":[],"set":{},"includeOnly":[]}}`)
	f.Add(`{"a":[{"b":"\\"}],"processId"`)
	f.Add(`{"processId":"\`)
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := protocol.Decode[protocol.StartParams](json.RawMessage(raw))
		if err != nil || !json.Valid([]byte(raw)) {
			return
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatalf("%q is read though it is no object: %v", raw, err)
		}
		if want["processId"] != strings.ToValidUTF8(got.ProcessID, "\ufffd") || want["tty"] != got.TTY {
			t.Errorf("%q is read as %+v", raw, got)
		}
	})
}

func BenchmarkDecodeMiB(b *testing.B) {
	raw, err := protocol.Encode(protocol.WriteFileParams{Path: "/f", DataBase64: make([]byte, 1<<20)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protocol.Decode[protocol.WriteFileParams](raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeMiB(b *testing.B) {
	p := protocol.WriteFileParams{Path: "/f", DataBase64: make([]byte, 1<<20)}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := protocol.Encode(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeStart(b *testing.B) {
	raw := json.RawMessage(`{"processId":"p","argv":["bash","-lc","true"],"cwd":"file:///w","env":{"PATH":"/usr/bin:/bin","A":"b"},"tty":false,"arg0":null}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protocol.Decode[protocol.StartParams](raw); err != nil {
			b.Fatal(err)
		}
	}
}
