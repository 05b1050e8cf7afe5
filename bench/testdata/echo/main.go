// Command echo answers each line of its input with the same line: its argument. With the names of
// two more it does, for each, what a call that reads a file cannot do without: it writes a record
// of what it is about to do, reads the file, and records what came of it.
//
//	printf 'a\nb\n' | echo LINE [FILE RECORDS]
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

// What the two records of reading a short file take.
const (
	intentBytes  = 800
	outcomeBytes = 1100
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	answer, file, records := []byte(args[0]+"\n"), "", io.Discard
	if len(args) > 1 {
		f, err := os.OpenFile(args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		file, records = args[1], f
	}
	for in := bufio.NewReader(os.Stdin); ; {
		if _, err := in.ReadString('\n'); err != nil {
			return nil
		}
		if file != "" {
			if err := read(file, records); err != nil {
				return err
			}
		}
		if _, err := os.Stdout.Write(answer); err != nil {
			return err
		}
	}
}

// read is the work of a call without its checks.
func read(file string, records io.Writer) error {
	if err := record(records, intentBytes, nil); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return record(records, outcomeBytes, content)
}

// record writes a line of so many bytes that begins with the hash of what it is about.
func record(to io.Writer, size int, about []byte) error {
	line := fmt.Appendf(nil, "%x", sha256.Sum256(about))
	line = append(line, bytes.Repeat([]byte{'x'}, size-len(line)-1)...)
	_, err := to.Write(append(line, '\n'))
	return err
}
