package object

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fileuri"
)

// longestPath is the longest that the kernel takes.
const longestPath = 4096

// pathOf reads a path of either form.
func pathOf(member, text string) (string, error) {
	name, _, err := fileuri.Parse(text)
	if err != nil {
		refused := *durward.AsError(err)
		refused.Op, refused.Rule = op, member
		return "", &refused
	}
	if len(name) > longestPath {
		return "", &durward.Error{Reason: durward.BadPath, Op: op, Rule: member, Err: fmt.Errorf("a path has more than %d bytes", longestPath)}
	}
	return name, nil
}

// pathsOf reads a list of paths, each once.
func pathsOf(member string, texts []string) ([]string, error) {
	if len(texts) > durward.MaxEntries {
		return nil, wrong(member, "it has more than %d entries", durward.MaxEntries)
	}
	var list []string
	for _, text := range texts {
		name, err := pathOf(member, text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// clean gives a directory of the environment, or nothing where it is no absolute path.
func clean(dir string) string {
	if !strings.HasPrefix(dir, "/") || strings.IndexByte(dir, 0) >= 0 || len(dir) > longestPath {
		return ""
	}
	return path.Clean(dir)
}

// join is [path.Join] of what is clean.
func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// contains reports whether a path is dir or lies below it, as both are spelt.
func contains(dir, name string) bool {
	return dir == name || dir == "/" || strings.HasPrefix(name, dir) && name[len(dir)] == '/'
}

func sameSet(a, b []string) bool {
	within := func(list []string, all []string) bool {
		return !slices.ContainsFunc(list, func(p string) bool { return !slices.Contains(all, p) })
	}
	return within(a, b) && within(b, a)
}

const op = "sandbox object"

func wrong(member, format string, args ...any) error {
	return &durward.Error{Reason: durward.WrongType, Op: op, Rule: member, Err: fmt.Errorf(member+": "+format, args...)}
}

func missing(member string) error {
	return &durward.Error{Reason: durward.MissingField, Op: op, Rule: member, Err: fmt.Errorf("missing field %s", member)}
}
