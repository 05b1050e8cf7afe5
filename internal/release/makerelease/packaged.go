package main

import (
	"fmt"
	"strings"
)

const (
	unitFile    = "deploy/durward@.service"
	summary     = "Run the commands that agents ask for, under one policy"
	description = "durward stands between AI agents and a machine: it runs commands, files, HTTP\n" +
		"workers and MCP servers that they ask for under one policy, in one sandbox, and\n" +
		"on one record. It is one program without dependencies."
	maintainer = "The durward maintainers <maintainers@durward.invalid>"
	homepage   = "https://github.com/durward/durward"
)

// A packaged is what a package has, of whatever kind it is.
type packaged struct {
	files, scripts []file
}

// The folder in which zsh looks for completions has a name of Debian's own there.
const (
	zshCompletion      = "usr/share/zsh/vendor-completions/_durward"
	zshCompletionOfRPM = "usr/share/zsh/site-functions/_durward"
)

func packagedOf(program []byte, d documents) (packaged, error) {
	files := []file{
		{name: "usr/bin/durward", executable: true, body: program},
		{name: "usr/lib/systemd/system/durward@.service", body: d.unit},
		{name: "usr/share/doc/durward/README.md", body: d.readme},
		{name: "usr/share/doc/durward/LICENSE", body: d.license},
	}
	for _, c := range []struct{ name, place string }{
		{"durward.bash", "usr/share/bash-completion/completions/durward"},
		{"durward.fish", "usr/share/fish/vendor_completions.d/durward.fish"},
		{"_durward", zshCompletion},
	} {
		completion, err := named(d.completions, c.name)
		if err != nil {
			return packaged{}, err
		}
		files = append(files, file{name: c.place, body: completion.body})
	}
	for _, page := range d.manual {
		text, err := zipped(page.body)
		if err != nil {
			return packaged{}, err
		}
		files = append(files, file{name: "usr/share/man/man1/" + page.name + ".gz", body: text})
	}
	return packaged{files, d.scripts}, nil
}

// packageVersion writes a version as dpkg and rpm compare it: 0.4.0~beta.1 is older than 0.4.0.
func packageVersion(version string) string {
	number, pre, is := strings.Cut(version, "-")
	if !is {
		return number
	}
	return fmt.Sprintf("%s~%s", number, strings.ReplaceAll(pre, "-", "."))
}
