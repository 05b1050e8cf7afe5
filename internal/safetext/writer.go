package safetext

import (
	"io"
	"unicode/utf8"
)

// A Writer makes text safe on its way to another writer, by [Output] or [JSON]; where
// Safe is nil it passes text on as it is. A character may come in pieces: what is left of one waits for the rest, or for Flush.
type Writer struct {
	To   io.Writer
	Safe func(string) string

	rest []byte // less than a character
}

// Write takes all of text, or gives the error of the writer behind it.
func (w *Writer) Write(text []byte) (int, error) {
	if w.Safe == nil {
		return w.To.Write(text)
	}
	all := append(w.rest, text...)
	end := len(all) - unfinished(all)
	w.rest = append([]byte(nil), all[end:]...)
	if err := w.put(all[:end]); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes what waits.
func (w *Writer) Flush() error {
	rest := w.rest
	w.rest = nil
	return w.put(rest)
}

func (w *Writer) put(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(w.To, w.Safe(string(text)))
	return err
}

// unfinished counts the bytes at the end that begin a character and do not end it.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
