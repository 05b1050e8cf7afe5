//go:build linux || darwin

package content

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A seal takes in the pages that their user cannot write, and knows the other ones.
func TestSeal(t *testing.T) {
	root := tree(
		t, "README.md", "all.md", "docs/a.md", "nobody's/a.md", "linked.md -> docs/a.md", "loose.md -> all.md", "text.md -> data.txt", "data.txt", ".b.md", "out.md -> /etc/passwd",
	)
	if err := os.Chmod(filepath.Join(root, "all.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	l := open(t, root)
	all := []string{"README.md", "all.md", "docs/a.md", "linked.md", "loose.md", "nobody's/a.md", "text.md"}
	for name, test := range map[string]struct {
		user           User
		held, unsealed []string
	}{
		"another user": {another(), []string{"README.md", "docs/a.md", "linked.md", "text.md"}, []string{"all.md", "loose.md", "nobody's/a.md"}},
		"the owner":    {User{UID: uint32(os.Geteuid())}, nil, all},
		"root":         {User{}, nil, all},
	} {
		s, err := l.Seal(t.Context(), func(dir string) (User, error) {
			if filepath.Base(dir) == "nobody's" {
				return User{}, errors.New("nobody knows")
			}
			return test.user, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := held(t, l, s); !slices.Equal(got, test.held) {
			t.Errorf("%s: %q are held, want %q", name, got, test.held)
		}
		if got := slices.Collect(s.Unsealed()); !slices.Equal(got, test.unsealed) {
			t.Errorf("%s: %q are unsealed, want %q", name, got, test.unsealed)
		}
	}
}

// another is a user who owns nothing of what a test makes.
func another() User { return User{UID: uint32(os.Geteuid()) + 1} }

// held gives the files that a seal holds.
func held(t *testing.T, l *Local, s *Seal) (held []string) {
	t.Helper()
	paths, err := l.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		c, err := l.Resolve(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Holds(c) {
			held = append(held, path)
		}
		c.Body.Close()
	}
	return held
}

// A page that moved out of the site while it was open is not of the site.
func TestASealHoldsNothingThatLeft(t *testing.T) {
	parent := tree(t, "site/a.md", "other/")
	l := open(t, parent+"/site")
	s, err := l.Seal(t.Context(), func(string) (User, error) { return another(), nil })
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Resolve(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Body.Close()
	if !s.Holds(c) {
		t.Fatal("it is not held where it was")
	}
	if err := os.Rename(parent+"/site/a.md", parent+"/other/a.md"); err != nil {
		t.Fatal(err)
	}
	if s.Holds(c) {
		t.Error("it is held elsewhere")
	}
}

func TestSealEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, tree(t, "a.md")).Seal(ended, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
