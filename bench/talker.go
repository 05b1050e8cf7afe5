//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// A talker is a program that answers each line of its input with a line.
type talker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said bytes.Buffer // on standard error
}

// talk starts one with variables beside our own.
func talk(env []string, program string, args ...string) (*talker, error) {
	t := &talker{cmd: exec.Command(program, args...)}
	t.cmd.Env, t.cmd.Stderr = append(os.Environ(), env...), &t.said
	in, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	t.in, t.out = in, bufio.NewReaderSize(out, 64<<10)
	return t, t.cmd.Start()
}

// send writes a line.
func (t *talker) send(line []byte) error {
	_, err := t.in.Write(line)
	return err
}

// hear reads the next answer, which is good until the one after it is read.
func (t *talker) hear() ([]byte, error) {
	line, err := t.out.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", t.cmd.Path, err)
	}
	return line, nil
}

// ask is send and hear.
func (t *talker) ask(line []byte) ([]byte, error) {
	if err := t.send(line); err != nil {
		return nil, err
	}
	return t.hear()
}

// expect asks, and refuses any other answer.
func (t *talker) expect(line, answer []byte) error {
	got, err := t.ask(line)
	if err == nil && !bytes.Equal(got, answer) {
		err = fmt.Errorf("%s answers %s", t.cmd.Path, got)
	}
	return err
}

// pipeline sends all lines, and no more than some ahead of their answers. Those may come in
// any order, and each is as long as size.
func (t *talker) pipeline(lines [][]byte, ahead, size int) error {
	for i := range len(lines) + ahead {
		if i >= ahead {
			if got, err := t.hear(); err != nil || len(got) != size {
				return errors.Join(err, fmt.Errorf("%s answers %s", t.cmd.Path, got))
			}
		}
		if i < len(lines) {
			if err := t.send(lines[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the input and waits for the program.
func (t *talker) close() error {
	t.in.Close()
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", t.cmd.Path, err, &t.said)
	}
	return nil
}
