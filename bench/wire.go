//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// A wire is a connection on which one side waits for the other.
type wire struct{ *websocket.Conn }

func dialWire(url string) (wire, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, url, nil)
	if err == nil {
		c.SetReadLimit(-1)
	}
	return wire{c}, err
}

// dialSession opens a session of an exec server.
func dialSession(url string) (wire, error) {
	c, err := dialWire(url)
	if err == nil {
		_, err = c.ask([]byte(hello))
	}
	if err == nil {
		err = c.say([]byte(`{"method":"initialized"}`))
	}
	return c, err
}

// hello opens a session.
const hello = `{"id":0,"method":"initialize","params":{"clientName":"bench"}}`

func (c wire) say(text []byte) error {
	return c.Write(context.Background(), websocket.MessageText, text)
}

func (c wire) next() ([]byte, error) {
	_, text, err := c.Read(context.Background())
	return text, err
}

// ask says something and wants the next message not to be an error.
func (c wire) ask(text []byte) ([]byte, error) {
	if err := c.say(text); err != nil {
		return nil, err
	}
	answer, err := c.next()
	if bytes.Contains(answer[:min(len(answer), 64)], []byte(`"error":`)) {
		err = fmt.Errorf("%.200s is answered with %.300s", text, answer)
	}
	return answer, err
}

// until reads until a message has a text near its beginning, and gives how long all were.
func (c wire) until(text string) (size int, err error) {
	for {
		m, err := c.next()
		if err != nil {
			return size, err
		}
		size += len(m)
		head := m[:min(len(m), 256)]
		if bytes.Contains(head, []byte(text)) {
			return size, nil
		}
		if bytes.Contains(head, []byte(`"error":{`)) {
			return size, fmt.Errorf("instead of %s: %s", text, head)
		}
	}
}

// carried reads what a process writes until that ends in a text.
func (c wire) carried(text string) error {
	var got []byte
	for !strings.HasSuffix(string(got), text) {
		m, err := c.next()
		if err != nil {
			return err
		}
		_, after, found := bytes.Cut(m, []byte(`"chunk":"`))
		if chunk, _, _ := bytes.Cut(after, []byte(`"`)); found {
			got, err = base64.StdEncoding.AppendDecode(got, chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
