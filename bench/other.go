//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: commands run on Linux only, so there is nothing to measure here")
	os.Exit(1)
}
