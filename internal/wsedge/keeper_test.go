package wsedge_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/durward/durward/internal/wsedge"
)

// often is how soon a silent peer is missed in these tests.
const often = 50 * time.Millisecond

// pinged gives the payload of the next frame, which has to be a ping.
func (c *raw) pinged() string {
	c.Helper()
	first, payload, err := c.hear()
	if err != nil || first != pinging {
		c.Fatalf("%#x %q, %v, want a ping", first, payload, err)
	}
	return payload
}

func TestPingsAreSent(t *testing.T) {
	c := open(t, start(t, wsedge.Options{PingEvery: often}, echo))
	for range 5 { // more than an unanswered one lives through
		c.say(frame(ponging, c.pinged()))
	}
	c.say(frame(text, "{}"))
	c.hears(text, "{}")
}

// TestAnyWordIsALife: it does not have to be a pong.
func TestAnyWordIsALife(t *testing.T) {
	c := open(t, start(t, wsedge.Options{PingEvery: often}, func(ctx context.Context, c wsedge.Conn) {
		for message, err := []byte(nil), error(nil); err == nil; message, err = c.Read(ctx) {
			if string(message) == "last" {
				_ = c.Write(ctx, message)
			}
		}
	}))
	for range 5 {
		c.pinged()
		c.say(frame(text, "{}"))
	}
	c.say(frame(text, "last"))
	c.hears(text, "last")
}

// silence waits for so many peers to be missed, one after the other: a time in which
// somebody else could have been.
func silence(t *testing.T, addr string, peers int) {
	t.Helper()
	for range peers {
		open(t, addr).ends()
	}
}

// TestSilentPeersAreMissed at whatever point they fell silent.
func TestSilentPeersAreMissed(t *testing.T) {
	ended := make(chan error, 1)
	addr := start(t, wsedge.Options{PingEvery: often}, func(ctx context.Context, c wsedge.Conn) {
		_, err := c.Read(ctx)
		ended <- err
	})
	for name, words := range map[string][]byte{
		"idle":         nil,
		"in a head":    {text},
		"in a message": frame(text, "abc")[:7],
		"in fragments": frame(firstText, "abc"),
	} {
		c := open(t, addr)
		c.say(words)
		c.ends()
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnreadMessagesAreWaitedFor leaves a peer alone that does not read, with room on the
// way and without, and answers the last of its pings when it does.
func TestUnreadMessagesAreWaitedFor(t *testing.T) {
	for name, unread := range map[string][]byte{"few": []byte("{}"), "many": big} {
		t.Run(name, func(t *testing.T) {
			addr := start(t, wsedge.Options{PingEvery: often, HandshakeTimeout: 4 * often}, func(ctx context.Context, c wsedge.Conn) {
				for {
					message, err := c.Read(ctx)
					if err != nil {
						return
					}
					if string(message) == "go" {
						message = unread
					}
					if err := c.Write(ctx, message); err != nil {
						t.Error(err)
					}
				}
			})
			c := open(t, addr)
			c.say(frame(text, "go"))
			for range 100 {
				c.say(frame(pinging, "not the last"))
			}
			c.say(frame(pinging, "the last"))
			silent := start(t, wsedge.Options{PingEvery: often}, echo)
			silence(t, silent, 10)
			c.hears(text, string(unread))
			for {
				first, payload, err := c.hear()
				noError(t, err)
				if first == ponging && payload == "the last" {
					break
				}
			}
			c.say(frame(text, "{}"))
			c.hears(text, "{}")
		})
	}
}

// TestAHandlerThatDoesNotReadIsNoSilentPeer: what the peer says lies unread here.
func TestAHandlerThatDoesNotReadIsNoSilentPeer(t *testing.T) {
	busy := make(chan struct{})
	addr := start(t, wsedge.Options{PingEvery: often}, func(ctx context.Context, c wsedge.Conn) {
		<-busy
		echo(ctx, c)
	})
	c := open(t, addr)
	silence(t, start(t, wsedge.Options{PingEvery: often}, echo), 5)
	close(busy)
	c.say(frame(text, "{}"))
	c.hears(text, "{}")
}
