//go:build unix

package execserver_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/durward/durward/internal/cli"
)

// TestMain makes the test binary the program under its name, and wants no goroutine of the
// tests to be left.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"durward": durward, "leads": leads})
}

func durward() {
	os.Exit(cli.Main(context.Background(), "test", os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// leads is a program that tells what it leads.
func leads() {
	what := "nothing"
	if unix.Getpgrp() == os.Getpid() {
		what = "its group"
	}
	if session, _ := unix.Getsid(0); session == os.Getpid() {
		what += " and its session"
	}
	fmt.Printf("leads %s, with %s\n", what, os.Environ())
}

type leakChecked struct{ *testing.M }

func (l leakChecked) Run() int {
	code := l.M.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}
