package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A trustError says why a file is not to be obeyed, and what to type.
type trustError struct{ why, fix string }

func (e *trustError) Error() string { return e.why + "; " + e.fix }

// readTrusted is readBounded for a file that only root or this user could have put
// there: it belongs to one of them, as does the folder it lies in, and nobody else may
// write to either. In a folder like /tmp nobody can take the place of another's file.
func (p *program) readTrusted(file string, most int64, wait time.Duration) ([]byte, error) {
	if err := p.trustPlace(file); err != nil {
		return nil, err
	}
	return readJudged(file, most, wait, func(info fs.FileInfo) error { return p.untrusted(file, info) })
}

// trustPlace looks at the folder of a file, and at that of the file a link leads to.
func (p *program) trustPlace(file string) error {
	file = absolute(file, p.dir)
	places := []string{filepath.Dir(file)}
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Dir(real) != places[0] {
		places = append(places, filepath.Dir(real)) // a pipe without a name lies nowhere
	}
	for _, dir := range places {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if err := p.untrusted(dir, info); err != nil {
			return err
		}
	}
	return nil
}

// nothingAt reports whether a file is missing and nothing stands in its place. A link
// that leads nowhere is something.
func nothingAt(file string) (bool, error) {
	for at := file; ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if errors.Is(err, os.ErrNotExist) && filepath.Dir(at) != at {
			continue
		}
		if err != nil {
			return false, err
		}
		if _, err = os.Stat(at); errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("%s is a symbolic link that leads nowhere", at)
		}
		return at != file, err
	}
}

// shellWord makes text one word of a shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// shellPath makes a path one word of a shell that no program takes for a flag.
func shellPath(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return shellWord(path)
}
