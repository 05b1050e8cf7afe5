package main

import (
	"bufio"
	"bytes"
	"io"
)

// undiscovered gives the lines of a client with its questions for what a server of the newer era is
// turned into such that no server knows.
func undiscovered(in io.Reader) io.Reader {
	out, write := io.Pipe()
	go func() { // it ends with the program
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if _, broken := write.Write(bytes.ReplaceAll(line, []byte(`"server/discover"`), []byte(`"server/unknown"`))); broken != nil {
				return
			}
			if err != nil {
				write.CloseWithError(err)
				return
			}
		}
	}()
	return out
}
