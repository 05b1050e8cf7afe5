//go:build linux && e2e

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"
)

// A made is a release that a test made.
type made struct {
	dir, version string
	key          minisign.PublicKey
}

// asset gives the path of what the release has for this machine.
func (m made) asset(ending string) string {
	return filepath.Join(m.dir, "durward_"+m.version+"_linux_"+runtime.GOARCH+ending)
}

// makeRelease makes a release for this machine as its maker does: twice, in two places, with
// a key of the test's own.
func makeRelease(t *testing.T, dir string) made {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	open, err := private.MarshalText()
	locked, err2 := minisign.EncryptKey("word", private)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dir, "a", "copy of the source")
	command(t, nil, "sh", "-c", `mkdir -p "$1" && tar -C ../.. --exclude=./.git --exclude=./bin --exclude=./dist -cf - . | tar -C "$1" -xf -`, "sh", elsewhere)
	plant(t, filepath.Join(dir, "password"), "word\n")
	for _, one := range []struct{ source, to, key string }{{"../..", "one", string(locked)}, {elsewhere, "other", string(open)}} {
		key := filepath.Join(dir, one.to+".key")
		plant(t, key, one.key)
		command(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, "make", "-C", one.source, "release", "VERSION=0.4.0-beta.1", "DIST="+filepath.Join(dir, one.to),
			"TARGETS=linux/"+runtime.GOARCH, "RELEASE_KEY="+key, "RELEASE_KEY_PASSWORD_FILE="+filepath.Join(dir, "password"))
	}
	command(t, nil, "diff", "-r", filepath.Join(dir, "one"), filepath.Join(dir, "other"))
	return made{filepath.Join(dir, "one"), "0.4.0-beta.1", public}
}

// What is given out is what the source makes, wherever that lies. Each kind of it is used as
// whoever gets it uses it.
func TestRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := makeRelease(t, dir)
	t.Run("sums", m.sums)
	t.Run("image", m.image)
	root := debianRoot(t)
	t.Run("deb", func(t *testing.T) { m.deb(t, root) })
	t.Run("rpm", func(t *testing.T) { m.rpm(t, root) })
	t.Run("service", func(t *testing.T) { m.service(t, root) }) // the last: the root is others' then
}

func (m made) sums(t *testing.T) {
	command(t, nil, "sh", "-c", `cd "$1" && sha256sum --check --strict SHA256SUMS`, "sh", m.dir)
	text, signed := textOf(t, filepath.Join(m.dir, "SHA256SUMS")), textOf(t, filepath.Join(m.dir, "SHA256SUMS.minisig"))
	if !minisign.Verify(m.key, []byte(text), []byte(signed)) || !strings.Contains(signed, "version:"+m.version+"\n") {
		t.Errorf("it is signed so:\n%s", signed)
	}
	entries, err := os.ReadDir(m.dir)
	if err != nil || len(entries) != strings.Count(text, "\n")+2 {
		t.Errorf("%v: %d files, and these sums:\n%s", err, len(entries), text)
	}
}

// image loads the image into an engine, and compares it with the one that the engine builds.
func (m made) image(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	copyProject(t, project)
	engine := startEngine(t, dir).client
	command(t, engine, "docker", "load", "-i", m.asset(".oci.tar"))
	command(t, engine, "docker", "build", "-q", "-t", "built", "-f", filepath.Join(project, "deploy/Dockerfile"), project)
	var looks [2]string
	for i, name := range []string{"durward:" + m.version, "built"} {
		looks[i] = command(t, engine, "docker", "inspect", "-f", "{{json .Config.User}} {{json .Config.Env}} {{json .Config.Entrypoint}} {{.Architecture}} {{.Os}}", name)
		id := filepath.Join(dir, "id"+strconv.Itoa(i)) // the engine may print warnings beside it
		command(t, engine, "docker", "create", "--cidfile", id, name)
		list := command(t, engine, "sh", "-c", `docker export "$(cat "$1")" | tar -tv --numeric-owner`, "sh", id)
		for _, line := range strings.Split(list, "\n") {
			if f := strings.Fields(line); len(f) == 6 && regexp.MustCompile(`^(bin|var|workspace)/`).MatchString(f[5]) && !strings.HasSuffix(line, ".keep") {
				looks[i] += f[0] + " " + f[1] + " " + f[5] + "\n"
			}
		}
	}
	if diff := cmp.Diff(looks[1], looks[0]); diff != "" || !strings.Contains(looks[0], "65532/65532 workspace/") {
		t.Errorf("built and given out:\n%s\n%s", diff, looks[0])
	}
	if said := command(t, engine, "docker", "run", "--rm", "--network", "none", "durward:"+m.version, "version"); !strings.HasPrefix(said, "durward "+m.version+" ") {
		t.Errorf("it says %s", said)
	}
}

// A chroot is a system of its own in a folder.
type chroot string

// debianRoot makes the smallest Debian that has systemd and man, in memory: on a disk dpkg
// waits for every file.
func debianRoot(t *testing.T) chroot {
	t.Helper()
	root := openDir(t)
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=1g,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	command(t, nil, "debootstrap", "--variant=minbase", "--include=systemd,man-db", "bookworm", root, "http://deb.debian.org/debian")
	return chroot(root)
}

// run runs a line of a shell in the root and gives what it prints; status 0 or it fails.
func (r chroot) run(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("chroot", string(r), "sh", "-ec", line)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// passing are the places where others keep what they make anew: what runs, man's cache, and
// the former lists of users.
var passing = []string{
	"proc", "sys", "dev", "run", "tmp", "var/cache/man", "var/cache/ldconfig", "var/lib/rpm",
	"etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-", "etc/.pwd.lock",
}

// files lists all that the root holds, and what is in it; below /var the logs and lists of
// others grow.
func (r chroot) files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(string(r), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(string(r), path)
		if err != nil {
			return err
		}
		if slices.Contains(passing, name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s %s %d:%d", name, info.Mode(), st.Uid, st.Gid)
		if info.Mode().IsRegular() && !strings.HasPrefix(name, "var/") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// added gives the names of what a list has and another has not; it fails where something is
// gone or has changed.
func added(t *testing.T, before, after []string) []string {
	t.Helper()
	was, is := map[string]bool{}, map[string]bool{}
	for _, line := range before {
		was[line] = true
	}
	var names []string
	for _, line := range after {
		is[line] = true
		if !was[line] {
			name, _, _ := strings.Cut(line, " ")
			names = append(names, name)
		}
	}
	for _, line := range before {
		if !is[line] {
			t.Errorf("another, or gone: %s", line)
		}
	}
	return names
}

// deb installs the package in a clean system, uses what it brings, and removes it.
func (m made) deb(t *testing.T, root chroot) {
	before := root.files(t)
	put(t, m.asset(".deb"), filepath.Join(string(root), "tmp", "durward.deb"))
	root.run(t, "dpkg -i /tmp/durward.deb")
	m.works(t, root)
	for _, line := range []string{
		"dpkg --verify durward",
		"systemd-analyze verify durward@gateway.service durward@hub.service",
		"find /etc/systemd /run/systemd -name '*durward*'", // nothing is to be started
	} {
		if said := root.run(t, line); said != "" {
			t.Errorf("%s:\n%s", line, said)
		}
	}
	root.run(t, "systemctl --quiet enable durward@hub.service; test -L "+enabled)
	root.run(t, "dpkg -r durward; ! getent passwd durward")
	if diff := cmp.Diff([]string{"var/lib/dpkg/info/durward.list", "var/lib/dpkg/info/durward.postrm"}, added(t, before, root.files(t))); diff != "" {
		t.Errorf("removed, it leaves more than dpkg's own note of it:\n%s", diff)
	}
	// Once a service has run there is what is its user's.
	root.run(t, "dpkg -i /tmp/durward.deb; install -d /etc/durward; install -d -o durward -m 700 /var/lib/durward/hub; echo >/etc/durward/hub.env")
	root.run(t, "dpkg -r durward; getent passwd durward; test -e /etc/durward/hub.env; test -d /var/lib/durward/hub")
	root.run(t, "dpkg -P durward")
	if left := added(t, before, root.files(t)); len(left) > 0 {
		t.Errorf("purged, it leaves %q", left)
	}
}

// enabled is what says that a service is to be started.
const enabled = "/etc/systemd/system/multi-user.target.wants/durward@hub.service"

// works uses the program, its manual and its completions where each is looked for.
func (m made) works(t *testing.T, root chroot) {
	t.Helper()
	for line, want := range map[string]string{
		"durward version":                    "durward " + m.version + " ",
		"man -w durward durward-audit-tail":  "/usr/share/man/man1/durward.1.gz\n/usr/share/man/man1/durward-audit-tail.1.gz\n",
		"MANWIDTH=120 man durward-exec":      "run one command",
		"cat /usr/share/doc/durward/LICENSE": "github.com/spf13/cobra is part of the program",
		"bash -c '. /usr/share/bash-completion/completions/durward; complete -p durward'": "__start_durward durward",
		"head -1 /usr/share/zsh/*/_durward":                                               "#compdef durward",
		"durward __complete audit ver":                                                    "verify",
	} {
		if said := root.run(t, line); !strings.Contains(said, want) {
			t.Errorf("%s: no %q in\n%s", line, want, said)
		}
	}
}

// rpm does the same with the other package, as far as a Debian can: it is rpm of outside that
// works on the root.
func (m made) rpm(t *testing.T, root chroot) {
	if said := command(t, nil, "rpm", "-K", m.asset(".rpm")); !strings.HasSuffix(said, "digests OK\n") {
		t.Error(said)
	}
	if said := command(t, nil, "rpm", "-qp", "--qf", "%{name} %{version} %{release} %{arch} %{buildtime} %{license}", m.asset(".rpm")); !strings.Contains(said, "durward 0.4.0~beta.1 1 ") || !strings.HasSuffix(said, " 1700000000 Apache-2.0") {
		t.Error(said)
	}
	before := root.files(t)
	rpm := func(args ...string) string {
		t.Helper()
		return command(t, nil, "rpm", append([]string{"--root", string(root), "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	rpm("-i", "--nodeps", m.asset(".rpm"))
	m.works(t, root)
	if said := rpm("-V", "--nodeps", "durward"); said != "" {
		t.Errorf("installed and packed differ:\n%s", said)
	}
	rpm("-e", "durward")
	if left := added(t, before, root.files(t)); len(left) > 0 {
		t.Errorf("removed, it leaves %q", left)
	}
}

// put copies a file.
func put(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err := errors.Join(err, os.WriteFile(to, text, 0o644)); err != nil {
		t.Fatal(err)
	}
}
