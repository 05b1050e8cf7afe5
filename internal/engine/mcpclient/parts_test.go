package mcpclient

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// Slots are given in the order in which they were asked for, and those who leave take none with
// them.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{free: 2}
		for range 2 {
			if err := s.take(t.Context(), mostWaiting); err != nil {
				t.Fatal(err)
			}
		}
		var order []int
		for i := range 10 {
			go func() {
				ctx := t.Context()
				if i%3 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Second)
					defer cancel()
				}
				if s.take(ctx, mostWaiting) == nil {
					order = append(order, i)
					s.give()
				}
			}()
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		s.give()
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[1 2 4 5 7 8]" {
			t.Error(got)
		}
		s.give()
		if s.free != 2 || len(s.waiting) != 0 {
			t.Errorf("%d are free, %d wait", s.free, len(s.waiting))
		}
	})
}

// However many come and go at once, no slot is lost and none is given twice.
func TestSlotsInACrowd(t *testing.T) {
	s := &slots{free: 3}
	var in sync.Map
	var crowd sync.WaitGroup
	for i := range 32 {
		crowd.Go(func() {
			for n := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%4 == 0 {
					go cancel()
				}
				if s.take(ctx, mostWaiting) == nil {
					in.Store(i, true)
					held := 0
					in.Range(func(any, any) bool { held++; return true })
					if held > 3 {
						t.Errorf("%d have one", held)
					}
					in.Delete(i)
					s.give()
				}
				cancel()
			}
		})
	}
	crowd.Wait()
	if s.free != 3 || len(s.waiting) != 0 {
		t.Errorf("%d are free, %d wait", s.free, len(s.waiting))
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("x", 3*logBytes) + "\n"
	text := strings.Repeat("a\n\n  b \r\n", 1000) + long + strings.Repeat("c\n", tailBytes/2-1) + "\nlast words"
	for _, in := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.OneByteReader(strings.NewReader(text))} {
		var kept tail
		lines, bytes := 0, 0
		last := kept.follow(in, &server{}, func(line string) {
			lines++
			bytes = max(bytes, len(line))
		})
		if got := string(kept.all(&server{})); got != text[len(text)-tailBytes:] {
			t.Errorf("%d bytes are kept, and others than the last", len(got))
		}
		if want := 2000 + tailBytes/2; last != "last words" || lines < want || lines > want+8 || bytes > 2*logBytes {
			t.Errorf("%d lines of up to %d bytes; the last is %q", lines, bytes, last)
		}
	}
}

func TestIDAtEnd(t *testing.T) {
	for _, tt := range []struct {
		head, tail string
		want       int64
		ok         bool
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"content":[{"te`, `xx"}]}}`, 7, true},
		{` { "id" : 7 , "jsonrpc":"2.0","result":"xx`, `xx"}`, 7, true},
		{`{"result":{"content":[{"te`, `xx"}]},"jsonrpc":"2.0","id":7}`, 7, true},
		{`{"result":{"content":[{"te`, "xx\"}]},\"id\": 7 , \"jsonrpc\" : \"2.0\" }\r\n", 7, true},
		{`{"jsonrpc":"2.0","result":"xx`, `xx","id":7}`, 7, true},
		{`{"result":{"id":7,"content":[{"te`, `xx"}]},"jsonrpc":"2.0"}`, 0, false},
		{`{"result":{"content":[{"te`, `"id":7}]},"jsonrpc":"2.0"}`, 0, false},
		{`{"result":{"content":[{"te`, `xx\",\"id\":7}"}`, 0, false},
		{`{"jsonrpc":"2.0","id":"7","result":"xx`, `xx"}`, 0, false},
		{`{"jsonrpc":"2.0","id":7.0,"result":"xx`, `xx"}`, 0, false},
		{`{"id":7,"method":"ping","params":{"te`, `xx"}}`, 0, false},
		{`{"method":"ping","params":{"te`, `xx"},"id":7}`, 0, false},
		{`{"id":7,"result":{"n":NaN}}`, `{"id":7,"result":{"n":NaN}}`, 7, true},
		{`{"result":[NaN],"id":7}`, `{"result":[NaN],"id":7}`, 7, true},
		{`xxxx`, `xx`, 0, false},
		{`[{"id":7`, `xx`, 0, false},
		{``, ``, 0, false},
	} {
		if got, ok := idAtEnd([]byte(tt.head), []byte(tt.tail)); got != tt.want || ok != tt.ok {
			t.Errorf("%s…%s: %d, %t", tt.head, tt.tail, got, ok)
		}
	}
}

// What a server asks with NaN in it is none of its answers.
func TestRequestsThatAreNoJSONAreNoAnswers(t *testing.T) {
	for text, want := range map[string]int64{
		`{"id":7,"result":{"n":NaN}}`:                                       7,
		`{"id":7,"error":{"code":1,"message":"x","data":NaN}}`:              7,
		`{"id":7,"params":{"n":NaN},"method":"roots/list"}`:                 0,
		`{"params":{"n":NaN},"method":"roots/list","id":7}`:                 0,
		`{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"n":NaN}}`: 0,
	} {
		if got, _ := laxID([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
