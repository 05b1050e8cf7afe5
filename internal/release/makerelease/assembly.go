package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An assembly is a release that is being made.
type assembly struct {
	source  source
	keys    keys
	targets []target

	dir  string            // what the assets lie in until all are there
	sums map[string]digest // of the assets that are there
}

// make makes the release and puts it in the place of out, which stays as it was until
// then.
func (a *assembly) make(ctx context.Context, out string) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := mayReplace(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(out), ".release-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	a.dir, a.sums = filepath.Join(work, "assets"), map[string]digest{}
	if err := os.Mkdir(a.dir, 0o755); err != nil {
		return err
	}
	if err := a.makeAssets(ctx, filepath.Join(work, "programs")); err != nil {
		return err
	}
	if err := a.finish(); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(out), os.Rename(a.dir, out))
}

// mayReplace refuses a folder that holds anything but a release.
func mayReplace(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasPrefix(e.Name(), "durward_") && e.Name() != sumsFile && e.Name() != signatureFile {
			return fmt.Errorf("%s holds %s, which is of no release: name another folder with DIST", dir, e.Name())
		}
	}
	return nil
}

func (a *assembly) makeAssets(ctx context.Context, programs string) error {
	common, err := a.commonFiles(ctx)
	if err != nil {
		return err
	}
	parts := bill{version: a.source.version, time: a.source.time}
	for _, t := range a.targets {
		program, err := build(ctx, t, a.source.version, a.keys.public, programs)
		if err != nil {
			return err
		}
		if err := parts.add(t, program); err != nil {
			return err
		}
		if err := a.makeFor(ctx, t, program, common); err != nil {
			return err
		}
	}
	text, err := parts.json()
	if err != nil {
		return err
	}
	return a.put(a.name()+".cdx.json", text)
}

// makeFor makes what there is for one system.
func (a *assembly) makeFor(ctx context.Context, t target, program []byte, common documents) error {
	p, err := packagedOf(program, common)
	if err != nil {
		return err
	}
	stem := a.name() + "_" + t.String()
	made := []struct {
		ending string
		make   func() ([]byte, error)
	}{
		{".tar.gz", func() ([]byte, error) { return archive(t, program, common, a.source.time) }},
		{".deb", func() ([]byte, error) { return deb(a.source, t, p) }},
		{".rpm", func() ([]byte, error) { return rpm(ctx, a.source, t, p) }},
		{".oci.tar", func() ([]byte, error) { return image(a.source, t, program, common.dockerfile) }},
	}
	if t.os != "linux" {
		made = made[:1]
	}
	for _, m := range made {
		text, err := m.make()
		if err != nil {
			return fmt.Errorf("%s%s: %w", stem, m.ending, err)
		}
		if err := a.put(stem+m.ending, text); err != nil {
			return err
		}
	}
	return nil
}

// name begins the names of all assets.
func (a *assembly) name() string { return "durward_" + a.source.version }

func (a *assembly) put(name string, text []byte) error {
	a.sums[name] = digestOf(text)
	return os.WriteFile(filepath.Join(a.dir, name), text, 0o644)
}

// finish writes the sums, and signs them where there is a key.
func (a *assembly) finish() error {
	sums := sumsText(a.sums)
	err := os.WriteFile(filepath.Join(a.dir, sumsFile), sums, 0o644)
	if err != nil || !a.keys.signs {
		return err
	}
	return os.WriteFile(filepath.Join(a.dir, signatureFile), a.keys.sign(sums, a.source.version, a.source.time), 0o644)
}
