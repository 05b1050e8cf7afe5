package release

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release/releasetest"
)

var here = System{runtime.GOOS, runtime.GOARCH}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func newSigner(t testing.TB) *releasetest.Signer {
	t.Helper()
	s, err := releasetest.NewSigner()
	must(t, err)
	return s
}

func keyOf(t testing.TB, s *releasetest.Signer) *Key {
	t.Helper()
	key, err := ParseKey(s.PublicKey)
	must(t, err)
	return key
}

// take goes the whole way from a source to a program.
func take(ctx context.Context, source Source, c Channel, key *Key) (Version, []byte, error) {
	found, err := source.Newest(ctx, c, here)
	if err != nil {
		return "", nil, err
	}
	verified, err := found.Verify(ctx, key)
	if err != nil {
		return "", nil, err
	}
	program, err := verified.Program(ctx)
	return verified.Version, program, err
}

// serve gives out a folder over TLS, and the source that a product would have of it but for
// the authority it believes.
func serve(t testing.TB, handler http.Handler, below string) *Server {
	t.Helper()
	served := httptest.NewUnstartedServer(handler)
	served.Config.ErrorLog = log.New(testWriter{t}, "", 0)
	served.StartTLS()
	t.Cleanup(served.Close)
	server, err := NewServer(served.URL+below, ServerOptions{Roots: rootsOf(served)})
	must(t, err)
	return server
}

func rootsOf(served *httptest.Server) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(served.Certificate())
	return roots
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(text []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(text))
	return len(text), nil
}

// sources gives the same folder in both ways that there are to come to it.
func sources(t testing.TB, dir, below string) map[string]Source {
	return map[string]Source{
		"folder": Folder(filepath.Join(dir, below)),
		"server": serve(t, http.FileServer(http.Dir(dir)), "/"+below),
	}
}

// point says which release of a channel is the newest.
func point(t testing.TB, dir string, c Channel, version string) {
	t.Helper()
	folder := filepath.Join(dir, string(c))
	must(t, os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "VERSION"), []byte(version+"\n"), 0o644))
}

func TestTheNewestReleaseIsTaken(t *testing.T) {
	s, dir := newSigner(t), t.TempDir()
	for _, version := range []string{"0.9.0", "0.10.0", "0.11.0-beta.2", "0.11.0-beta.10"} {
		must(t, s.Make(filepath.Join(dir, "v"+version), version, releasetest.Script(version)))
	}
	must(t, os.Mkdir(filepath.Join(dir, "v7.0.0"), 0o755), os.Mkdir(filepath.Join(dir, "latest"), 0o755)) // no releases
	point(t, dir, Stable, "0.10.0")
	point(t, dir, Beta, "0.11.0-beta.10")
	for name, source := range sources(t, dir, "") {
		for c, want := range map[Channel]Version{Stable: "0.10.0", Beta: "0.11.0-beta.10"} {
			version, program, err := take(t.Context(), source, c, keyOf(t, s))
			if err != nil || version != want || !bytes.Equal(program, releasetest.Script(string(want))) {
				t.Errorf("%s, %s: %s %q %v", name, c, version, program, err)
			}
		}
	}
}

// A folder that is one release is taken whether its name says the version or not, and with
// both kinds of signatures.
func TestOneReleaseIsTaken(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		s, dir := newSigner(t), t.TempDir()
		s.Legacy = legacy
		for _, folder := range []string{"v1.2.3", "1.2.3", "any"} {
			must(t, s.Make(filepath.Join(dir, folder), "1.2.3", releasetest.Script("1.2.3")))
			for name, source := range sources(t, dir, folder) {
				if version, _, err := take(t.Context(), source, Stable, keyOf(t, s)); err != nil || version != "1.2.3" {
					t.Errorf("%s %s, legacy %v: %s %v", name, folder, legacy, version, err)
				}
				if _, _, err := take(t.Context(), source, Beta, keyOf(t, s)); durward.ReasonOf(err) != durward.ReleaseNotFound {
					t.Errorf("%s %s is no pre-release: %v", name, folder, err)
				}
				if version, _, err := take(t.Context(), source, Stable, nil); err != nil || version != "1.2.3" {
					t.Errorf("%s %s, without a key: %s %v", name, folder, version, err)
				}
			}
		}
	}
}

// A forgery is what somebody does to the folder of release 0.4.0, which an honest signer made.
type forgery struct {
	name string
	do   func(t *testing.T, s *releasetest.Signer, dir string)
	want durward.Reason
	says string
}

func change(file string, with func(string) string) func(*testing.T, *releasetest.Signer, string) {
	return func(t *testing.T, _ *releasetest.Signer, dir string) {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte(with(string(text))), 0o644))
	}
}

func without(file string) func(*testing.T, *releasetest.Signer, string) {
	return func(t *testing.T, _ *releasetest.Signer, dir string) { must(t, os.Remove(filepath.Join(dir, file))) }
}

// signed has the honest signer sign the folder with another comment.
func signed(comment string) func(*testing.T, *releasetest.Signer, string) {
	return func(t *testing.T, s *releasetest.Signer, dir string) { must(t, s.SignFile(dir, comment)) }
}

// packed has the honest signer give out an archive of these entries.
func packed(entries ...releasetest.Entry) func(*testing.T, *releasetest.Signer, string) {
	return func(t *testing.T, s *releasetest.Signer, dir string) {
		archive, err := releasetest.Archive(entries...)
		must(t, err)
		must(t, s.MakeOf(dir, "0.4.0", archive))
	}
}

var program = releasetest.File(here.program(), releasetest.Script("0.4.0"))

func special(kind byte, name string) releasetest.Entry {
	return releasetest.Entry{Header: tar.Header{Name: name, Typeflag: kind, Linkname: "/etc/passwd", Mode: 0o755}}
}

var asset = releasetest.Asset("0.4.0")

var forgeries = []forgery{
	{"another key", func(t *testing.T, _ *releasetest.Signer, dir string) {
		must(t, newSigner(t).Make(dir, "0.4.0", releasetest.Script("0.4.0")))
	}, durward.ReleaseUnverified, "signed with key"},
	{"an old release under a new name", func(t *testing.T, s *releasetest.Signer, dir string) {
		must(t, os.RemoveAll(dir), s.Make(dir, "0.3.0", releasetest.Script("0.3.0")), os.Rename(filepath.Join(dir, releasetest.Asset("0.3.0")), filepath.Join(dir, asset)))
	}, durward.ReleaseUnverified, "named 0.4.0, and signed as 0.3.0"},
	{"an old release with its own names", func(t *testing.T, s *releasetest.Signer, dir string) {
		must(t, os.RemoveAll(dir), s.Make(dir, "0.3.0", releasetest.Script("0.3.0")))
	}, durward.ReleaseUnverified, "named 0.4.0, and signed as 0.3.0"},
	{"a changed asset", change(asset, func(text string) string { return text[:len(text)-1] + "x" }), durward.ReleaseUnverified, "not what SHA256SUMS says"},
	{"a cut asset", change(asset, func(text string) string { return text[:len(text)/2] }), durward.ReleaseUnverified, "not what SHA256SUMS says"},
	{"a longer asset", change(asset, func(text string) string { return text + text }), durward.ReleaseUnverified, "not what SHA256SUMS says"},
	{"no asset", without(asset), durward.ReleaseUnverified, "and there is none"},
	{"changed sums", change(sumsName, func(text string) string { return strings.Repeat("0", 64) + text[64:] }), durward.ReleaseUnverified, "the signature in"},
	{"more sums", change(sumsName, func(text string) string { return text + text }), durward.ReleaseUnverified, "the signature in"},
	{"far too many sums", change(sumsName, func(string) string { return strings.Repeat("x", maxSums+1) }), durward.ReleaseUnverified, "larger"},
	{"no sums", without(sumsName), durward.ReleaseNotFound, ""},
	{"a changed comment", change(signatureName, func(text string) string { return strings.Replace(text, "version:0.4.0", "version:9.9.9", 1) }), durward.ReleaseUnverified, "or that of its trusted comment"},
	{"a changed signature", change(signatureName, func(text string) string { // a character of the signature itself
		i := strings.Index(text, "\n") + 60
		return text[:i] + string('A'+(text[i]+1)%26) + text[i+1:]
	}), durward.ReleaseUnverified, "the signature in"},
	{"the signature of another release", func(t *testing.T, s *releasetest.Signer, dir string) {
		other := t.TempDir()
		must(t, s.Make(other, "0.4.0", releasetest.Script("other")), os.Rename(filepath.Join(other, signatureName), filepath.Join(dir, signatureName)))
	}, durward.ReleaseUnverified, "the signature in"},
	{"no signature", without(signatureName), durward.ReleaseUnverified, "no SHA256SUMS.minisig"},
	{"an empty signature", change(signatureName, func(string) string { return "" }), durward.ReleaseUnverified, "no signature of minisign"},
	{"a signature without end", change(signatureName, func(text string) string { return text + strings.Repeat("\n", maxSignature) }), durward.ReleaseUnverified, "larger"},
	{"a comment without a version", signed("timestamp:1700000000"), durward.ReleaseUnverified, "names 0 versions"},
	{"a comment with two versions", signed("version:0.4.0 version:0.5.0"), durward.ReleaseUnverified, "names 2 versions"},
	{"a comment with another version", signed("version:0.5.0"), durward.ReleaseUnverified, "signed as 0.5.0"},
	{"a comment with no version", signed("version:newest"), durward.ReleaseUnverified, "is no version"},
	{"another system", func(t *testing.T, s *releasetest.Signer, dir string) {
		must(t, os.Rename(filepath.Join(dir, asset), filepath.Join(dir, "durward_0.4.0_plan9_mips.tar.gz")), s.Sign(dir, "version:0.4.0"))
	}, durward.ReleaseNotFound, "nothing for"},
	{"signed sums that are none", func(t *testing.T, s *releasetest.Signer, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, sumsName), []byte("x\n"), 0o644), s.SignFile(dir, "version:0.4.0"))
	}, durward.ReleaseUnverified, "line 1"},

	{"an entry outside", packed(program, releasetest.File("../escaped", nil)), durward.ReleaseUnverified, "leads out"},
	{"an entry outside by a detour", packed(program, releasetest.File("man/../../escaped", nil)), durward.ReleaseUnverified, "leads out"},
	{"an absolute entry", packed(program, releasetest.File("/tmp/escaped", nil)), durward.ReleaseUnverified, "leads out"},
	{"an entry for Windows", packed(program, releasetest.File(`..\escaped`, nil)), durward.ReleaseUnverified, "leads out"},
	{"an entry on a drive", packed(program, releasetest.File(`C:escaped`, nil)), durward.ReleaseUnverified, "leads out"},
	{"a symbolic link", packed(special(tar.TypeSymlink, "durward")), durward.ReleaseUnverified, "no file and no folder"},
	{"a hard link", packed(program, special(tar.TypeLink, "other")), durward.ReleaseUnverified, "no file and no folder"},
	{"a device", packed(program, special(tar.TypeChar, "null")), durward.ReleaseUnverified, "no file and no folder"},
	{"a pipe", packed(program, special(tar.TypeFifo, "pipe")), durward.ReleaseUnverified, "no file and no folder"},
	{"the program twice", packed(program, program), durward.ReleaseUnverified, "twice"},
	{"the program twice to some systems", packed(program, releasetest.File(strings.ToUpper(here.program()), nil)), durward.ReleaseUnverified, "twice"},
	{"rights for whoever runs it", packed(releasetest.Entry{Header: tar.Header{Name: here.program(), Typeflag: tar.TypeReg, Mode: 0o4755}}), durward.ReleaseUnverified, "mode 4755"},
	{"no program", packed(releasetest.File("README.md", nil)), durward.ReleaseUnverified, "holds no"},
	{"a folder for a program", packed(releasetest.Folder(here.program())), durward.ReleaseUnverified, "holds no"},
	{"an empty program", packed(releasetest.File(here.program(), nil)), durward.ReleaseUnverified, "no file of 1 to"},
	{"no archive", func(t *testing.T, s *releasetest.Signer, dir string) {
		must(t, s.MakeOf(dir, "0.4.0", []byte("#!/bin/sh\n")))
	}, durward.ReleaseUnverified, "gzip"},
}

func TestForgeriesAreRefused(t *testing.T) {
	for _, f := range forgeries {
		t.Run(f.name, func(t *testing.T) {
			s, dir := newSigner(t), t.TempDir()
			folder := filepath.Join(dir, "v0.4.0")
			must(t, s.Make(folder, "0.4.0", releasetest.Script("0.4.0")))
			point(t, dir, Stable, "0.4.0")
			f.do(t, s, folder)
			for name, source := range map[string]Source{
				"folder": Folder(dir), "lone folder": Folder(folder), "server": serve(t, http.FileServer(http.Dir(dir)), ""),
			} {
				_, program, err := take(t.Context(), source, Stable, keyOf(t, s))
				if durward.ReasonOf(err) != f.want || !strings.Contains(fmt.Sprint(err), f.says) || program != nil {
					t.Errorf("%s: %v (%s), want %s, %q", name, err, durward.ReasonOf(err), f.want, f.says)
				}
			}
		})
	}
}

// A lone release whose folder says no version is held to the names of its assets.
func TestAnOldReleaseUnderTheNamesOfANewOne(t *testing.T) {
	s, dir := newSigner(t), t.TempDir()
	must(t, s.Make(dir, "0.3.0", releasetest.Script("0.3.0")), os.Rename(filepath.Join(dir, releasetest.Asset("0.3.0")), filepath.Join(dir, asset)))
	_, _, err := take(t.Context(), Folder(dir), Stable, keyOf(t, s))
	if durward.ReasonOf(err) != durward.ReleaseUnverified {
		t.Errorf("%v", err)
	}
}

func TestWhereThereIsNoRelease(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, below := range []string{"", "none", "v1.0.0", "file"} {
		for name, source := range sources(t, dir, below) {
			if _, _, err := take(t.Context(), source, Stable, nil); durward.ReasonOf(err) != durward.ReleaseNotFound {
				t.Errorf("%s %q: %v", name, below, err)
			}
		}
	}
}
