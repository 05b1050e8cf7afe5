// Command durward runs the commands that agents ask for, under one policy.
package main

import (
	"context"
	"os"

	"github.com/durward/durward/internal/cli"
)

// version is set when a release is linked.
var version = "dev"

func main() {
	os.Exit(cli.Main(context.Background(), version, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
