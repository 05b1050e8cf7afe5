package mcp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
)

const heldRead = `{"jsonrpc":"2.0","id":"slow","method":"fs.read","params":{"path":"/a"}}`

// A call that is done where it was read and then lasts keeps no line behind it, and can be
// cancelled; those that follow are no slower than others.
func TestAShortCallThatLasts(t *testing.T) {
	connectHeld(t, func(p *peer, h *held) {
		p.say(heldRead)
		began := time.Now()
		p.say(ping)
		p.expect(result("1", "{}"))
		if waited := time.Since(began); waited > 2*lookEvery {
			t.Errorf("the next line waited for %v", waited)
		}
		began = time.Now()
		p.say(strings.Replace(heldRead, "slow", "other", 1))
		p.say(ping)
		p.expect(result("1", "{}"))
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a line behind a second one waited for %v", waited)
		}
		p.say(cancelSlow)
		p.expect("")
		if err := <-h.ended; err == nil {
			t.Error("the call went on")
		}
		h.let <- durward.Result{Output: []byte(`{"data":""}`)}
		p.expect(result(`"other"`, `{"data":""}`))
		p.say(heldRead)
		h.let <- durward.Result{Output: []byte(`{"data":""}`)}
		p.expect(result(`"slow"`, `{"data":""}`))
		p.say(ping)
		p.expect(result("1", "{}"))
	})
}

// Lines that come in a row are answered in a row, whoever reads them.
func TestManyShortCalls(t *testing.T) {
	connect(t, options(double(echo)), func(p *peer) {
		want := ""
		for range 300 {
			p.say(strings.Replace(heldRead, `"slow"`, "7", 1))
			want += result("7", `{"data":"hello\n","bytesRead":6,"sha256":"`+someDigest+`"}`)
			time.Sleep(lookEvery)
		}
		p.expect(want)
	})
}

// Whoever does not read keeps the writer of a short answer, and nobody else.
func TestAShortAnswerThatNobodyTakes(t *testing.T) {
	connect(t, options(double(echo)), func(p *peer) {
		for range cap(p.lines) + 2 { // one is on its way, and one waits to be
			p.say(strings.Replace(heldRead, "slow", "filling", 1))
			synctest.Wait()
		}
		p.end()
		time.Sleep(grace + 2*farewell)
		if err, over := p.over(); err != nil || !over {
			t.Errorf("it is over: %t, with %v", over, err)
		}
		p.hears() // so that whoever takes what was said can end
	})
}

// Who looks rests while there are no calls, and is woken by the next.
func TestWhoLooksRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stop, passed := newRelay(), make(chan struct{}), make(chan struct{}, 1)
		go r.watch(stop, func() { passed <- struct{}{} })
		for range 3 {
			time.Sleep(2 * looksAfter * lookEvery)
			if !r.resting.Load() {
				t.Error("somebody looks although there is nothing to see")
			}
			short := r.begin()
			time.Sleep(lookEvery / 2)
			if !r.end(short) {
				t.Error("a short call lost its turn")
			}
			long := r.begin()
			<-passed
			if r.end(long) {
				t.Error("two go on to read")
			}
		}
		close(stop)
	})
}
