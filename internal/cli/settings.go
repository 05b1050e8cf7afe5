package cli

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/config"
)

// settings are how durward runs, as configuration files say it. The zero value is the
// built-in default of each.
//
//	audit:
//	  sync: interval          # or always
//	  rotate_bytes: 10_000_000
//	  keep: 10                # or all
//	  args: sha256            # or plain
type settings struct {
	audit audit.Options
}

// The bounds of numbers in a configuration.
const (
	leastSegment, mostSegment = 4 << 10, 1 << 40
	mostKept                  = 1_000_000
)

// The words that a configuration has for values.
var (
	syncWords = []string{audit.SyncSoon: "interval", audit.SyncAlways: "always"}
	argsWords = []string{audit.ArgsHash: "sha256", audit.ArgsPlain: "plain"}
)

const keepAll = "all"

// A configLayer is a file that may hold settings.
type configLayer struct {
	path string
	// must is set where somebody named the file: then it is there or an error.
	must bool
	// project is set for the file of the working directory, which counts only while it is trusted.
	project bool
}

// configLayers lists the files from the weakest to the strongest.
func (p *program) configLayers() []configLayer {
	var layers []configLayer
	for _, dir := range []string{p.systemConfig, p.userConfigDir()} {
		if dir != "" {
			layers = append(layers, configLayer{path: filepath.Join(dir, "config.yaml")})
		}
	}
	layers = append(layers, configLayer{path: projectConfig, project: true})
	if p.configFile != "" {
		layers = append(layers, configLayer{path: p.configFile, must: true})
	}
	return layers
}

// systemConfigDir is where the operator of the machine configures it, or "".
func systemConfigDir() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "/etc/durward"
}

// A configuration is what the layers say together.
type configuration struct {
	settings
	// read lists the files that were there.
	read []string
	// untrusted is set where the working directory has a file that does not count, and noted once
	// that was said.
	untrusted *whyUntrusted
	noted     bool
	err       error
}

// settings gives what all layers say; they are read once, because a pipe can be read
// only once. A later one wins member by member. The error names the mistakes of all of
// them and has reason ConfigInvalid. read lists the files that were there.
func (p *program) settings() (s settings, read []string, err error) {
	if p.configured == nil {
		p.configured = p.readSettings(p.configLayers())
	}
	return p.configured.settings, p.configured.read, p.configured.err
}

func (p *program) readSettings(layers []configLayer) *configuration {
	c := &configuration{}
	r := &settingsReader{into: &c.settings}
	var fixes []string
	for _, layer := range layers {
		text, missing, err := p.readLayer(c, layer)
		if missing {
			continue
		}
		if untrusted := (*trustError)(nil); errors.As(err, &untrusted) {
			fixes = append(fixes, untrusted.fix)
		}
		if err != nil {
			r.Include(config.Problems{{Where: durward.Position{File: layer.path}, Message: cause(err).Error()}})
			continue
		}
		c.read = append(c.read, layer.path)
		r.document(layer.path, text)
	}
	problems := config.ProblemsOf(r.Err())
	if len(problems) > 0 {
		hint := "mend what is named; all keys are " + strings.Join(slices.Sorted(maps.Keys(settings{}.values())), ", ")
		if len(mistakes(problems)) == 0 {
			hint = "name a file that can be read"
		}
		c.err = &durward.Error{
			Reason: durward.ConfigInvalid, Op: "read configuration", Where: problems[0].Where, Err: problems,
			Hint: cmp.Or(strings.Join(fixes, " && "), hint),
		}
	}
	return c
}

// readLayer reads one file. Only a file that nobody named may be missing.
func (p *program) readLayer(c *configuration, layer configLayer) (text []byte, missing bool, err error) {
	if layer.project {
		text, c.untrusted, err = p.readProject(absolute(layer.path, p.dir))
		return text, text == nil && err == nil, err
	}
	if missing, err = nothingAt(layer.path); err != nil || missing && !layer.must {
		return nil, missing, err
	}
	text, err = p.readTrusted(layer.path, config.MaxBytes+1, cmp.Or(p.within, 5*time.Second))
	return text, false, err
}

// A settingsReader fills settings from one file after the other.
type settingsReader struct {
	config.Decoder
	into *settings
}

// document reads one file over those before it.
func (r *settingsReader) document(file string, text []byte) *config.Node {
	n, err := config.Parse(file, text)
	r.Include(err)
	if n != nil && n.Kind != config.Null {
		r.top(n)
	}
	return n
}

func (r *settingsReader) top(n *config.Node) {
	r.Fields(n, config.Fields{"audit": r.audit})
}

func (r *settingsReader) audit(n *config.Node) {
	o := &r.into.audit
	r.Fields(n, config.Fields{
		"sync": func(n *config.Node) {
			if word, ok := r.Word(n, syncWords...); ok {
				o.Sync = audit.Sync(slices.Index(syncWords, word))
			}
		},
		"rotate_bytes": func(n *config.Node) {
			if bytes, ok := r.Int(n, leastSegment, mostSegment); ok {
				o.MaxBytes = bytes
			}
		},
		"keep": func(n *config.Node) { o.Keep = r.keep(n, o.Keep) },
		"args": func(n *config.Node) {
			if word, ok := r.Word(n, argsWords...); ok {
				o.Args = audit.Args(slices.Index(argsWords, word))
			}
		},
	})
}

// keep takes a number of segments, or keepAll.
func (r *settingsReader) keep(n *config.Node, before int) int {
	if n.Kind == config.String {
		if _, ok := r.Word(n, keepAll); ok {
			return -1
		}
		return before
	}
	if number, ok := r.Int(n, 1, mostKept); ok {
		return int(number)
	}
	return before
}
