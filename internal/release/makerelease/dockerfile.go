package main

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A recipe is what a Dockerfile says, of which this much is understood:
//
//	FROM scratch
//	COPY [--chown=N:N] FROM… TO
//	ENV NAME=VALUE…
//	USER N:N
//	ENTRYPOINT ["WORD",…]
type recipe struct {
	copies     []copied
	env        []string
	user       string
	entrypoint []string
}

// A copied is one COPY.
type copied struct {
	from  []string // patterns of paths in the context
	to    string
	owner int
}

// parseDockerfile refuses what it does not understand: the image would lack it.
func parseDockerfile(text string) (recipe, error) {
	var r recipe
	for i, line := range instructions(text) {
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case word == "FROM" && i == 0 && rest == "scratch":
		case word == "COPY":
			err = r.addCopy(strings.Fields(rest))
		case word == "ENV" && !strings.ContainsAny(rest, `"'\$`):
			r.env = append(r.env, strings.Fields(rest)...)
		case word == "USER":
			r.user = rest
		case word == "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &r.entrypoint)
		default:
			err = fmt.Errorf("it is not understood here")
		}
		if err != nil {
			return recipe{}, fmt.Errorf("deploy/Dockerfile: %s: %w", line, err)
		}
	}
	return r, nil
}

// instructions gives the lines that count, with those that go on put together.
func instructions(text string) []string {
	var all []string
	goesOn := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part, more := strings.CutSuffix(line, `\`)
		if goesOn {
			all[len(all)-1] += " " + strings.TrimSpace(part)
		} else {
			all = append(all, strings.TrimSpace(part))
		}
		goesOn = more
	}
	return all
}

func (r *recipe) addCopy(words []string) error {
	var c copied
	if chown, is := strings.CutPrefix(words[0], "--chown="); is {
		user, group, _ := strings.Cut(chown, ":")
		owner, err := strconv.Atoi(user)
		if err != nil || group != user {
			return fmt.Errorf("%q is no number of a user and the same of a group", chown)
		}
		c.owner, words = owner, words[1:]
	}
	if len(words) < 2 || strings.HasPrefix(words[0], "--") {
		return fmt.Errorf("it is not understood here")
	}
	c.from, c.to = words[:len(words)-1], words[len(words)-1]
	r.copies = append(r.copies, c)
	return nil
}

// files gives what the image holds, by the rules of COPY: a folder's content goes to the
// folder that is named, a file below one that ends in a slash. context is what may be copied.
func (r recipe) files(context []file) ([]file, error) {
	var all []file
	for _, c := range r.copies {
		for _, pattern := range c.from {
			found := slices.IndexFunc(context, func(f file) bool {
				is, err := path.Match(pattern, f.name)
				return err == nil && is
			})
			if found < 0 {
				return nil, fmt.Errorf("deploy/Dockerfile: there is no %s to be copied", pattern)
			}
			f := context[found]
			to := strings.Trim(c.to, "/")
			if strings.HasSuffix(c.to, "/") && !f.folder {
				to = path.Join(to, path.Base(f.name))
			}
			f.name, f.owner = to, c.owner
			all = append(all, f)
		}
	}
	return all, nil
}
