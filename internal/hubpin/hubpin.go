// Package hubpin keeps what MCP servers said of their tools when somebody approved them.
//
// A configuration holds a tool to a digest of its name, its description and the schema of its
// arguments. The texts behind a digest are kept here, one file for each, so that what a server
// says later can be laid beside them:
//
//	pins/3b1f….json   {"name":"read_file","description":"…","inputSchema":{…}}
//
// A file that is not what its name says is taken for one that is not there.
package hubpin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/smallfile"
)

// A Text is what a caller would go by.
type Text struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// maxBytes is far beyond the text of any tool: a server's message has to hold it.
const maxBytes = 64 << 20

const scheme = "sha256:"

// Digest gives "sha256:" and the digest of a text. White space and the order of members in the
// schema do not count.
func Digest(t Text) string {
	text := jsonx.AppendString([]byte{'['}, t.Name)
	text = jsonx.AppendString(append(text, ','), t.Description)
	text = append(text, ',')
	if len(t.InputSchema) == 0 {
		text = append(text, "null"...)
	}
	text = append(append(text, t.InputSchema...), ']')
	if canonical, err := jsonx.Canonical(text); err == nil {
		text = canonical
	}
	sum := sha256.Sum256(text)
	return scheme + hex.EncodeToString(sum[:])
}

// A Store is a folder of texts. It is safe for concurrent use, also by several programs.
type Store struct{ Dir string }

// Keep keeps a text. The folder and its files are for this user alone.
func (s Store) Keep(t Text) error {
	file, err := s.file(Digest(t))
	if err != nil {
		return err
	}
	if _, known := s.Text(Digest(t)); known {
		return nil
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is not what its name says
		return err
	}
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := replace.First(file, append(line, '\n')); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // somebody kept the same at this moment
}

// Text gives the text behind a digest, if it is kept.
func (s Store) Text(digest string) (t Text, known bool) {
	file, err := s.file(digest)
	if err != nil {
		return t, false
	}
	line, err := smallfile.Read(file, maxBytes, nil)
	if err != nil || json.Unmarshal(line, &t) != nil || Digest(t) != digest {
		return Text{}, false
	}
	return t, true
}

func (s Store) file(digest string) (string, error) {
	digits, ok := strings.CutPrefix(digest, scheme)
	if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("%.80q is no digest", digest)
	}
	return filepath.Join(s.Dir, strings.ToLower(digits)+".json"), nil
}
