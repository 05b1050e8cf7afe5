package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/cli"
)

var (
	beta   = source{version: "0.4.0-beta.1", time: time.Unix(1_700_000_000, 0).UTC()}
	linux  = target{"linux", "amd64"}
	little = documents{
		license: []byte("license\n"), readme: []byte("# readme\n"), unit: []byte("[Unit]\n"),
		manual:      []file{{name: "durward.1", body: []byte(".TH\n")}, {name: "durward-exec.1", body: []byte(".TH\n")}},
		completions: []file{{name: "durward.bash"}, {name: "_durward"}, {name: "durward.fish"}, {name: "durward.ps1"}},
		scripts:     []file{{name: "prerm", executable: true, body: []byte("#!/bin/sh\n")}},
	}
)

// entries lists a tar as its name, mode, owner and time.
func entries(t *testing.T, text []byte) []string {
	t.Helper()
	var all []string
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %o %d:%d %d", h.Name, h.Mode, h.Uid, h.Gid, h.ModTime.Unix()))
	}
}

func unzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !r.ModTime.IsZero() || r.Name != "" {
		t.Errorf("packed at %s, as %q", r.ModTime, r.Name)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestArchiveHoldsWhatAReleasePromises(t *testing.T) {
	packed, err := archive(target{"windows", "arm64"}, []byte("MZ"), little, beta.time)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"LICENSE 644 0:0 1700000000", "README.md 644 0:0 1700000000",
		"completions/ 755 0:0 1700000000", "completions/_durward 644 0:0 1700000000", "completions/durward.bash 644 0:0 1700000000",
		"completions/durward.fish 644 0:0 1700000000", "completions/durward.ps1 644 0:0 1700000000",
		"durward.exe 755 0:0 1700000000",
		"man/ 755 0:0 1700000000", "man/man1/ 755 0:0 1700000000", "man/man1/durward-exec.1 644 0:0 1700000000", "man/man1/durward.1 644 0:0 1700000000",
	}
	if diff := cmp.Diff(want, entries(t, unzipped(t, packed))); diff != "" {
		t.Error(diff)
	}
}

func TestOrderInWhichFilesComeIsOfNoConsequence(t *testing.T) {
	files := []file{{name: "b/c", body: []byte("1")}, {name: "a", executable: true}, {name: "b/d/e"}}
	one, err := tarOf(withFolders(files), beta.time, "./")
	slices.Reverse(files)
	other, err2 := tarOf(withFolders(files), beta.time, "./")
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, other) {
		t.Errorf("%v\n%q\n%q", err, entries(t, one), entries(t, other))
	}
}

func TestPackagesOfPreReleasesAreOlder(t *testing.T) {
	for version, want := range map[string]string{"0.4.0": "0.4.0", "0.4.0-beta.1": "0.4.0~beta.1", "1.0.0-rc-2.3": "1.0.0~rc.2.3"} {
		if got := packageVersion(version); got != want {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// members gives what an archive of ar holds.
func members(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	rest, is := bytes.CutPrefix(text, []byte("!<arch>\n"))
	if !is {
		t.Fatalf("begins with %q", text[:8])
	}
	for len(rest) > 0 {
		var name, magic string
		var when, uid, gid, mode, size int
		if _, err := fmt.Sscanf(string(rest[:60]), "%s %d %d %d %d %d %s", &name, &when, &uid, &gid, &mode, &size, &magic); err != nil || magic != "`" || when != 1_700_000_000 {
			t.Fatalf("%v: %q", err, rest[:60])
		}
		all[name] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	return all
}

func TestPackageLacksNothing(t *testing.T) {
	without := little
	without.completions = without.completions[1:]
	if _, err := packagedOf(nil, without); err == nil || !strings.Contains(err.Error(), "durward.bash") {
		t.Error(err)
	}
	if _, err := rpm(t.Context(), beta, linux, packaged{}); err == nil || !strings.Contains(err.Error(), "postinst") {
		t.Error(err)
	}
}

func TestDebHasNothingOfTheMachine(t *testing.T) {
	p, err := packagedOf([]byte("program"), little)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := deb(beta, linux, p)
	if err != nil {
		t.Fatal(err)
	}
	all := members(t, packed)
	if string(all["debian-binary"]) != "2.0\n" {
		t.Errorf("form %q", all["debian-binary"])
	}
	control := unzipped(t, all["control.tar.gz"])
	for _, want := range []string{"./ 755 0:0 1700000000", "./control 644 0:0 1700000000", "./md5sums 644 0:0 1700000000", "./prerm 755 0:0 1700000000"} {
		if !slices.Contains(entries(t, control), want) {
			t.Errorf("no %s in %q", want, entries(t, control))
		}
	}
	for _, want := range []string{"Package: durward\nVersion: 0.4.0~beta.1\nArchitecture: amd64\n", "\nInstalled-Size: 7\n", fmt.Sprintf("%x  usr/bin/durward\n", md5.Sum([]byte("program")))} {
		if !bytes.Contains(control, []byte(want)) {
			t.Errorf("no %q in it", want)
		}
	}
	data := entries(t, unzipped(t, all["data.tar.gz"]))
	for _, want := range []string{"./usr/bin/durward 755 0:0 1700000000", "./usr/share/man/man1/durward-exec.1.gz 644 0:0 1700000000", "./usr/lib/systemd/system/ 755 0:0 1700000000"} {
		if !slices.Contains(data, want) {
			t.Errorf("no %s in %q", want, data)
		}
	}
}

func TestImageIsThatOfTheDockerfile(t *testing.T) {
	dockerfile, err := os.ReadFile("../../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := image(beta, linux, []byte("program"), dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if sum, is := strings.CutPrefix(h.Name, "blobs/sha256/"); is && sum != "" && fmt.Sprintf("%x", sha256.Sum256(files[h.Name])) != sum {
			t.Errorf("%s is another", h.Name)
		}
	}
	blob := func(digest string) []byte { return files["blobs/sha256/"+strings.TrimPrefix(digest, "sha256:")] }
	read := func(text []byte, to any) {
		t.Helper()
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
	}
	var index imageIndex
	var manifest imageManifest
	var config imageConfig
	var saved []savedImage
	read(files["index.json"], &index)
	read(blob(index.Manifests[0].Digest), &manifest)
	read(blob(manifest.Config.Digest), &config)
	read(files["manifest.json"], &saved)
	layer := unzipped(t, blob(manifest.Layers[0].Digest))
	if string(digestOf(layer)) != strings.TrimPrefix(config.RootFS.DiffIDs[0], "sha256:") {
		t.Errorf("the layer is not %q", config.RootFS.DiffIDs)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/bin/durward"}) || config.Architecture != "amd64" || config.OS != "linux" ||
		!slices.Equal(config.Config.Env, []string{"PATH=/bin", "SSL_CERT_FILE=/bin/ca-certificates.crt", "DURWARD_STATE_DIR=/var/lib/durward/state", "DURWARD_LISTEN=0.0.0.0:8000"}) {
		t.Errorf("%+v", config)
	}
	if want := "blobs/sha256/" + strings.TrimPrefix(manifest.Config.Digest, "sha256:"); saved[0].Config != want || saved[0].RepoTags[0] != "durward:0.4.0-beta.1" {
		t.Errorf("%+v", saved)
	}
	want := []string{
		"bin/ 755 0:0 1700000000", "bin/ca-certificates.crt 644 0:0 1700000000", "bin/durward 755 0:0 1700000000",
		"var/ 755 0:0 1700000000", "var/lib/ 755 0:0 1700000000", "var/lib/durward/ 755 65532:65532 1700000000", "workspace/ 755 65532:65532 1700000000",
	}
	if diff := cmp.Diff(want, entries(t, layer)); diff != "" {
		t.Error(diff)
	}
}

func TestDockerfileThatIsNotUnderstoodIsRefused(t *testing.T) {
	for _, text := range []string{
		"FROM debian", "COPY a b\nFROM scratch", "FROM scratch\nRUN true", "FROM scratch\nCOPY --from=x a /b", "FROM scratch\nCOPY a", "FROM scratch\nCOPY --chown=me a b",
		"FROM scratch\nENV A=\"b c\"", "FROM scratch\nENTRYPOINT durward",
	} {
		if r, err := parseDockerfile(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	r, err := parseDockerfile("FROM scratch\nCOPY there /\n")
	if files, err2 := r.files(nil); err != nil || err2 == nil {
		t.Errorf("%v; what is not there is %v", err, files)
	}
}

func TestRootsAreCertificates(t *testing.T) {
	if n := bytes.Count(roots(), []byte("-----BEGIN CERTIFICATE-----\n")); n < 100 || !bytes.Equal(roots(), roots()) {
		t.Errorf("%d roots", n)
	}
}

// The test itself is a program of Go's, made of modules.
func TestBillNamesEveryModule(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	once := func() []byte {
		b := bill{version: beta.version, time: beta.time}
		if err := errors.Join(b.add(linux, program), b.add(target{"darwin", "arm64"}, program)); err != nil {
			t.Fatal(err)
		}
		text, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text := once()
	if !bytes.Equal(text, once()) {
		t.Error("another time it is another")
	}
	var d bomDocument
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Format != "CycloneDX" || d.Metadata.Timestamp != "2023-11-14T22:13:20Z" || len(d.Dependencies) != 3 {
		t.Errorf("%s", text)
	}
	refs := map[string]bool{d.Metadata.Component.Ref: true}
	var names []string
	for _, c := range d.Components {
		if refs[c.Ref] {
			t.Errorf("%s stands there twice", c.Ref)
		}
		refs[c.Ref] = true
		names = append(names, c.Name)
	}
	for _, want := range []string{"stdlib", "github.com/spf13/cobra", "aead.dev/minisign", "durward"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %q", want, names)
		}
	}
	for _, use := range d.Dependencies {
		for _, ref := range append(use.DependsOn, use.Ref) {
			if !refs[ref] {
				t.Errorf("nothing is %s", ref)
			}
		}
	}
}

func TestSumsAreSignedWithTheVersion(t *testing.T) {
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	open, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	o := options{keyFile: filepath.Join(t.TempDir(), "key")}
	if err := os.WriteFile(o.keyFile, open, 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := readKeys(o)
	if err != nil || !k.signs || k.public != public.String() {
		t.Fatalf("%v: %+v for %s", err, k, public)
	}
	sums := sumsText(map[string]digest{"b": digestOf(nil), "a": digestOf([]byte("a"))})
	if want := "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"; string(sums) != want {
		t.Errorf("%s", sums)
	}
	signed := k.sign(sums, beta.version, beta.time)
	var signature minisign.Signature
	if err := signature.UnmarshalText(signed); err != nil || !minisign.Verify(public, sums, signed) || !slices.Contains(strings.Fields(signature.TrustedComment), "version:0.4.0-beta.1") {
		t.Errorf("%v: %s", err, signed)
	}
	if again := k.sign(sums, beta.version, beta.time); !bytes.Equal(signed, again) {
		t.Error("another time it is another")
	}
	other, _, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.publicKeyText = other.String()
	if k, err := readKeys(o); err == nil {
		t.Errorf("programs would hold %s, and it is signed with %s", k.public, public)
	}
}

func TestVersions(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	for _, good := range []string{"0.4.0", "v0.4.0", "0.4.0-beta.1", "1.2.3-rc-1.x"} {
		if s, err := lookAtSource(t.Context(), good); err != nil || s.version != strings.TrimPrefix(good, "v") || !s.time.Equal(beta.time) {
			t.Errorf("%s: %+v, %v", good, s, err)
		}
	}
	for _, bad := range []string{"0.4", "01.2.3", "1.2.3+build", "1.2.3-", "1.2.3-01", "1.2.3 x", "../1.2.3"} {
		if s, err := lookAtSource(t.Context(), bad); err == nil {
			t.Errorf("%q is taken as %+v", bad, s)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := lookAtSource(t.Context(), "0.4.0"); err == nil {
		t.Error("a time that is none is taken")
	}
}

func TestOnlyAReleaseIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(mayReplace(filepath.Join(dir, "none")), mayReplace(dir)); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"SHA256SUMS", "durward_0.3.0.cdx.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := mayReplace(dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := mayReplace(dir); err == nil {
		t.Error("what is of no release would be removed")
	}
}

func TestManualHasAPageForEachCommand(t *testing.T) {
	pages := manual(cli.Commands(), beta)
	page := func(name string) string {
		t.Helper()
		f, err := named(pages, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(f.body)
	}
	exec := page("durward-exec.1")
	for _, want := range []string{
		".TH \"DURWARD-EXEC\" 1 \"2023-11-14\" \"durward 0.4.0-beta.1\" \"durward\"\n", "\n.SH NAME\ndurward\\-exec \\- run one command",
		"\n.SH EXAMPLES\n.PP\n.nf\n  durward exec \\-\\- ls \\-l\n", "\n.TP\n\\fB\\-\\-policy\\fR FILE\n", "\n.SH GLOBAL FLAGS\n", "\n.SH SEE ALSO\n\\fBdurward\\fR(1)\n",
	} {
		if !strings.Contains(exec, want) {
			t.Errorf("no %q in\n%s", want, exec)
		}
	}
	for _, name := range []string{"durward.1", "durward-audit.1", "durward-audit-tail.1", "durward-server-add.1"} {
		if page(name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if home := os.Getenv("HOME"); len(home) > len("/root") && strings.Contains(fmt.Sprint(pages), home) {
		t.Error("there is something of this machine in it")
	}
	if got := escaped(`.a \n 'b' ~x`); got != `\&.a \en \(aqb\(aq \(tix` {
		t.Errorf("escaped: %s", got)
	}
}
