//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/durward/durward/internal/release/releasetest"
)

// An owner is somebody with an empty home and releases as they are given out, each signed with
// the key that the programs in them have built in.
type owner struct {
	t        *testing.T
	dir, bin string
}

func newOwner(t *testing.T, versions ...string) owner {
	t.Helper()
	o := owner{t: t, dir: openDir(t)}
	o.bin = filepath.Join(o.dir, "home/.local/share/durward/bin")
	_, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "downloads", "releases"} {
		if err := os.Mkdir(filepath.Join(o.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(o.dir, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		command(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "make", "-C", "../..", "release", "VERSION="+version, "RELEASE_KEY="+filepath.Join(o.dir, "key"),
			"DIST="+filepath.Join(o.dir, "releases/v"+version), "TARGETS=linux/"+runtime.GOARCH)
	}
	return o
}

// types has them type a line of a shell, and wants a status.
func (o owner) types(status int, line string) string {
	o.t.Helper()
	c := exec.CommandContext(o.t.Context(), "sh", "-ec", line)
	c.Dir = o.dir
	c.Env = []string{"PATH=" + o.bin + ":/usr/bin:/bin", "HOME=" + filepath.Join(o.dir, "home")}
	out, _ := c.CombinedOutput()
	if got := c.ProcessState.ExitCode(); got != status {
		o.t.Fatalf("%s: exit status %d, want %d\n%s", line, got, status, out)
	}
	return string(out)
}

// has wants the program that is installed to be of a version, and nothing unfinished beside it.
func (o owner) has(version string) {
	o.t.Helper()
	if said := o.types(0, "durward version"); !strings.HasPrefix(said, "durward "+version+" ") {
		o.t.Errorf("installed is %s, want %s", said, version)
	}
	if hidden := o.types(0, `ls -A "`+o.bin+`" | grep '^\.' || :`); hidden != "" {
		o.t.Errorf("there is %s", hidden)
	}
}

// The road that people go: they unpack an archive, have it install itself, and from there on the
// program updates itself, goes back, and returns.
func TestTheProgramUpdatesItself(t *testing.T) {
	t.Parallel()
	o := newOwner(t, "0.3.0", "0.4.0")
	o.types(0, `cd downloads; cp ../releases/v0.3.0/SHA256SUMS* ../releases/v0.3.0/durward_*.tar.gz .; tar -xzf durward_*.tar.gz durward; ./durward install --local-path .; rm durward; cd ..`)
	o.has("0.3.0")
	o.types(0, "durward policy validate; durward links .; test $(readlink mdmcpcfg) = "+o.bin+"/durward")
	o.types(0, "durward update --local-path releases")
	o.has("0.4.0")
	o.types(0, "durward update --local-path releases | grep already; ./mdmcpcfg policy validate --policy ~/.config/durward/policy.yaml")
	for _, version := range []string{"0.3.0", "0.4.0"} {
		o.types(0, "./mdmcpcfg update --rollback")
		o.has(version)
	}
	o.types(0, ": >"+o.bin+"/durward; durward.previous update --rollback")
	o.has("0.3.0")
	o.types(0, "durward update --local-path releases")
	o.isNotFooled()
	o.takesTurns()
	o.types(0, "durward update --rollback; durward update --local-path releases")
	o.has("0.4.0")
}

// isNotFooled has the installed program meet what others made of the releases.
func (o owner) isNotFooled() {
	o.t.Helper()
	before := o.types(0, "cd "+o.bin+"; sha256sum *; cd; sha256sum .config/durward/policy.yaml")
	signer, err := releasetest.NewSigner()
	if err != nil {
		o.t.Fatal(err)
	}
	if err := signer.Make(filepath.Join(o.dir, "forged/key/v9.0.0"), "9.0.0", releasetest.Script("9.0.0")); err != nil {
		o.t.Fatal(err)
	}
	o.types(0, `mkdir -p forged/replayed forged/asset/v9.0.0 forged/sums/v9.0.0
cp -r releases/v0.3.0 forged/replayed/v9.0.0
cp -r releases/v0.4.0/* forged/asset/v9.0.0; printf x | tee -a forged/asset/v9.0.0/durward_*.tar.gz
cp -r releases/v0.4.0/* forged/sums/v9.0.0; sed -i s/0.4.0/9.0.0/ forged/sums/v9.0.0/SHA256SUMS`)
	for _, name := range []string{"key", "replayed", "asset", "sums"} {
		o.types(4, "durward update --local-path forged/"+name)
		o.types(4, "durward install --force --local-path forged/"+name)
	}
	o.types(1, "durward update --local-path releases/v0.3.0")
	if after := o.types(0, "cd "+o.bin+"; sha256sum *; cd; sha256sum .config/durward/policy.yaml"); after != before {
		o.t.Errorf("it was\n%sand is\n%s", before, after)
	}
	o.has("0.4.0")
}

// takesTurns has several updates go on at once: each ends well or says that another one goes on.
func (o owner) takesTurns() {
	o.t.Helper()
	said := o.types(0, `for i in 1 2 3 4; do { durward update --force --local-path releases/v0.4.0 2>&1 || test $? = 1; } >said$i & done; wait; cat said?`)
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "updated ") && !strings.HasPrefix(line, "  ") && !strings.Contains(line, "DWD-RELEASE-007") {
			o.t.Errorf("somebody was told %q", line)
		}
	}
	if !strings.Contains(said, "updated ") {
		o.t.Errorf("nobody updated: %s", said)
	}
	o.has("0.4.0")
}
