// Command pipefloor hands each request of HTTP to a program, as a call of one MCP tool on its
// standard input, and answers with the line that comes back. There is one call at a time, and
// nothing else is done: no checks, no records.
//
//	pipefloor PROGRAM…
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
)

// greeting opens the session of the program.
const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pipefloor:", err)
		os.Exit(1)
	}
}

func run(program []string) error {
	if len(program) == 0 {
		return errors.New("which program?")
	}
	p, err := start(program)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "Serving on http://%s\n", l.Addr())
	return http.Serve(l, p)
}

// A program answers one line at a time.
type program struct {
	turn chan struct{}
	to   io.Writer
	from *bufio.Reader
}

// start starts a program, which ends with its input.
func start(argv []string) (*program, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &program{make(chan struct{}, 1), to, bufio.NewReader(from)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.ask([]byte(greeting)); err != nil {
		return nil, err
	}
	_, err = io.WriteString(to, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return p, err
}

func (p *program) ask(line []byte) ([]byte, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if _, err := p.to.Write(line); err != nil {
		return nil, err
	}
	return p.from.ReadBytes('\n')
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arguments, err := io.ReadAll(r.Body)
	var answer []byte
	if err == nil {
		answer, err = p.ask(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":%s}}`+"\n", arguments))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}
