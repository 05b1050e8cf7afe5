package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/jsonx"
)

// texts are a small message, one with a large string as fs_write sends it, and one of
// many values.
var texts = []struct{ name, text string }{
	{"small", `{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"/home/user/project/main.go"}}`},
	{"1MiB", `{"jsonrpc":"2.0","id":1,"method":"fs.write","params":{"path":"/w/a","data":"` + strings.Repeat(`func main() {}\n`, 1<<20/15) + `"}}`},
	{"values", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"list":[` + strings.Repeat(`{"name":"a","size":1},`, 10_000) + `{}]}}`},
}

func BenchmarkParse(b *testing.B) {
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) {
			text := []byte(tt.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := jsonrpc.Parse(text); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}

// BenchmarkCheck is the floor of BenchmarkParse.
func BenchmarkCheck(b *testing.B) {
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) {
			text := []byte(tt.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonx.Check(text, jsonx.Limits{Bytes: 2 << 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadLine(b *testing.B) {
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) {
			line := []byte(tt.text + "\n")
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			in := jsonrpc.NewReader(&again{text: line}, 0)
			for b.Loop() {
				if _, err := in.ReadLine(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSend(b *testing.B) {
	for _, tt := range texts {
		b.Run(tt.name, func(b *testing.B) {
			w := jsonrpc.NewWriter(io.Discard)
			m := jsonrpc.Message{ID: jsonrpc.IntID(1)}.Answer(json.RawMessage(tt.text))
			b.SetBytes(int64(len(tt.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Send(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// again gives one text over and over.
type again struct {
	text []byte
	rest bytes.Reader
}

func (a *again) Read(p []byte) (int, error) {
	if a.rest.Len() == 0 {
		a.rest.Reset(a.text)
	}
	return a.rest.Read(p)
}
