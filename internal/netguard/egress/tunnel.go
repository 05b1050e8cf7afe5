package egress

import (
	"io"
	"net"
	"sync"
)

// tunnel copies both ways until both sides have ended or one has failed. That a side ended
// is passed on to the other. What the target says goes to the client from the beginning.
func (c *client) tunnel(up *upstream, j *judgement) {
	defer j.allow() // unless something else was told before
	c.unbound()
	var downward sync.WaitGroup
	downward.Go(func() {
		n, err := io.Copy(c.conn, up.conn)
		up.down.Add(n)
		c.ended(c.conn, up, err)
	})
	err := c.sendUp(up, j)
	c.ended(up.conn, up, err)
	downward.Wait()
}

// ended passes on to a side how the other ended. One that failed takes both with it.
func (c *client) ended(to net.Conn, up *upstream, err error) {
	if err != nil {
		abort(up.conn)
		abort(c.conn)
		return
	}
	endWriting(to)
}

// sendUp sends what the client says.
func (c *client) sendUp(up *upstream, j *judgement) error {
	if c.proxy.options.RequireSNI {
		if err := c.checkHello(j); err != nil {
			return err
		}
	}
	j.allow()
	n, err := io.CopyN(up.conn, c.in, int64(c.in.Buffered()))
	up.up.Add(n)
	if err != nil {
		return err
	}
	n, err = io.Copy(up.conn, c.conn)
	up.up.Add(n)
	return err
}

// checkHello waits for the client's first word and refuses a TLS hello for another name.
// The word stays unread. A client that says nothing is waited for as long as it likes.
func (c *client) checkHello(j *judgement) error {
	if !c.beginsTLS() {
		return nil // the copying meets an error once more
	}
	c.within(c.proxy.options.intake)
	defer c.unbound()
	name, err := c.readHello()
	if err == nil {
		err = matchName(name, j.event.Host)
	}
	if err != nil {
		j.refuse(RuleSNI)
	}
	return err
}

// beginsTLS reports whether the first word is a TLS record: a handshake by its first byte,
// another one, which some servers pass over before the handshake, by its first two.
func (c *client) beginsTLS() bool {
	first, err := c.in.Peek(1)
	if err != nil || first[0] < recordFirst || first[0] > recordLast {
		return false
	}
	if first[0] == recordHandshake {
		return true
	}
	c.within(c.proxy.options.intake)
	defer c.unbound()
	first, err = c.in.Peek(2)
	return err == nil && first[1] == recordMajor
}

// readHello reads until the hello is whole.
func (c *client) readHello() (name string, err error) {
	var r helloReader
	for need := 1; ; {
		if _, err := c.in.Peek(need); err != nil { // too large, too slow, or ended
			return "", err
		}
		b, _ := c.in.Peek(c.in.Buffered())
		name, need, err = r.read(b)
		if err != nil || need <= len(b) {
			return name, err
		}
	}
}
