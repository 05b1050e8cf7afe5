// Command wsfloor does over WebSockets what an exec server does for its clients, with
// nothing around it: it answers, sends bytes, reads and writes a file, and starts processes.
// It prints its address, and ends with its input.
//
//	wsfloor FILE
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/coder/websocket"
)

// chunk is what a frame of output carries.
const chunk = 8192

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("ws://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(l, http.HandlerFunc(serve)))
	os.Exit(1)
}

// serve does for each message what its path says.
func serve(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(-1)
	size, _ := strconv.Atoi(r.URL.Query().Get("size"))
	does := map[string]func(*websocket.Conn, []byte, int) error{"/echo": echo, "/send": send, "/read": read, "/write": write, "/start": start}[r.URL.Path]
	for does != nil {
		_, message, err := c.Read(r.Context())
		if err != nil || does(c, message, size) != nil {
			return
		}
	}
}

func say(c *websocket.Conn, text []byte) error {
	return c.Write(context.Background(), websocket.MessageText, text)
}

// echo answers with a text of a size.
func echo(c *websocket.Conn, _ []byte, size int) error {
	return say(c, []byte(strings.Repeat("x", size)))
}

// send answers with so many bytes, in frames like those of a process.
func send(c *websocket.Conn, _ []byte, size int) error {
	zeros := make([]byte, chunk)
	var frame []byte
	for seq := 1; size > 0; seq++ {
		n := min(size, chunk)
		size -= n
		frame = fmt.Appendf(frame[:0], `{"method":"process/output","params":{"processId":"p","seq":%d,"stream":"stdout","chunk":"`, seq)
		frame = base64.StdEncoding.AppendEncode(frame, zeros[:n])
		if err := say(c, append(frame, `"}}`...)); err != nil {
			return err
		}
	}
	return say(c, []byte(`{"method":"process/closed"}`))
}

// read answers with the file.
func read(c *websocket.Conn, _ []byte, _ int) error {
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	answer := base64.StdEncoding.AppendEncode([]byte(`{"id":1,"result":{"dataBase64":"`), content)
	return say(c, append(answer, `"}}`...))
}

// write replaces the file with what the message carries.
func write(c *websocket.Conn, message []byte, _ int) error {
	_, data, _ := bytes.Cut(message, []byte(`"dataBase64":"`))
	data, _, _ = bytes.Cut(data, []byte(`"`))
	content, err := base64.StdEncoding.AppendDecode(nil, data)
	if err == nil {
		err = os.WriteFile(os.Args[1], content, 0o644)
	}
	if err != nil {
		return err
	}
	return say(c, []byte(`{"id":1,"result":{}}`))
}
