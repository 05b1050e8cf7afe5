package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A release is one that is being made.
type release struct {
	source  source
	keys    keys
	targets []target

	dir  string            // what the assets lie in until all are there
	sums map[string]digest // of the assets that are there
}

// make makes the release and puts it in the place of out, which stays as it was until
// then.
func (r *release) make(ctx context.Context, out string) error {
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
	r.dir, r.sums = filepath.Join(work, "assets"), map[string]digest{}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return err
	}
	if err := r.makeAssets(ctx, filepath.Join(work, "programs")); err != nil {
		return err
	}
	if err := r.finish(); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(out), os.Rename(r.dir, out))
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

func (r *release) makeAssets(ctx context.Context, programs string) error {
	common, err := r.commonFiles(ctx)
	if err != nil {
		return err
	}
	parts := bill{version: r.source.version, time: r.source.time}
	for _, t := range r.targets {
		program, err := build(ctx, t, r.source.version, r.keys.public, programs)
		if err != nil {
			return err
		}
		if err := parts.add(t, program); err != nil {
			return err
		}
		if err := r.makeFor(ctx, t, program, common); err != nil {
			return err
		}
	}
	text, err := parts.json()
	if err != nil {
		return err
	}
	return r.put(r.name()+".cdx.json", text)
}

// makeFor makes what there is for one system.
func (r *release) makeFor(ctx context.Context, t target, program []byte, common documents) error {
	p, err := packagedOf(program, common)
	if err != nil {
		return err
	}
	stem := r.name() + "_" + t.String()
	made := []struct {
		ending string
		make   func() ([]byte, error)
	}{
		{".tar.gz", func() ([]byte, error) { return archive(t, program, common, r.source.time) }},
		{".deb", func() ([]byte, error) { return deb(r.source, t, p) }},
		{".rpm", func() ([]byte, error) { return rpm(ctx, r.source, t, p) }},
		{".oci.tar", func() ([]byte, error) { return image(r.source, t, program, common.dockerfile) }},
	}
	if t.os != "linux" {
		made = made[:1]
	}
	for _, m := range made {
		text, err := m.make()
		if err != nil {
			return fmt.Errorf("%s%s: %w", stem, m.ending, err)
		}
		if err := r.put(stem+m.ending, text); err != nil {
			return err
		}
	}
	return nil
}

// name begins the names of all assets.
func (r *release) name() string { return "durward_" + r.source.version }

func (r *release) put(name string, text []byte) error {
	r.sums[name] = digestOf(text)
	return os.WriteFile(filepath.Join(r.dir, name), text, 0o644)
}

// finish writes the sums, and signs them where there is a key.
func (r *release) finish() error {
	sums := sumsText(r.sums)
	err := os.WriteFile(filepath.Join(r.dir, sumsFile), sums, 0o644)
	if err != nil || !r.keys.signs {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, signatureFile), r.keys.sign(sums, r.source.version, r.source.time), 0o644)
}
