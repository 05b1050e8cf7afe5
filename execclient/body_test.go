package execclient

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/durward/durward/execserver/protocol"
)

func delta(seq uint64, size int) protocol.HTTPBodyDeltaParams {
	return protocol.HTTPBodyDeltaParams{Seq: seq, DeltaBase64: make([]byte, size)}
}

// TestABodyThatNobodyReadsIsGivenUp: time is that of the test's own bubble.
func TestABodyThatNobodyReadsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Body{ctx: t.Context(), changed: make(chan struct{})}
		for seq := range uint64(9) {
			b.take(delta(seq+1, 1<<20))
		}
		got, err := io.ReadAll(b)
		if len(got) != bodyBytes || !errors.Is(err, ErrTooSlow) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func TestABodyThatIsCutShortSaysSo(t *testing.T) {
	b := &Body{ctx: t.Context(), changed: make(chan struct{})}
	why := "reset by peer"
	b.take(delta(1, 3))
	b.take(protocol.HTTPBodyDeltaParams{Seq: 2, Done: true, Error: &why})
	if got, err := io.ReadAll(b); len(got) != 3 || err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	b = &Body{ctx: t.Context(), changed: make(chan struct{})}
	b.take(delta(1, 3))
	b.take(delta(3, 3))
	if _, err := io.ReadAll(b); !errors.Is(err, errFault) {
		t.Errorf("a piece is missing, and the body ends with %v", err)
	}
}
