package wsedge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/wsedge"
)

// TestBrokenRules drops who breaks one, and answers nothing.
func TestBrokenRules(t *testing.T) {
	unmasked := append(frameHead(text, 0, 2), "{}"...)
	for _, test := range []struct {
		name   string
		frames [][]byte
	}{
		{"no mask", [][]byte{unmasked}},
		{"no mask within a message", [][]byte{frame(firstText, "{"), append(frameHead(last, 0, 1), '}')}},
		{"no mask on a ping", [][]byte{frameHead(pinging, 0, 0)}},
		{"text that is not UTF-8", [][]byte{frame(text, "\"\xff\"")}},
		{"half a character", [][]byte{frame(text, "\"\xe2\x82")}},
		{"half a surrogate pair", [][]byte{frame(text, "\"\xed\xa0\x80\"")}},
		{"binary that is not UTF-8", [][]byte{frame(binaryText, "\"\xff\"")}},
		{"fragments that are not UTF-8", [][]byte{frame(firstText, "\"\xff"), frame(last, "\"")}},
		{"a fragment of nothing", [][]byte{frame(last, "{}")}},
		{"a message within a message", [][]byte{frame(firstText, "{"), frame(text, "{}")}},
		{"a reserved bit", [][]byte{frame(text|reservedBit, "{}")}},
		{"an unknown kind", [][]byte{frame(unknownOpcode, "{}")}},
		{"a long ping", [][]byte{frame(pinging, strings.Repeat("x", 126))}},
		{"a ping in pieces", [][]byte{frame(pinging&^0x80, "x")}},
		{"a size below zero", [][]byte{frameHead(text, 0x80, 1<<63), {1, 2, 3, 4}}},
		{"no end", [][]byte{append(frameHead(text, 0x80, 1<<62), bytes.Repeat([]byte("1234"), 5<<20)...)}},
		{"no last fragment", append([][]byte{frame(firstText, "x")}, slices.Repeat([][]byte{frame(middle, strings.Repeat("x", 1<<20))}, 16)...)},
		{"16 MiB", [][]byte{frame(text, strings.Repeat("x", 16<<20))}},
		{"16 MiB in fragments", [][]byte{frame(firstText, strings.Repeat("x", 8<<20)), frame(last, strings.Repeat("x", 8<<20))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ended := make(chan error, 1)
			c := open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
				message, err := c.Read(ctx)
				if err == nil {
					_ = c.Write(ctx, message)
				}
				ended <- err
			}))
			for _, f := range test.frames {
				if _, err := c.Write(f); err != nil {
					break // by which it is dropped
				}
			}
			c.ends()
			if err := <-ended; durward.ReasonOf(err) != durward.BadRequest {
				t.Error(err)
			}
		})
	}
}

// TestGoodFrames come back as one text.
func TestGoodFrames(t *testing.T) {
	mib := strings.Repeat("0123456789abcdef", 1<<16)
	for _, test := range []struct {
		name   string
		frames [][]byte
		want   string
	}{
		{"text", [][]byte{frame(text, "{}")}, "{}"},
		{"nothing", [][]byte{frame(text, "")}, ""},
		{"binary", [][]byte{frame(binaryText, `{"a":"€"}`)}, `{"a":"€"}`},
		{"fragments", [][]byte{frame(firstText, `{"a`), frame(middle, ""), frame(middle, `":`), frame(last, `1}`)}, `{"a":1}`},
		{"a character in fragments", [][]byte{frame(firstText, "\"\xe2"), frame(middle, "\x82"), frame(last, "\xac\"")}, `"€"`},
		{"a fragment for each byte", append([][]byte{frame(firstText, "")}, append(slices.Repeat([][]byte{frame(middle, "x")}, 5000), frame(last, ""))...), strings.Repeat("x", 5000)},
		{"125 bytes", [][]byte{frame(text, mib[:125])}, mib[:125]},
		{"126 bytes", [][]byte{frame(text, mib[:126])}, mib[:126]},
		{"what fits at first", [][]byte{frame(text, mib[:1024])}, mib[:1024]},
		{"65535 bytes", [][]byte{frame(text, mib[:65535])}, mib[:65535]},
		{"65536 bytes", [][]byte{frame(text, mib[:65536])}, mib[:65536]},
		{"8 MiB", [][]byte{frame(text, strings.Repeat(mib, 8))}, strings.Repeat(mib, 8)},
		{"all but 16 MiB", [][]byte{frame(text, strings.Repeat(mib, 16)[1:])}, strings.Repeat(mib, 16)[1:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := open(t, start(t, wsedge.Options{}, echo))
			c.say(slices.Concat(test.frames...))
			c.hears(text, test.want)
		})
	}
}

func TestPings(t *testing.T) {
	c := open(t, start(t, wsedge.Options{}, echo))
	for _, payload := range []string{"", "x", strings.Repeat("y", 125)} {
		c.say(frame(pinging, payload))
		c.hears(ponging, payload)
	}
	c.say(append(frame(firstText, "["), frame(pinging, "between")...))
	c.hears(ponging, "between")
	c.say(frame(last, "]"))
	c.hears(text, "[]")
	c.say(slices.Concat(frame(ponging, "unasked"), frame(text, "1")))
	c.hears(text, "1")
}

// TestFramesRightBehindTheRequest are not lost.
func TestFramesRightBehindTheRequest(t *testing.T) {
	c := connect(t, start(t, wsedge.Options{}, echo))
	request := strings.ReplaceAll(strings.ReplaceAll(opening, "ADDR", c.RemoteAddr().String()), "\n", "\r\n") + "\r\n"
	c.say(append([]byte(request), append(frame(text, "1"), frame(text, "2")...)...))
	for line := "x"; line != "\r\n"; {
		var err error
		line, err = c.in.ReadString('\n')
		noError(t, err)
	}
	c.hears(text, "1")
	c.hears(text, "2")
}

// TestHowPeersGo makes the handler's Read tell the same, whatever they do.
func TestHowPeersGo(t *testing.T) {
	for name, leave := range map[string]func(c *raw){
		"a close frame":       func(c *raw) { c.say(frame(closing, "\x03\xe8bye")); c.hears(closing, "\x03\xe8bye"); c.ends() },
		"an empty one":        func(c *raw) { c.say(frame(closing, "")); c.hears(closing, ""); c.ends() },
		"the end":             func(c *raw) { c.Close() },
		"half an end":         func(c *raw) { noError(c, c.Conn.(interface{ CloseWrite() error }).CloseWrite()); c.ends() },
		"an end in a head":    func(c *raw) { c.say([]byte{text}); c.Close() },
		"an end in a message": func(c *raw) { c.say(frame(text, "abc")[:7]); c.Close() },
		"an end between fragments": func(c *raw) {
			c.say(frame(firstText, "abc"))
			c.Close()
		},
		"a reset": func(c *raw) {
			noError(c, c.Conn.(interface{ SetLinger(int) error }).SetLinger(0))
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			leave(open(t, start(t, wsedge.Options{}, func(ctx context.Context, c wsedge.Conn) {
				_, err := c.Read(ctx)
				ended <- err
				if _, again := c.Read(ctx); !errors.Is(again, io.EOF) {
					t.Errorf("then %v", again)
				}
			})))
			if err := <-ended; !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}
