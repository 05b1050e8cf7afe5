//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/sandbox/confined"
)

// files compares reading 4 KiB as a file operation with a plain open, read and close, and
// on a restricted thread with a bare spawn.
func files(rounds int, quick bool) error {
	spawn, done, err := newSpawner()
	if err != nil {
		return err
	}
	defer done()
	dir := filepath.Dir(spawn.nop)
	path := filepath.Join(dir, "sub", "4k")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, 4096), 0o644)); err != nil {
		return err
	}
	root, err := fsroot.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	keeper := confined.New()
	defer keeper.Close()
	plain, judged, err := accesses(keeper, dir)
	if err != nil {
		return err
	}
	reader := reader{root: root, name: "sub/4k", buf: make([]byte, 4096)}
	m, err := interleaved(10*rounds,
		func() error { return reader.plain(path) },
		reader.contained,
	)
	if err != nil {
		return err
	}
	report("file read of 4 KiB, contained open and descriptor checks", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "<= 3 x")
	if m, err = interleaved(rounds, spawn.bare, func() error { return reader.confined(plain) }, func() error { return reader.confined(judged) }); err != nil {
		return err
	}
	report("the same, on a restricted thread, to a bare spawn", micros(m[0]), micros(m[1])+" = "+ratio(m[1], m[0]), "< 1 x")
	report("the same, with a denied path to be judged", micros(m[0]), micros(m[2])+" = "+ratio(m[2], m[0]), "< 1 x")
	return nil
}

// accesses gives the operations of the built-in policy in a folder, and with a path in it
// denied besides.
func accesses(k *confined.Keeper, dir string) (plain, judged *confined.Access, err error) {
	p, err := policy.Default(machine.Host(dir), policy.Flags{})
	if err != nil {
		return nil, nil, err
	}
	g := p.Grant()
	if plain, err = k.Under(g); err != nil {
		return nil, nil, err
	}
	g.Files.Deny = append(slices.Clip(g.Files.Deny), filepath.Join(dir, ".env"))
	judged, err = k.Under(g)
	return plain, judged, err
}

// A reader reads one small file.
type reader struct {
	root *fsroot.Root
	name string
	buf  []byte
}

// plain is the floor: an open, a read and a close of package os.
func (r reader) plain(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return r.finish(f)
}

func (r reader) contained() error {
	f, err := r.root.OpenFile(r.name, fsroot.Rules{})
	if err != nil {
		return err
	}
	return r.finish(f)
}

func (r reader) confined(a *confined.Access) error {
	f, err := a.OpenFile(context.Background(), r.root, r.name, fsroot.Rules{})
	if err != nil {
		return err
	}
	return r.finish(f)
}

func (r reader) finish(f io.ReadCloser) error {
	_, err := io.ReadFull(f, r.buf)
	return errors.Join(err, f.Close())
}
