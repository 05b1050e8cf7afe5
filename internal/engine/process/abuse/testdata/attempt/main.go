//go:build linux && (amd64 || arm64)

// Go's runtime would keep files of its cgroup open.
//go:debug containermaxprocs=0

// Command attempt makes one attempt to get out of a sandbox, and says on a line of JSON
// what became of it.
//
//	attempt read /etc/shadow
//	{"try":"read /etc/shadow","err":"EACCES"}
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// An answer is what became of an attempt: Got without Err means that it got through.
type answer struct {
	Try string `json:"try"`
	// Err is the name of the error, "EPERM".
	Err string `json:"err,omitempty"`
	Got string `json:"got,omitempty"`
}

// An attempt gives what it got.
type attempt func(args []string) (string, error)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attempt NAME [ARGUMENT…]")
		os.Exit(2)
	}
	name, args := os.Args[1], os.Args[2:]
	try, ok := attempts()[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such attempt:", name)
		os.Exit(2)
	}
	a := answer{Try: strings.Join(os.Args[1:], " ")}
	got, err := try(args)
	a.Got, a.Err = got, nameOf(err)
	line, err := json.Marshal(a)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", line)
}

func attempts() map[string]attempt {
	all := map[string]attempt{}
	for _, some := range []map[string]attempt{
		files(), metadata(), kernel(), sockets(), processes(), self(), limits(), output(), shared(), here(), wayOut(),
	} {
		maps.Copy(all, some)
	}
	return all
}

func nameOf(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno) && unix.ErrnoName(errno) != "":
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// alone makes an attempt of what gives nothing but an error.
func alone(try func(args []string) error) attempt {
	return func(args []string) (string, error) { return "", try(args) }
}

// raw makes a system call.
func raw(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// number reads a decimal, octal (0…) or hexadecimal (0x…) argument.
func number(text string) int {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return int(n)
}
