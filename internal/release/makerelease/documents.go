package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/durward/durward/internal/cli"
)

// documents are what stands beside the program, for all systems alike.
type documents struct {
	license     []byte // with those of all that is linked in
	readme      []byte
	manual      []file // durward.1, …
	completions []file // durward.bash, _durward, durward.fish, durward.ps1
	unit        []byte
	scripts     []file // of packages, by the names that dpkg has for them
	dockerfile  []byte
}

// completionNames are the names that shells look for their completions under.
var completionNames = []struct{ shell, name string }{
	{"bash", "durward.bash"}, {"zsh", "_durward"}, {"fish", "durward.fish"}, {"powershell", "durward.ps1"},
}

func (a *assembly) commonFiles(ctx context.Context) (documents, error) {
	d := documents{manual: manual(cli.Commands(), a.source)}
	d.scripts = []file{{name: "postinst"}, {name: "prerm"}, {name: "postrm"}}
	wanted := map[string]*[]byte{"README.md": &d.readme, unitFile: &d.unit, "deploy/Dockerfile": &d.dockerfile}
	for i := range d.scripts {
		d.scripts[i].executable = true
		wanted["deploy/package/"+d.scripts[i].name] = &d.scripts[i].body
	}
	var err error
	for name, to := range wanted {
		if *to, err = os.ReadFile(name); err != nil {
			return documents{}, fmt.Errorf("run it at the top of the source: %w", err)
		}
	}
	if d.license, err = licenses(ctx, a.targets); err != nil {
		return documents{}, err
	}
	for _, c := range completionNames {
		text, err := completion(a.source.version, c.shell)
		if err != nil {
			return documents{}, err
		}
		d.completions = append(d.completions, file{name: c.name, body: text})
	}
	return d, nil
}

// completion gives what `durward completion SHELL` prints.
func completion(version, shell string) ([]byte, error) {
	var out, said bytes.Buffer
	if status := cli.Main(context.Background(), version, []string{"durward", "completion", shell}, strings.NewReader(""), &out, &said); status != 0 {
		return nil, fmt.Errorf("durward completion %s: %s", shell, said.String())
	}
	return out.Bytes(), nil
}

// named gives the file of a list that has the name.
func named(files []file, name string) (file, error) {
	at := slices.IndexFunc(files, func(f file) bool { return f.name == name })
	if at < 0 {
		return file{}, fmt.Errorf("there is no file %s", name)
	}
	return files[at], nil
}
