package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A talk is one run of a program that takes and gives a message on each line.
type talk struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	heard io.Closer // our end of its output
	noted *bytes.Buffer
}

// talkWith starts the program of a command line; set changes how. It has a minute for all
// that is said.
func talkWith(t *testing.T, line []string, set func(*exec.Cmd)) *talk {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	d := &talk{t: t, cmd: exec.CommandContext(ctx, line[0], line[1:]...), noted: new(bytes.Buffer)}
	d.cmd.Stderr = d.noted
	set(d.cmd)
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out, d.heard = bufio.NewScanner(out), out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a test that failed leaves it open
		cancel()
		_ = d.cmd.Wait()
	})
	return d
}

// sends sends a message, which may be broken into lines.
func (d *talk) sends(message []byte) {
	d.t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		d.t.Fatalf("%v in %s", err, message)
	}
	if _, err := d.in.Write(append(line.Bytes(), '\n')); err != nil {
		d.t.Fatalf("%v: %s", err, d.noted)
	}
}

// gets wants the next line to be an answer as it is written.
func (d *talk) gets(written []byte) {
	d.t.Helper()
	if !d.out.Scan() {
		d.t.Fatalf("nothing is answered, want %s; it says\n%s", written, d.noted)
	}
	if difference := unlike("the answer", valueOf(d.t, written), valueOf(d.t, d.out.Bytes())); difference != "" {
		d.t.Errorf("%s\nwritten %s\ngiven   %s", difference, written, d.out.Bytes())
	}
}

// ends closes the input, and wants nothing more to be said and the program to end well.
func (d *talk) ends() {
	d.t.Helper()
	_ = d.in.Close() // of a program that ended, the status tells
	for d.out.Scan() {
		d.t.Errorf("nobody asked for %s", d.out.Bytes())
	}
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("%v: %s", err, d.noted)
	}
}

func valueOf(t *testing.T, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// unlike says where a value is not the one that is written, or nothing. What is written as
// "…" may be any value, and within a text any part of it.
func unlike(where string, written, given any) string {
	switch w := written.(type) {
	case map[string]any:
		g, ok := given.(map[string]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v", where, given)
		}
		for name := range w {
			value, ok := g[name]
			if !ok {
				return fmt.Sprintf("%s has no %s", where, name)
			}
			if difference := unlike(where+"."+name, w[name], value); difference != "" {
				return difference
			}
		}
		return ""
	case []any:
		g, ok := given.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v", where, given)
		}
		for i := range w {
			if difference := unlike(fmt.Sprintf("%s[%d]", where, i), w[i], g[i]); difference != "" {
				return difference
			}
		}
		return ""
	case string:
		g, isText := given.(string)
		if w == "…" || isText && fits(w, g) {
			return ""
		}
	}
	if written != given {
		return fmt.Sprintf("%s is %q", where, given)
	}
	return ""
}

func fits(written, given string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(written), "…", ".*")
	return regexp.MustCompile(`(?s)\A` + pattern + `\z`).MatchString(given)
}

// What is not as it is written is found.
func TestAnswersAreToldApart(t *testing.T) {
	for _, test := range []struct {
		written, given string
		same           bool
	}{
		{`{"a":[1,"x",null,true]}`, `{"a":[1,"x",null,true]}`, true},
		{`{"a":"…","b":"…"}`, `{"b":{"c":1},"a":[]}`, true},
		{`"a…c…"`, `"a\nb c"`, true},
		{`"a…c"`, `"a\nb"`, false},
		{`"a.c"`, `"abc"`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":"…"}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`[1]`, `[1,2]`, false},
		{`[{"a":null}]`, `[{"a":false}]`, false},
		{`{}`, `[]`, false},
		{`"x"`, `["x"]`, false},
	} {
		difference := unlike("it", valueOf(t, []byte(test.written)), valueOf(t, []byte(test.given)))
		if (difference == "") != test.same {
			t.Errorf("%s and %s: %q", test.written, test.given, difference)
		}
	}
}
