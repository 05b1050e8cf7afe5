package wsedge_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/durward/durward/internal/wsedge"
)

// several are messages whose sizes are told in each of the three ways.
var several = [][]byte{[]byte("{}"), bytes.Repeat([]byte("a"), 200), {}, bytes.Repeat([]byte("b"), 100_000), []byte("[]")}

// TestSeveralMessages are whole and in their order, whoever writes beside.
func TestSeveralMessages(t *testing.T) {
	const times = 20
	c := dial(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
		beside := make(chan struct{})
		go func() {
			defer close(beside)
			for range times {
				_ = c.Write(ctx, []byte("beside"))
			}
		}()
		for range times {
			_ = c.Write(ctx, several...)
		}
		<-beside
		_, _ = c.Read(ctx)
	}), nil)
	for got, besides := 0, 0; got < times*len(several) || besides < times; {
		_, message, err := c.Read(context.Background())
		noError(t, err)
		if string(message) == "beside" {
			if besides++; got%len(several) != 0 {
				t.Fatal("a message came between those of one write")
			}
			continue
		}
		if want := several[got%len(several)]; !bytes.Equal(message, want) {
			t.Fatalf("message %d has %d bytes; want %d", got, len(message), len(want))
		}
		got++
	}
}

func TestSeveralLines(t *testing.T) {
	var out bytes.Buffer
	c := wsedge.Stdio(strings.NewReader(""), &out, 0, local)
	noError(t, c.Write(t.Context(), []byte("{}"), []byte("[]")))
	noError(t, c.Write(t.Context(), []byte("1")))
	if got, _ := io.ReadAll(&out); string(got) != "{}\n[]\n1\n" {
		t.Errorf("%q", got)
	}
}
