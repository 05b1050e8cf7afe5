package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/mcppolicy"
)

// addedFileBytes bounds the files that a write rule of ours lets be written.
const addedFileBytes = 10_000_000

func (p *program) addRootCommand() *cobra.Command {
	write := false
	cmd := &cobra.Command{
		Use: "add-root PATH", Short: "let files be read in a directory",
		Long: "The directory has to exist. The text of the policy is changed where it must be and nowhere else;\n" +
			"the former one is kept beside it in a file that ends in .bak. Where there is no policy a first one is made.",
		Example: "  durward policy add-root --dry-run docs\n  durward policy add-root docs --write",
	}
	p.changeCommand(cmd, true, func(c *policyChange, word string) error { return c.addRoot(word, write) })
	cmd.Flags().BoolVar(&write, "write", false, "let files of at most 10 000 000 bytes be written in it, at any depth")
	return cmd
}

func (p *program) removeRootCommand() *cobra.Command {
	write := false
	cmd := &cobra.Command{
		Use: "remove-root PATH", Short: "let files be read in a directory no more",
		Long:    "What lies within another root can be read as before.",
		Example: "  durward policy remove-root --dry-run docs -w\n  durward policy remove-root docs --write",
	}
	p.changeCommand(cmd, false, func(c *policyChange, word string) error { return c.removeRoot(word, write) })
	cmd.Flags().BoolVarP(&write, "write", "w", false, "remove the write rules of the directory and of what lies in it, too")
	return cmd
}

func (c *policyChange) addRoot(word string, write bool) error {
	path, err := c.pathNamed(word)
	if err != nil {
		return err
	}
	if c.first {
		if err := c.beginWith(path); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(c.rootPaths(), func(root string) bool { return samePlace(root, path) }) {
		if err := c.append(c.roots(), edit.String(path), "added the root "+path); err != nil {
			return err
		}
	}
	if !write || c.writes(path) {
		return nil
	}
	rule := edit.Map{
		{Name: "path", Value: edit.String(path)},
		{Name: "recursive", Value: edit.Bool(true)},
		{Name: "maxFileBytes", Value: edit.Int(addedFileBytes)},
		{Name: "createIfMissing", Value: edit.Bool(true)},
	}
	return c.append(c.writeRules(), rule, "added a write rule for "+path)
}

// beginWith has a first policy begin with one directory.
func (c *policyChange) beginWith(root string) error {
	c.begin(root)
	c.done = append(c.done, "added the root "+root)
	return c.parse()
}

func (c *policyChange) removeRoot(word string, write bool) error {
	path, err := c.pathNamed(word)
	if err != nil {
		return err
	}
	for i, root := range slices.Backward(c.rootPaths()) {
		if samePlace(root, path) {
			if err := c.remove(c.roots().Item(i), "removed the root "+root); err != nil {
				return err
			}
		}
	}
	if write {
		err = c.removeWriteRules(path)
	}
	c.instead = c.insteadOfRemoving(path, write)
	if err == nil && len(c.done) == 0 {
		err = usageError("durward policy show lists the roots", "%s is no root of this policy", path)
	}
	return err
}

// insteadOfRemoving says what to do where a root cannot be removed, because it is the last one or
// has write rules.
func (c *policyChange) insteadOfRemoving(root string, write bool) string {
	policy := " --policy " + shellPath(c.file)
	inIt := func(e mcppolicy.WriteEntry) bool { return within(physical(root), physical(e.Path.Value)) }
	switch {
	case !slices.ContainsFunc(c.rootPaths(), func(other string) bool { return !samePlace(other, root) }):
		return "a policy has one root at least. Add another one first: durward policy add-root DIR" + policy
	case !write && slices.ContainsFunc(c.doc.WriteRules, inIt):
		return "files may be written in it. Remove the write rules with it: durward policy remove-root " + shellPath(root) + " --write" + policy
	}
	return ""
}

// removeWriteRules removes the rules of a directory and of what lies in it.
func (c *policyChange) removeWriteRules(path string) error {
	for i, rule := range slices.Backward(c.doc.WriteRules) {
		if !within(physical(path), physical(rule.Path.Value)) {
			continue
		}
		if err := c.remove(c.writeRules().Item(i), "removed the write rule for "+rule.Path.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *policyChange) roots() edit.Path      { return c.member("allowedRoots", "allowed_roots") }
func (c *policyChange) writeRules() edit.Path { return c.member("writeRules", "write_rules") }

func (c *policyChange) rootPaths() []string {
	var paths []string
	for _, t := range c.doc.AllowedRoots.Value {
		paths = append(paths, t.Value)
	}
	return paths
}

// writes reports whether a rule lets files be written in a directory at any depth.
func (c *policyChange) writes(path string) bool {
	for _, rule := range c.doc.WriteRules {
		if rule.Recursive.Value && samePlace(rule.Path.Value, path) {
			return true
		}
	}
	return false
}

// pathNamed gives a path as a policy holds it: absolute, or in the home directory.
func (c *policyChange) pathNamed(word string) (string, error) {
	switch {
	case word == "":
		return "", usageError("name a directory", "PATH is empty")
	case word == "~" || strings.HasPrefix(word, "~/"):
		return word, nil
	case filepath.IsAbs(word):
		return plainPath(word), nil
	}
	dir, err := c.dir()
	return plainPath(dir + string(filepath.Separator) + word), err
}

// plainPath gives a path without "..", which may lead out of the directory that a link
// leads to and not of the one that it lies in.
func plainPath(path string) string {
	if strings.Contains(path, "..") {
		return physical(path)
	}
	return filepath.Clean(path)
}

func samePlace(a, b string) bool { return physical(a) == physical(b) }

// physical gives the path without links that a path of a policy leads to, as far as it
// exists.
func physical(path string) string {
	if rest, home := strings.CutPrefix(path, "~"); home {
		path = machine.Home() + rest
	}
	for missing := ""; ; {
		real, err := filepath.EvalSymlinks(path)
		parent := filepath.Dir(path)
		if err == nil {
			return filepath.Join(real, missing)
		}
		if parent == path {
			return filepath.Join(path, missing)
		}
		path, missing = parent, filepath.Join(filepath.Base(path), missing)
	}
}

// within reports whether path is dir or lies in it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
