//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"os"
)

func output() map[string]attempt {
	return map[string]attempt{
		// print KIND writes something odd and nothing else.
		"print": func(a []string) (string, error) {
			_, err := os.Stdout.Write(odd(a[0]))
			if err != nil {
				os.Exit(1)
			}
			os.Exit(0)
			return "", nil
		},
		// flood BYTES writes zeros to both streams in turn.
		"flood": func(a []string) (string, error) {
			block := make([]byte, 64<<10)
			for n := 0; n < number(a[0]); n += 2 * len(block) {
				for _, f := range []*os.File{os.Stdout, os.Stderr} {
					if _, err := f.Write(block); err != nil {
						os.Exit(1)
					}
				}
			}
			os.Exit(0)
			return "", nil
		},
	}
}

func odd(kind string) []byte {
	switch kind {
	case "line":
		return bytes.Repeat([]byte("x"), 300_000)
	case "bytes":
		var all []byte
		for i := range 1 << 12 {
			all = append(all, byte(i), byte(i>>4))
		}
		return all
	case "escapes":
		return []byte("\x1b]0;title\x07\x1b]52;c;cm0gLXJmIC8=\x07\x1b[2J\x1b[1;1H\x1b]8;;https://evil.test\x1b\\link\x1b]8;;\x1b\\\u009b31m\x9b31m\u202egnp.exe\r\n\x07\x08done\n")
	}
	return nil
}
