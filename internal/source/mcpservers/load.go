package mcpservers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/smallfile"
)

// A Place is where a configuration is read, and by whom.
type Place struct {
	// File is its path.
	File string
	// Sandbox and Home are the absolute paths that ${workspaceFolder} and ${userHome} stand for.
	Sandbox, Home string
	Environ       map[string]string
	// Alone leaves the files unread that it names: nobody has trusted it.
	Alone bool
}

// Parse gives a configuration as its file has it; err is what came of reading that. One that is not
// there is [hubconfig.None]. The error has reason ConfigInvalid, the place of the first mistake, and
// names all of them: [config.ProblemsOf] gives them as a list.
func Parse(p Place, text []byte, err error) (*hubconfig.Config, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return named(hubconfig.None(p.File), nil), nil
	}
	var problems config.Problems
	dir, wrong := filepath.Abs(filepath.Dir(p.File))
	if err = errors.Join(err, wrong); err != nil {
		problems.Add(durward.Position{File: p.File}, "cannot be read: %s", err)
		return nil, invalid(problems)
	}
	c, problems := hubconfig.Parse(p.File, text, hubconfig.Setting{Dir: dir, Workspace: p.Sandbox, Home: p.Home, Environ: p.Environ})
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	for i := range c.Servers {
		if one := &c.Servers[i]; one.EnvFile != "" && !p.Alone {
			addEnv(c, one)
		}
	}
	return named(c, text), nil
}

// named gives a configuration the name that it has in records.
func named(c *hubconfig.Config, text []byte) *hubconfig.Config {
	sum := sha256.Sum256(text)
	c.Hash = "sha256:" + hex.EncodeToString(sum[:])
	return c
}

// addEnv reads the environment file of a server, which is not started without it.
func addEnv(c *hubconfig.Config, one *hubconfig.Server) {
	var problems config.Problems
	text, err := smallfile.Read(one.EnvFile, config.MaxBytes, nil)
	if err != nil {
		problems.Add(durward.Position{File: one.EnvFile}, "cannot be read: %s", err)
	}
	values, found := hubconfig.ParseEnvFile(one.EnvFile, text)
	if problems = append(problems, found...); len(problems) == 0 {
		one.AddEnv(values)
		return
	}
	one.Broken = "envFile: " + problems.Error()
	if !one.Disabled {
		c.Warnings = append(c.Warnings, one.Where.String()+": server "+one.Name+": "+one.Broken+"; it is not started")
	}
}

func invalid(problems config.Problems) error {
	return &durward.Error{
		Reason: durward.ConfigInvalid, Op: "load servers", Where: problems[0].Where, Hint: "mend what is named", Err: problems,
	}
}
