package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/coder/websocket"
)

// start starts the process that a message asks for, and goes on to the next message. It says
// that it has started, and when it has ended: what it prints is read and dropped.
func start(c *websocket.Conn, message []byte, _ int) error {
	var asked struct {
		ID     int `json:"id"`
		Params struct {
			ProcessID string   `json:"processId"`
			Argv      []string `json:"argv"`
			Cwd       string   `json:"cwd"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &asked); err != nil {
		return err
	}
	p := asked.Params
	cmd := &exec.Cmd{Path: p.Argv[0], Args: p.Argv, Dir: p.Cwd, Env: []string{}}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	go func() {
		if err := follow(c, p.ProcessID, cmd, stdout, stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return say(c, fmt.Appendf(nil, `{"id":%d,"result":{"processId":%q}}`, asked.ID, p.ProcessID))
}

// follow reads what a process prints until nothing comes any more, waits for it and tells.
func follow(c *websocket.Conn, id string, cmd *exec.Cmd, stdout, stderr io.Reader) error {
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, stderr)
		read <- err
	}()
	_, err := io.Copy(io.Discard, stdout)
	if err := errors.Join(err, <-read, cmd.Wait()); err != nil {
		return err
	}
	if err := say(c, fmt.Appendf(nil, `{"method":"process/exited","params":{"processId":%q,"seq":1,"exitCode":0}}`, id)); err != nil {
		return err
	}
	return say(c, fmt.Appendf(nil, `{"method":"process/closed","params":{"processId":%q,"seq":2}}`, id))
}
