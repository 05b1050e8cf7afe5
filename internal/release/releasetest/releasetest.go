// Package releasetest makes releases for tests, good ones and forged ones.
package releasetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"aead.dev/minisign"
)

// A Signer makes releases and signs them with a key of its own.
type Signer struct {
	private minisign.PrivateKey
	// PublicKey is what minisign would write as minisign.pub.
	PublicKey []byte
	// Legacy has it sign what it signs whole, and not its hash.
	Legacy bool
}

// NewSigner makes a key.
func NewSigner() (*Signer, error) {
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	text, err := public.MarshalText()
	return &Signer{private: private, PublicKey: append(text, '\n')}, err
}

// Make makes the folder of a release for this system, whose archive holds a program and the
// files that stand beside it.
func (s *Signer) Make(dir, version string, program []byte) error {
	archive, err := Archive(File("README.md", []byte("# durward\n")), Folder("man"), File("man/durward.1", []byte(".TH\n")), File(programName(), program))
	if err != nil {
		return err
	}
	return s.MakeOf(dir, version, archive)
}

// MakeOf is Make for any archive.
func (s *Signer) MakeOf(dir, version string, archive []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, Asset(version)), archive, 0o644); err != nil {
		return err
	}
	return s.Sign(dir, "timestamp:1700000000\tfile:SHA256SUMS\tversion:"+version)
}

// Sign writes the sums of all assets in a folder, and their signature.
func (s *Signer) Sign(dir, comment string) error {
	assets, err := filepath.Glob(filepath.Join(dir, "durward_*"))
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, asset := range assets {
		text, err := os.ReadFile(asset)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(asset))
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644), s.SignFile(dir, comment))
}

// SignFile signs SHA256SUMS as it is.
func (s *Signer) SignFile(dir, comment string) error {
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		return err
	}
	const untrusted = "signature of a test"
	var signature []byte
	if s.Legacy {
		signature = minisign.SignWithComments(s.private, sums, comment, untrusted)
	} else {
		reader := minisign.NewReader(bytes.NewReader(sums))
		if _, err := reader.Read(make([]byte, len(sums)+1)); err != nil {
			return err
		}
		signature = reader.SignWithComments(s.private, comment, untrusted)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS.minisig"), signature, 0o644)
}

// Asset is the name of the archive for this system.
func Asset(version string) string {
	return fmt.Sprintf("durward_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
}

func programName() string {
	if runtime.GOOS == "windows" {
		return "durward.exe"
	}
	return "durward"
}

// Script is a program that can do nothing but say its version.
func Script(version string) []byte {
	return []byte("#!/bin/sh\necho '{\"data\":{\"version\":\"" + version + "\"}}'\n")
}

// An Entry is one of an archive.
type Entry struct {
	tar.Header
	Body []byte
}

// File is an entry that is a plain file.
func File(name string, body []byte) Entry {
	return Entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(body))}, body}
}

// Folder is an entry that is a folder.
func Folder(name string) Entry {
	return Entry{tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil}
}

// Archive packs entries as they are.
func Archive(entries ...Entry) ([]byte, error) {
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	tarred := tar.NewWriter(zipped)
	for _, e := range entries {
		if err := tarred.WriteHeader(&e.Header); err != nil {
			return nil, err
		}
		if _, err := tarred.Write(e.Body); err != nil {
			return nil, err
		}
	}
	err := errors.Join(tarred.Close(), zipped.Close())
	return archive.Bytes(), err
}
