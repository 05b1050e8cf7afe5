package chunks

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits that a ring which keeps its rules ends at once.
const patience = 20 * time.Second

func put(r *Ring, texts ...string) {
	for _, text := range texts {
		r.Put(durward.Body, []byte(text))
	}
}

func page(t *testing.T, r *Ring, after uint64, maxBytes int, wait time.Duration) durward.Page {
	t.Helper()
	p, err := r.Page(t.Context(), after, maxBytes, wait)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func text(p durward.Page) string {
	var out strings.Builder
	for _, c := range p.Chunks {
		out.Write(c.Data)
	}
	return out.String()
}

func TestTheOldestIsLost(t *testing.T) {
	r := New(Options{Limit: 8})
	put(r, "aaaa", "bbbb", "cc")
	r.End()
	p := page(t, r, 0, 100, 0)
	if text(p) != "bbbbcc" || p.Lost != 1 || p.Next != 3 || p.Last != 3 || !p.Ended || p.Chunks[0].Seq != 2 {
		t.Errorf("%+v", p)
	}
	if p := page(t, r, 1, 1, 0); text(p) != "bbbb" || p.Lost != 0 || p.Ended {
		t.Errorf("the first chunk is given whatever its size: %+v", p)
	}
}

func TestAWriterWaitsForItsReader(t *testing.T) {
	r := New(Options{Limit: 4, Keep: durward.KeepFlow})
	written := make(chan struct{})
	go func() {
		defer close(written)
		put(r, "aaaa", "bbbb", "cccc")
		r.End()
	}()
	whole, after := "", uint64(0)
	for p := (durward.Page{}); !p.Ended; after = p.Next {
		if p = page(t, r, after, 4, patience); p.Lost != 0 || len(p.Chunks) == 0 && !p.Ended {
			t.Fatalf("%+v", p)
		}
		whole += text(p)
	}
	<-written
	if whole != "aaaabbbbcccc" {
		t.Errorf("%q", whole)
	}
}

func TestAnAbandonedWriterGoesOn(t *testing.T) {
	r := New(Options{Limit: 4, Keep: durward.KeepFlow})
	r.Abandon()
	put(r, "aaaa", "bbbb")
	if p := page(t, r, 0, 100, 0); text(p) != "bbbb" || p.Lost != 1 {
		t.Errorf("%+v", p)
	}
}

func TestALargeChunkIsWhole(t *testing.T) {
	r := New(Options{Limit: 4})
	put(r, "aa", "large enough")
	if p := page(t, r, 0, 1, 0); text(p) != "large enough" || p.Lost != 1 {
		t.Errorf("%+v", p)
	}
}

func TestAReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Options{}).Page(ctx, 0, 1, patience); durward.KindOf(err) != durward.Cancelled {
		t.Error(err)
	}
}
