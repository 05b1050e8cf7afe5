//go:build linux && e2e

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const databasePage = `---
tools:
  - [psql, -X, -h, {}, -p, {}, -U, postgres, -d, postgres, -Atc, {regex: "^SELECT [^;]*$"}]
---
# Ask the database
`

// A page asks a database that the site may reach, by its address and by its name, through
// the database's own client, which knows no proxy. It reaches no other, and where the
// server does not let it out, none: the database hears nothing of it.
func TestAPageAsksADatabase(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	program, hosts := buildProgram(t), filepath.Join(dir, "hosts")
	plant(t, hosts, "127.0.0.1 localhost db.test\n")
	db := startDatabase(t, dir)
	pages := filepath.Join(dir, "pages")
	plant(t, filepath.Join(pages, "README.md"), databasePage)
	address := "127.0.0.1:" + db.port
	config := siteConfig(t, dir, "")
	const query = "SELECT 6 * 7"

	t.Run("its address is allowed", func(t *testing.T) {
		s := startSite(t, program, pages, "", "--config", config, "--allow-net", address)
		db.hears(t, 1, func() { s.answers(t, "127.0.0.1", db.port, query, "42\n") })
		db.hears(t, 1, func() {
			s.answers(t, "127.0.0.1", db.port, "SELECT repeat('x', 700000)", strings.Repeat("x", 700000)+"\n")
		})
		db.hears(t, 0, func() {
			s.fails(t, "127.0.0.2", db.port)
			s.fails(t, "localhost", freePort(t))
			s.fails(t, "db.test", db.port)
		})
	})
	t.Run("another port is allowed", func(t *testing.T) {
		s := startSite(t, program, pages, "", "--config", config, "--allow-net", "127.0.0.1:"+freePort(t))
		db.hears(t, 0, func() { s.fails(t, "127.0.0.1", db.port) })
	})
	t.Run("nothing is allowed", func(t *testing.T) {
		s := startSite(t, program, pages, "", "--config", config)
		db.hears(t, 0, func() { s.fails(t, "127.0.0.1", db.port) })
	})
	t.Run("its name is allowed", func(t *testing.T) {
		s := startSite(t, program, pages, hosts, "--config", config, "--allow-net", "db.test:"+db.port)
		db.hears(t, 0, func() { s.fails(t, "db.test", db.port) }) // it leads to a private address
	})
	t.Run("its name and its private address are allowed", func(t *testing.T) {
		config := siteConfig(t, dir, fmt.Sprintf("[sandbox]\nmode = \"read-only\"\n[sandbox.network]\nmode = \"allowlist\"\nallow = [\"db.test:%s\"]\nallowPrivate = [\"127.0.0.1/32\"]\n", db.port))
		s := startSite(t, program, pages, hosts, "--config", config)
		db.hears(t, 1, func() { s.answers(t, "db.test", db.port, query, "42\n") })
		db.hears(t, 0, func() { s.fails(t, "127.0.0.1", db.port) })
	})
}

// siteConfig makes a configuration in which psql is the program itself: the one that Debian
// puts first is a script, which has to know by what name it was called.
func siteConfig(t *testing.T, dir, more string) string {
	t.Helper()
	path := filepath.Join(dir, "site.toml")
	plant(t, path, fmt.Sprintf("path = %q\n", filepath.Dir(installed(t, "psql")))+more)
	return path
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// A log is what a program prints.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer  // guarded by mu
	more chan struct{} // has one when there is more
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until something was printed and gives its first group.
func (l *log) await(t *testing.T, pattern string) string {
	t.Helper()
	late := time.After(20 * time.Second)
	for re := regexp.MustCompile(pattern); ; {
		if found := re.FindStringSubmatch(l.String()); found != nil {
			return found[len(found)-1]
		}
		select {
		case <-l.more:
		case <-late:
			t.Fatalf("no %s in:\n%s", pattern, l)
		}
	}
}

// runProgram starts a program that ends by a signal when the test does.
func runProgram(t *testing.T, c *exec.Cmd, end syscall.Signal) *log {
	t.Helper()
	l := &log{more: make(chan struct{}, 1)}
	c.Stdout, c.Stderr = l, l
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(end)
		_ = c.Wait() // it was told to end
	})
	return l
}

// A database is a PostgreSQL of the test's own, which says who connects.
type database struct {
	port string
	log  *log
}

// installed gives the path of a program of PostgreSQL.
func installed(t *testing.T, name string) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 { // where Debian has them
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func startDatabase(t *testing.T, dir string) database {
	t.Helper()
	data, port := filepath.Join(dir, "data"), freePort(t)
	who := unprivileged(t)
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if who != nil {
		if err := os.Chown(data, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	start := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(installed(t, name), args...)
		c.Dir, c.Env = "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		return c
	}
	if out, err := start("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := start("postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1,127.0.0.2", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "log_connections=on")
	db := database{port, runProgram(t, server, syscall.SIGINT)}
	db.log.await(t, "database system is ready to accept connections")
	return db
}

// unprivileged is whom root has the database run as; nil for everybody else.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// hears asks that so many connections came meanwhile. The test makes one afterwards: who
// came before is in the log by then.
func (db database) hears(t *testing.T, want int, meanwhile func()) {
	t.Helper()
	received := func() int { return strings.Count(db.log.String(), "connection received") }
	before := received()
	meanwhile()
	conn, err := net.Dial("tcp", "127.0.0.1:"+db.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	own := conn.LocalAddr().(*net.TCPAddr).Port
	db.log.await(t, fmt.Sprintf("connection received: host=127.0.0.1 port=%d\n", own))
	if got := received() - before - 1; got != want {
		t.Errorf("the database was connected to %d times; want %d", got, want)
	}
}

// A served site is at a URL.
type served struct{ url string }

// startSite serves pages by a program that has the file hosts, if one is named, as /etc/hosts.
func startSite(t *testing.T, program, pages, hosts string, args ...string) served {
	t.Helper()
	c := exec.Command("sh", append([]string{
		"-c", `test -z "$0" || mount --bind "$0" /etc/hosts || exit; exec "$@"`,
		hosts, program, "serve", pages, "-p", "0",
	}, args...)...)
	c.Env = append(os.Environ(), "DURWARD_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	if hosts != "" {
		c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	return served{runProgram(t, c, syscall.SIGTERM).await(t, `Serving on (http://\S+)\n`)}
}

// A said is what a site answers.
type said struct {
	Stdout, Stderr string
	Returncode     int
}

func (s served) ask(t *testing.T, host, port, query string) (said, string) {
	t.Helper()
	body, err := json.Marshal(map[string][]string{"command": {"psql", "-X", "-h", host, "-p", port, "-U", "postgres", "-d", "postgres", "-Atc", query}})
	if err != nil {
		t.Fatal(err)
	}
	web := http.Client{Timeout: time.Minute}
	defer web.CloseIdleConnections()
	r, err := web.Post(s.url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var a said
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", r.Status, err)
	}
	return a, r.Header.Get("Durward-Sandbox")
}

func (s served) answers(t *testing.T, host, port, query, want string) {
	t.Helper()
	a, held := s.ask(t, host, port, query)
	if a.Returncode != 0 || a.Stdout != want || !strings.Contains(held, "level=2") {
		t.Errorf("%s: %d, %.100q, %q; sandbox %s", query, a.Returncode, a.Stdout, a.Stderr, held)
	}
}

// fails asks that psql runs and finds no database.
func (s served) fails(t *testing.T, host, port string) {
	t.Helper()
	a, _ := s.ask(t, host, port, "SELECT 1")
	if a.Returncode != 2 || a.Stdout != "" {
		t.Errorf("%s:%s: %d, %q, %q", host, port, a.Returncode, a.Stdout, a.Stderr)
	}
	t.Logf("%s:%s: %s", host, port, a.Stderr)
}
