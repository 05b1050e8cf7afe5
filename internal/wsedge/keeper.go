package wsedge

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// A keeper sends the pings and pongs of one connection and ends it when its peer has
// gone without a word.
type keeper struct {
	s     *socket
	every time.Duration

	reading atomic.Bool // somebody waits for a message
	heard   atomic.Bool // something came since the last tick
	// sent counts the messages that were sent, and read those of them that were sent
	// before a ping that was answered: each ping holds the count.
	sent, read atomic.Uint64

	// running are the goroutines of this connection.
	running sync.WaitGroup

	mu      sync.Mutex
	timer   *time.Timer // guarded by mu
	silent  int         // guarded by mu: ticks at which nothing had come
	stopped bool        // guarded by mu
	ping    bool        // guarded by mu: one is due
	pong    []byte      // guarded by mu: the payload of the last ping of the peer that was not answered, nil for none
	sending bool        // guarded by mu: a goroutine sends what is due
}

// patience is how many ticks in a row may find nothing.
const patience = 2

func (k *keeper) start(s *socket, every time.Duration) {
	k.mu.Lock() // which the first tick takes
	defer k.mu.Unlock()
	k.s, k.every = s, every
	k.timer = time.AfterFunc(every, k.tick)
}

func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	k.timer.Stop()
}

// tick ends the connection or sends a ping.
func (k *keeper) tick() {
	if k.lost() {
		k.s.cut()
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	k.ping = true
	k.work()
	k.timer.Reset(k.every)
}

// lost reports whether the peer has gone. Nothing is to be heard while nobody reads. A
// peer that is behind with reading has not come to our pings yet; its system
// acknowledges what arrives all the same.
func (k *keeper) lost() bool {
	heard, behind := k.heard.Swap(false), k.read.Load() != k.sent.Load() || len(k.s.turn) > 0
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case heard || !k.reading.Load():
		k.silent = 0
		return false
	case behind:
		return deaf(k.s.Conn, patience*k.every)
	}
	k.silent++
	return k.silent >= patience
}

// owePong answers a ping when the turn of that comes. Only the last one needs an answer.
func (k *keeper) owePong(payload []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	k.pong = append(make([]byte, 0, len(payload)), payload...)
	k.work()
}

// gotPong notes what the peer has read.
func (k *keeper) gotPong(payload []byte) {
	if len(payload) == countBytes {
		k.read.Store(binary.BigEndian.Uint64(payload))
	}
}

const countBytes = 8

// work sees to it that what is due is sent. The caller holds mu.
func (k *keeper) work() {
	if k.sending {
		return
	}
	k.sending = true
	k.running.Go(func() {
		for first, payload := k.due(); first != 0; first, payload = k.due() {
			if k.s.take(context.Background()) != nil {
				return // with sending set: nothing more is to be sent
			}
			if first == framePing {
				payload = binary.BigEndian.AppendUint64(make([]byte, 0, countBytes), k.sent.Load())
			}
			_ = k.s.send(first, payload) // Read tells of a connection that ended
			k.s.leave()
		}
	})
}

// due takes the next frame that is to be sent; its first byte is 0 when there is none.
func (k *keeper) due() (first byte, payload []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.pong != nil:
		payload, k.pong = k.pong, nil
		return framePong, payload
	case k.ping:
		k.ping = false
		return framePing, nil
	}
	k.sending = false
	return 0, nil
}
