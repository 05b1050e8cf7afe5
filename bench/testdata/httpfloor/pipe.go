package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
)

// greeting opens the session of the program.
const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// A program answers one line at a time.
type program struct {
	mu   sync.Mutex
	to   io.Writer     // guarded by mu
	from *bufio.Reader // guarded by mu
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
	p := &program{to: to, from: bufio.NewReader(from)}
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
	p.mu.Lock()
	defer p.mu.Unlock()
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
