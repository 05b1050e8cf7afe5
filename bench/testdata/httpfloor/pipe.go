package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

// What the two records of a call of one short tool take.
const (
	intentBytes  = 740
	outcomeBytes = 900
)

// A program answers one line at a time.
type program struct {
	mu      sync.Mutex
	to      io.Writer     // guarded by mu
	from    *bufio.Reader // guarded by mu
	records io.Writer     // guarded by mu; nil where nothing is recorded
}

// start starts a program, which ends with its input. A name is that of the file of records.
func start(argv []string, records string) (*program, error) {
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
	if records != "" {
		if p.records, err = os.OpenFile(records, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return nil, err
		}
	}
	return p, cmd.Start()
}

// ask sends a message, and gives the answer if there is to be one.
func (p *program) ask(message []byte) ([]byte, error) {
	var m struct{ ID json.RawMessage }
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.record(intentBytes); err != nil {
		return nil, err
	}
	if _, err := p.to.Write(append(message, '\n')); err != nil || m.ID == nil {
		return nil, err
	}
	answer, err := p.from.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return answer, p.record(outcomeBytes)
}

// record writes a line of so many bytes. It needs mu.
func (p *program) record(size int) error {
	if p.records == nil {
		return nil
	}
	_, err := p.records.Write(append(bytes.Repeat([]byte{'x'}, size-1), '\n'))
	return err
}

func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message, err := io.ReadAll(r.Body)
	var answer []byte
	if err == nil {
		answer, err = p.ask(message)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	case answer == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}
}
