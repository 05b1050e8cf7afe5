//go:build linux && e2e

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seedLines are what a newcomer types once the containers run.
var seedLines = struct{ health, list, run string }{
	health: "curl -fsS http://localhost:8000/healthz\ncurl -fsS http://localhost:8080/healthz",
	list:   "curl -fsS http://localhost:8000/v1/tools",
	run: `curl -X POST http://localhost:8000/v1/tools/firecrawl.crawl:run \
  -H "Content-Type: application/json" \
  -d '{"input":{"url":"https://example.com","mode":"scrape","formats":["markdown"]}}'`,
}

// outsideAddress is where all of the internet stands, as addresses of the internet go.
const (
	outsideAddress = "11.22.33.10"
	outsideIPv6    = "2a0f:ffff::10"
)

// A composed project is a copy of this one with its containers.
type composed struct {
	engine
	dir   string
	files []string // of docker-compose; none means what it finds by itself
	t     *testing.T
}

func TestContainers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project := filepath.Join(dir, "durward")
	newProject(t, project)
	h := &composed{engine: startEngine(t, dir, "--dns", outsideAddress), dir: project, t: t}
	t.Run("stock", h.stock)
	t.Run("enforced", h.enforced)
}

// newProject copies what containers are made of, and builds the program as make does.
func newProject(t *testing.T, dir string) {
	t.Helper()
	copyProject(t, dir, "docker-compose.yml", "docker-compose.enforced.yml", "domain")
	for name, from := range map[string]string{
		"double":  "../../worker/firecrawl/firecrawltest/firecrawl-double",
		"outside": "./testdata/outside",
	} {
		command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-o", filepath.Join(dir, "test", name, name), from)
	}
	newCertificate(t, filepath.Join(dir, "test", "outside"))
	for name, text := range map[string]string{
		"test/double/Dockerfile":  "FROM scratch\nCOPY double /\nENTRYPOINT [\"/double\"]\n",
		"test/outside/Dockerfile": "FROM scratch\nCOPY outside cert.pem key.pem /\nENTRYPOINT [\"/outside\"]\n",
		"docker-compose.override.yml": `services:
  tool-firecrawl:
    environment: ["FIRECRAWL_BASE_URL=http://double:3002"]
  double:
    build: test/double
    command: ["-listen", "0.0.0.0:3002", "-key", "fc-test"]
    networks: [edge]
`,
		"test/outside.yml": `services:
  tool-firecrawl:
    volumes: ["./test/outside/cert.pem:/etc/ssl/certs/outside.pem:ro"]
  outside:
    build: test/outside
    networks:
      out:
        ipv4_address: ` + outsideAddress + `
        ipv6_address: ` + outsideIPv6 + `
        aliases: [api.firecrawl.dev, evil.example]
networks:
  out:
    enable_ipv6: true
    ipam:
      config:
        - subnet: 11.22.33.0/24
        - subnet: 2a0f:ffff::/64
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// copyProject copies some of this project beside what an image is built from, and builds the
// program as make does.
func copyProject(t *testing.T, dir string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, ".dockerignore", "deploy") {
		command(t, nil, "cp", "-r", filepath.Join("../..", name), dir)
	}
	command(t, nil, "make", "-C", "../..", "build", "BIN="+filepath.Join(dir, "bin"))
}

// newCertificate writes cert.pem and key.pem for the Firecrawl API.
func newCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "outside"}, DNSNames: []string{"api.firecrawl.dev"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// try runs docker-compose, which may fail.
func (h *composed) try(args ...string) (string, error) {
	var files []string
	for _, f := range h.files {
		files = append(files, "-f", f)
	}
	cmd := exec.Command("docker-compose", append(files, args...)...)
	cmd.Dir, cmd.Env = h.dir, append(append(os.Environ(), h.client...), "FIRECRAWL_API_KEY=fc-test")
	out, err := cmd.Output()
	return string(out), withStderr(err)
}

func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return errors.Join(err, errors.New(string(exit.Stderr)))
	}
	return err
}

func (h *composed) compose(args ...string) string {
	h.t.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("docker-compose %q: %v\n%s", args, err, out)
	}
	return out
}

// up starts all containers. They end with the test.
func (h *composed) up(t *testing.T, files ...string) {
	t.Helper()
	h.t, h.files = t, files
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := h.try("logs", "--no-color")
			t.Log(logs)
		}
		h.compose("down", "-t", "1", "-v")
	})
	h.compose("up", "--build", "-d")
}

// shell runs lines where the engine's ports are.
func (h *composed) shell(lines string) string {
	h.t.Helper()
	out, err := h.inside("sh", "-ec", lines).Output()
	if err != nil {
		h.t.Fatalf("%s\n%v", lines, withStderr(err))
	}
	return string(out)
}

// stock is the layout of docker-compose.yml, before the Firecrawl API's double.
func (h *composed) stock(t *testing.T) {
	h.up(t)
	eventually(t, "both are healthy", func() bool {
		out, err := h.inside("sh", "-ec", seedLines.health).Output()
		return err == nil && strings.Count(string(out), `"ok":true`) == 2
	})
	var tools struct {
		Tools []struct {
			ToolID    string   `json:"tool_id"`
			Allowlist []string `json:"egress_allowlist"`
		}
	}
	h.read(h.shell(seedLines.list), &tools)
	if len(tools.Tools) != 1 || tools.Tools[0].ToolID != "firecrawl.crawl" || !slices.Equal(tools.Tools[0].Allowlist, []string{"api.firecrawl.dev:443"}) {
		t.Errorf("tools: %+v", tools)
	}
	h.scrapes()
	h.hardened("gateway", "tool-firecrawl")
	for _, service := range []string{"gateway", "tool-firecrawl"} {
		h.checksItself(service)
	}
	if env := h.inspect("gateway").Config.Env; strings.Contains(strings.Join(env, "\n"), "FIRECRAWL") {
		t.Errorf("the gateway sees %q", env)
	}
	worker := h.inspect("tool-firecrawl")
	if at := worker.HostConfig.PortBindings["8080/tcp"]; len(at) != 1 || at[0].HostIP != "127.0.0.1" {
		t.Errorf("the worker is published at %+v", at)
	}
	h.compose("exec", "-T", "gateway", "/bin/durward", "audit", "verify")
	if said := h.compose("exec", "-T", "gateway", "/bin/durward", "audit", "tail"); !strings.Contains(said, "firecrawl.crawl") {
		t.Errorf("no call is on record:\n%s", said)
	}
}

// scrapes runs the tool as a newcomer does.
func (h *composed) scrapes() {
	h.t.Helper()
	var ran struct {
		OK     bool
		Output struct {
			SourceURL string `json:"source_url"`
			Items     []struct{ Content, Format string }
			Stats     struct{ Pages int }
		}
	}
	text := h.shell(seedLines.run)
	h.read(text, &ran)
	if !ran.OK || ran.Output.SourceURL != "https://example.com" || ran.Output.Stats.Pages != 1 || len(ran.Output.Items) != 1 || ran.Output.Items[0].Content == "" {
		h.t.Errorf("ran: %s", text)
	}
}

func (h *composed) read(text string, to any) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		h.t.Fatalf("%v: %s", err, text)
	}
}

// A container is what the engine says about one.
type container struct {
	State  struct{ Pid int }
	Config struct {
		User        string
		Env         []string
		Healthcheck struct{ Test []string }
	}
	HostConfig struct {
		ReadonlyRootfs, Init, Privileged bool
		CapAdd, CapDrop, SecurityOpt     []string
		Memory, NanoCpus, PidsLimit      int64
		RestartPolicy                    struct{ Name string }
		Tmpfs                            map[string]string
		PortBindings                     map[string][]struct{ HostIP string }
	}
}

func (h *composed) inspect(service string) container {
	h.t.Helper()
	id := strings.TrimSpace(h.compose("ps", "-q", service))
	var found []container
	h.read(command(h.t, h.client, "docker", "inspect", id), &found)
	return found[0]
}

// networks prints with a template the networks that a container is on.
func (h *composed) networks(service, template string) string {
	h.t.Helper()
	id := strings.TrimSpace(h.compose("ps", "-q", service))
	return command(h.t, h.client, "docker", "inspect", "-f", "{{with .NetworkSettings.Networks}}"+template+"{{end}}", id)
}

// hardened looks at what was asked of the engine, and at what came of it.
func (h *composed) hardened(services ...string) {
	h.t.Helper()
	for _, service := range services {
		c := h.inspect(service)
		o := c.HostConfig
		_, tmp := o.Tmpfs["/tmp"]
		if c.Config.User != "65532:65532" || !o.ReadonlyRootfs || !o.Init || o.Privileged || len(o.CapAdd) > 0 || !slices.Equal(o.CapDrop, []string{"ALL"}) ||
			!slices.Contains(o.SecurityOpt, "no-new-privileges:true") || o.Memory <= 0 || o.NanoCpus <= 0 || o.PidsLimit <= 0 || !tmp || o.RestartPolicy.Name != "unless-stopped" {
			h.t.Errorf("%s: %+v", service, c)
		}
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.State.Pid), "status"))
		if err != nil {
			h.t.Fatal(err)
		}
		for _, want := range []string{`Uid:\s65532\s65532`, `Gid:\s65532\s65532`, `CapPrm:\s0+\n`, `CapEff:\s0+\n`, `CapBnd:\s0+\n`, `NoNewPrivs:\s1\n`, `Seccomp:\s2\n`} {
			if !regexp.MustCompile(want).Match(status) {
				h.t.Errorf("%s: no %s in\n%s", service, want, status)
			}
		}
		mounts, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.State.Pid), "mountinfo"))
		if err != nil || !regexp.MustCompile(`(?m)^\S+ \S+ \S+ \S+ / ro[, ]`).Match(mounts) {
			h.t.Errorf("%s: the root is not read-only: %v\n%s", service, err, mounts)
		}
	}
}

// checksItself runs the check of health that the engine would run.
func (h *composed) checksItself(service string) {
	h.t.Helper()
	test := h.inspect(service).Config.Healthcheck.Test
	if len(test) < 2 || test[0] != "CMD" {
		h.t.Fatalf("%s checks its health by %q", service, test)
	}
	h.compose(append([]string{"exec", "-T", service}, test[1:]...)...)
}

// A checked is what egress-check prints.
type checked struct {
	OK   bool
	Data struct {
		Held     bool
		Attempts []struct {
			Name, Route, Target, Want, Got, Detail string
			OK                                     bool
		}
	}
}

// check tries to break out of a container, to where all of the internet stands.
func (h *composed) check(service string, more ...string) (c checked, err error) {
	h.t.Helper()
	args := []string{
		"exec", "-T", service, "/bin/durward", "egress-check", "--json", "--host", "evil.example:443", "--address", outsideAddress + ":443",
		"--ipv6", "[" + outsideIPv6 + "]:443", "--dns", outsideAddress + ":53", "--udp", outsideAddress + ":123",
	}
	out, err := h.try(append(append(args, more...), "api.firecrawl.dev:443")...)
	h.read(out, &c)
	return c, err
}

// got says what came of an attempt.
func (c checked) got(name, route string) string {
	for _, a := range c.Data.Attempts {
		if a.Name == name && a.Route == route {
			return a.Got
		}
	}
	return "nobody tried"
}

// enforced is the layout in which the worker has no way out but the proxy.
func (h *composed) enforced(t *testing.T) {
	h.up(t, "docker-compose.yml", "docker-compose.enforced.yml", "test/outside.yml")
	eventually(t, "the gateway and its worker are healthy", func() bool {
		out, err := h.inside("curl", "-fsS", "http://localhost:8000/readyz").Output()
		return err == nil && bytes.Contains(out, []byte(`"up"`))
	})
	h.scrapes()
	h.hardened("gateway", "tool-firecrawl", "egress-proxy")
	h.workerIsIn()
	h.pageIsTrue()
	h.onlyTheProxyCame()
	h.ownerIsOut()
	h.strangersGetNothing()
	h.nothingStartsInTheOpen()
	h.closedWithoutTheProxy()
}

// workerIsIn tries every way, of which none is open but the one there should be.
func (h *composed) workerIsIn() {
	h.t.Helper()
	more := []string{"--redirect", "https://api.firecrawl.dev/away"}
	for _, network := range []string{"durward_edge", "durward_tools"} { // where the machine itself would be, with the gateway's port
		at := strings.TrimSpace(command(h.t, h.client, "docker", "network", "inspect", "-f", "{{(index .IPAM.Config 0).Gateway}}", network))
		more = append(more, "--address", at+":8000")
	}
	c, err := h.check("tool-firecrawl", more...)
	if err != nil || !c.OK || !c.Data.Held {
		h.t.Errorf("%v: %+v", err, c)
	}
	for _, one := range [][2]string{{"allowed", "direct"}, {"allowed", "proxy"}} {
		if got := c.got(one[0], one[1]); got != "reached" {
			h.t.Errorf("%q: %s", one, got)
		}
	}
	for _, one := range [][2]string{
		{"another host", "direct"},
		{"another host", "proxy"},
		{"another port", "direct"},
		{"another port", "proxy"},
		{"a bare address", "direct"},
		{"a bare address", "proxy"},
		{"an inside address", "direct"},
		{"an inside address", "proxy"},
		{"the proxy itself", "proxy"},
		{"IPv6", "direct"},
		{"IPv6", "proxy"},
		{"direct DNS by UDP", "direct"},
		{"direct DNS by TCP", "direct"},
		{"a name outside", "resolver"},
		{"UDP", "direct"},
		{"a redirect inside", "proxy"},
	} {
		if got := c.got(one[0], one[1]); got != "closed" {
			h.t.Errorf("%q: %s", one, got)
		}
	}
}

// pageIsTrue runs the commands that docs/egress.md shows.
func (h *composed) pageIsTrue() {
	h.t.Helper()
	shown := commandsOn(h.t, "../../docs/egress.md")
	if len(shown) != 2 {
		h.t.Fatalf("the page shows the commands %v", shown)
	}
	for _, c := range shown {
		cmd := exec.Command("sh", "-c", c.line)
		cmd.Dir, cmd.Env = h.dir, append(append(os.Environ(), h.client...), "FIRECRAWL_API_KEY=fc-test")
		printed, err := cmd.Output()
		if diff := cmp.Diff(settled(c.shown), settled(string(printed))); err != nil || diff != "" {
			h.t.Errorf("%s: %v; the page shows (-), it prints (+):\n%s", c.line, withStderr(err), diff)
		}
	}
}

// onlyTheProxyCame looks at it from outside: whatever came so far came from the proxy, to the
// one port.
func (h *composed) onlyTheProxyCame() {
	h.t.Helper()
	var proxy []string
	for _, address := range strings.Fields(h.networks("egress-proxy", `{{(index . "durward_out").IPAddress}} {{(index . "durward_out").GlobalIPv6Address}}`)) {
		proxy = append(proxy, "tcp 443 from "+address)
	}
	came := 0
	for line := range strings.Lines(h.compose("logs", "--no-color", "outside")) {
		_, line, _ = strings.Cut(line, "| ")
		if !strings.Contains(line, " from ") {
			continue
		}
		came++
		if !slices.Contains(proxy, strings.TrimSpace(line)) {
			h.t.Errorf("outside saw %q, want %q only", line, proxy)
		}
	}
	if came == 0 {
		h.t.Error("outside saw nobody")
	}
	log := h.compose("logs", "--no-color", "egress-proxy")
	for _, want := range []string{
		`"allowed":true,"host":"api.firecrawl.dev","port":443,"worker":"tool-firecrawl","via":"connect"`,
		`"allowed":true,"host":"api.firecrawl.dev","port":443,"worker":"tool-firecrawl","via":"sni"`,
		`"allowed":false,"host":"evil.example","port":443,"worker":"tool-firecrawl","via":"connect","rule":"egress_allowlist"`,
		`"allowed":false,"host":"169.254.169.254","port":80,"worker":"tool-firecrawl","via":"http","rule":"egress_allowlist"`,
	} {
		if !strings.Contains(log, want) {
			h.t.Errorf("the proxy did not log %s:\n%s", want, log)
		}
	}
}

// ownerIsOut shows that the check finds what is open: from the proxy's own container each of
// these ways is.
func (h *composed) ownerIsOut() {
	h.t.Helper()
	c, err := h.check("egress-proxy")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 9 || c.Data.Held {
		h.t.Errorf("%v: %+v", err, c)
	}
	for _, one := range [][2]string{
		{"another host", "direct"},
		{"another port", "direct"},
		{"a bare address", "direct"},
		{"IPv6", "direct"},
		{"direct DNS by UDP", "direct"},
		{"direct DNS by TCP", "direct"},
		{"a name outside", "resolver"},
		{"UDP", "direct"},
	} {
		if got := c.got(one[0], one[1]); got != "reached" {
			h.t.Errorf("from the proxy's container, %q: %s", one, got)
		}
	}
}

// strangersGetNothing asks the proxy from a container that is no worker.
func (h *composed) strangersGetNothing() {
	h.t.Helper()
	c, _ := h.check("gateway", "--proxy", "http://egress-proxy:3128") // the gateway has a way out of its own
	if got := c.got("allowed", "proxy"); got != "closed" {
		h.t.Errorf("the gateway got out by the proxy: %s", got)
	}
	if log := h.compose("logs", "--no-color", "egress-proxy"); !strings.Contains(log, `"rule":"peer"`) {
		h.t.Errorf("the proxy did not log a stranger:\n%s", log)
	}
}

// nothingStartsInTheOpen puts a worker where it can get out.
func (h *composed) nothingStartsInTheOpen() {
	h.t.Helper()
	cmd := exec.Command("docker", "run", "--rm", "--network", "durward_out", "durward", "egress-check", "--host", "evil.example:443", "--address", outsideAddress+":443",
		"--dns", outsideAddress+":53", "--udp", outsideAddress+":123", "--", "/bin/durward", "version")
	cmd.Env = append(os.Environ(), h.client...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 9 || !bytes.Contains(out, []byte("DWD-NET-006")) || bytes.Contains(out, []byte("durward v")) {
		h.t.Errorf("%v\n%s", err, out)
	}
}

// closedWithoutTheProxy takes the proxy away: nothing else opens.
func (h *composed) closedWithoutTheProxy() {
	h.t.Helper()
	h.compose("stop", "-t", "1", "egress-proxy")
	c, err := h.check("tool-firecrawl")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 8 || !c.Data.Held {
		h.t.Errorf("%v: %+v", err, c)
	}
	text := h.shell(`curl -sS http://localhost:8000/v1/tools/firecrawl.crawl:run -d '{"input":{"url":"https://example.com"},"timeout_sec":2}' -H 'Content-Type: application/json'`)
	var ran struct{ OK *bool }
	h.read(text, &ran)
	if ran.OK == nil || *ran.OK {
		h.t.Errorf("without the proxy: %s", text)
	}
}
