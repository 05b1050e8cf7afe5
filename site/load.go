package site

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/policy"
	"github.com/durward/durward/internal/smallfile"
)

// LoadConfig reads how a site is served from a file in TOML:
//
//	host = "127.0.0.1"
//	port = 8000
//	timeout = 2.5                     # seconds
//	max_output_bytes = 1_048_576
//	max_list_items = 1000
//	max_concurrent = 16
//	max_queue = 64
//	shutdown_grace = 10               # seconds
//	path = "/usr/local/bin:/usr/bin:/bin"
//	envelope = "flat"                 # or "data"
//	components = false
//	argument_guard = true
//	allow_env = ["PGDATABASE"]
//	allowed_hosts = ["site.example.org"]
//	allowed_origins = ["https://example.org"]
//
//	[env]
//	DB = "notes.db"
//
//	[http]
//	enabled = false
//	ports = [8443]
//
//	[auth]
//	token_file = "token"              # beside this file; open to its owner only
//
//	[sandbox]
//	mode = "read-only"                # what ParseSandbox reads
//
// A key that is left out has its default, Host and Port included. Root and StateDir are
// the caller's to set. The file itself and the token file are put into Hidden.
//
// An error names every mistake, "file:line:column: message": unknown keys, wrong types
// and values that cannot be.
func LoadConfig(file string) (Config, error) {
	text, err := smallfile.Read(file, config.MaxBytes, nil)
	path, err2 := smallfile.Physical(file)
	if err := errors.Join(err, err2); err != nil {
		return Config{}, invalidConfig(config.Problems{{Where: durward.Position{File: file}, Message: smallfile.Bare(err).Error()}})
	}
	c, err := parseConfig(file, text)
	if err == nil {
		c.Hidden = append(c.Hidden, path)
	}
	return c, err
}

func parseConfig(file string, text []byte) (Config, error) {
	r := &configReader{file: file, into: Config{Host: DefaultHost, Port: DefaultPort}}
	n, err := config.ParseWith(file, text, config.Options{Format: config.TOML})
	r.Include(err)
	if n != nil {
		r.top(n)
	}
	if problems := config.ProblemsOf(r.Err()); len(problems) > 0 {
		return Config{}, invalidConfig(problems)
	}
	return r.into, nil
}

func invalidConfig(problems config.Problems) error {
	return &durward.Error{
		Reason: durward.ConfigInvalid, Op: "read configuration", Where: problems[0].Where, Err: problems,
		Hint: "mend what is named",
	}
}

// The bounds of numbers in a configuration.
const (
	leastTime, mostTime = time.Millisecond, 365 * 24 * time.Hour
	mostBytes           = 1 << 40
	mostCount           = 1_000_000
	maxTokenBytes       = 4 << 10
)

// A configReader fills a Config.
type configReader struct {
	config.Decoder
	file string
	into Config
}

func (r *configReader) top(n *config.Node) {
	c := &r.into
	r.Fields(n, config.Fields{
		"host":             r.host,
		"port":             r.number(0, math.MaxUint16, func(v int64) { c.Port = int(v) }),
		"timeout":          r.seconds(leastTime, func(d time.Duration) { c.Limits.Timeout = d }),
		"max_output_bytes": r.number(1, mostBytes, func(v int64) { c.Limits.OutputBytes = v }),
		"max_list_items":   r.number(1, mostCount, func(v int64) { c.Limits.ListItems = int(v) }),
		"max_concurrent":   r.number(1, mostCount, func(v int64) { c.MaxConcurrent = int(v) }),
		"max_queue":        r.number(0, mostCount, func(v int64) { c.MaxQueue = noneBelow(int(v)) }),
		"shutdown_grace":   r.seconds(0, func(d time.Duration) { c.ShutdownGrace = max(d, leastTime) }),
		"path":             r.path,
		"envelope":         r.envelope,
		"components":       r.flag(func(on bool) { c.Components = on }),
		"argument_guard":   r.flag(func(on bool) { c.NoArgumentGuard = !on }),
		"allow_env":        r.each(func(name string) error { return checkVariable(name, "") }, &c.AllowEnv),
		"allowed_hosts":    r.each(func(h string) error { return r.rule(httpedge.Rules{Hosts: []string{h}}) }, &c.AllowedHosts),
		"allowed_origins":  r.each(func(o string) error { return r.rule(httpedge.Rules{Origins: []string{o}}) }, &c.AllowedOrigins),
		"env":              r.env,
		"http":             r.http,
		"auth":             r.auth,
		"sandbox":          r.sandbox,
	})
}

// noneBelow gives a length in the form of Config: none at all is negative there.
func noneBelow(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (r *configReader) host(n *config.Node) {
	text, ok := r.String(n)
	if !ok {
		return
	}
	if _, err := netip.ParseAddr(text); err != nil {
		r.Problem(n, "host must be an address such as 127.0.0.1 or ::1, not %q", text)
	}
	r.into.Host = text
}

func (r *configReader) number(low, high int64, set func(int64)) func(*config.Node) {
	return func(n *config.Node) {
		if v, ok := r.Int(n, low, high); ok {
			set(v)
		}
	}
}

func (r *configReader) flag(set func(bool)) func(*config.Node) {
	return func(n *config.Node) {
		if v, ok := r.Bool(n); ok {
			set(v)
		}
	}
}

func (r *configReader) seconds(least time.Duration, set func(time.Duration)) func(*config.Node) {
	return func(n *config.Node) {
		if n.Kind != config.Int && n.Kind != config.Float {
			r.Problem(n, "%s must be a number of seconds, not %s", n.Path, n.Kind)
			return
		}
		d, err := parseSeconds(n.Text, least)
		if err != nil {
			r.Problem(n, "%s %v", n.Path, err)
			return
		}
		set(d)
	}
}

// ParseSeconds reads a time as people give it to a site: a number of seconds, "30" or
// "2.5", or one with its unit, "1m30s".
func ParseSeconds(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, checkTime(d, leastTime)
	}
	return parseSeconds(text, leastTime)
}

func parseSeconds(text string, least time.Duration) (time.Duration, error) {
	plain := strings.ReplaceAll(text, "_", "")
	seconds, err := strconv.ParseFloat(plain, 64)
	if whole, notWhole := strconv.ParseInt(plain, 0, 64); notWhole == nil {
		seconds, err = float64(whole), nil
	}
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > mostTime.Seconds() {
		return 0, outOfRange(least, text)
	}
	d := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	return d, checkTime(d, least)
}

func checkTime(d, least time.Duration) error {
	if d < least || d > mostTime {
		return outOfRange(least, inSeconds(d))
	}
	return nil
}

func outOfRange(least time.Duration, text string) error {
	return fmt.Errorf("must be between %s and %s seconds, not %s", inSeconds(least), inSeconds(mostTime), text)
}

// inSeconds writes a time as it could stand in the configuration.
func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// path takes the directories in which programs are looked for. One that is not absolute
// would mean another directory for every page.
func (r *configReader) path(n *config.Node) {
	text, ok := r.String(n)
	if !ok {
		return
	}
	for _, dir := range filepath.SplitList(text) {
		if !filepath.IsAbs(dir) {
			r.Problem(n, "path must list absolute directories, not %q", dir)
		}
	}
	if text == "" {
		r.Problem(n, "path is empty; leave it out for the default")
	}
	r.into.Path = text
}

func (r *configReader) envelope(n *config.Node) {
	if word, ok := r.Word(n, "flat", "data"); ok {
		r.into.DataEnvelope = word == "data"
	}
}

// each takes a list of strings, each of which check has to let pass.
func (r *configReader) each(check func(string) error, into *[]string) func(*config.Node) {
	return func(n *config.Node) {
		r.List(n, func(item *config.Node) {
			text, ok := r.String(item)
			if !ok {
				return
			}
			if err := check(text); err != nil {
				r.Problem(item, "%s: %v", item.Path, err)
			}
			*into = append(*into, text)
		})
	}
}

// rule gives what is wrong with a rule of the edge.
func (r *configReader) rule(rules httpedge.Rules) error {
	_, err := httpedge.NewGuard(rules)
	var e *durward.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err
	}
	return err
}

func (r *configReader) env(n *config.Node) {
	r.into.Env = map[string]string{}
	r.Map(n, func(f config.Field) {
		if f.Value.Kind != config.String {
			r.Problem(f.Value, "%s must be a string, not %s; put it in quotes", f.Value.Path, f.Value.Kind) // it may be a secret
			return
		}
		value := f.Value.Text
		if err := checkVariable(f.Name, value); err != nil {
			r.Problem(&config.Node{Where: f.Where}, "env: %v", err)
		}
		r.into.Env[f.Name] = value
	})
}

func (r *configReader) http(n *config.Node) {
	h := &r.into.HTTP
	r.Fields(n, config.Fields{
		"enabled": r.flag(func(on bool) { h.Enabled = on }),
		"ports": func(n *config.Node) {
			r.List(n, func(item *config.Node) {
				r.number(1, math.MaxUint16, func(v int64) { h.Ports = append(h.Ports, uint16(v)) })(item)
			})
		},
	})
}

func (r *configReader) auth(n *config.Node) {
	if n.Kind == config.Map && n.Get("token_file") == nil {
		r.Problem(n, "auth has no token_file: without one everybody is served")
	}
	r.Fields(n, config.Fields{"token_file": func(n *config.Node) {
		file, ok := r.String(n)
		if !ok {
			return
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(r.file), file)
		}
		token, path, err := readToken(file)
		if err != nil {
			r.Problem(n, "auth.token_file: %v", err)
			return
		}
		r.into.Tokens, r.into.Hidden = Tokens{token}, append(r.into.Hidden, path)
	}})
}

func (r *configReader) sandbox(n *config.Node) {
	doc, err := policy.Read(n)
	r.Include(err)
	r.into.Sandbox = Sandbox{doc}
}

// ReadTokenFile reads a credential: one line, in a file that its owner alone can open.
// The token is called by the file's name. The file's physical path comes with it, for
// Config.Hidden.
func ReadTokenFile(file string) (Token, string, error) {
	token, path, err := readToken(file)
	if err != nil {
		return Token{}, "", invalidConfig(config.Problems{{Message: err.Error()}})
	}
	return token, path, nil
}

func readToken(file string) (Token, string, error) {
	text, err := smallfile.Read(file, maxTokenBytes, smallfile.OwnerOnly(file))
	if err != nil {
		return Token{}, "", fmt.Errorf("%s: %w", file, err)
	}
	token, err := httpedge.NewToken(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), string(text))
	if err != nil {
		return Token{}, "", fmt.Errorf("%s is empty or holds other characters than -._~+/=, letters and digits in one line", file)
	}
	path, err := smallfile.Physical(file)
	return Token(token), path, err
}
