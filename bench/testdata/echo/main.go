// Command echo answers each line of its input with the same line: its argument.
//
//	printf 'a\nb\n' | echo LINE
package main

import (
	"bufio"
	"os"
)

func main() {
	answer := []byte(os.Args[1] + "\n")
	for in := bufio.NewReader(os.Stdin); ; {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		if _, err := os.Stdout.Write(answer); err != nil {
			os.Exit(1)
		}
	}
}
