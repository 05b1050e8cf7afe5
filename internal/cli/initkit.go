package cli

import (
	"embed"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/mcppolicy"
)

// templates are the first pages that a site can begin with, and the first servers of a hub.
//
//go:embed templates
var templates embed.FS

// defaultTemplate is the one with the least to understand.
const defaultTemplate = "hello"

// A kit is what a folder can begin with.
type kit struct {
	name string
	// files gives what is made in a folder, with paths relative to it.
	files func(x *initialising) ([]initFile, error)
	// next is what to type for the folder.
	next func(dir string) string
}

// kits lists what there is, by name.
func kits() []kit {
	all := []kit{
		{"mcp", policyKit, func(dir string) string { return connectWith(filepath.Join(dir, policyFileName)) }},
		{"hub", hubKit, func(dir string) string {
			return "durward hub --config " + shellPath(filepath.Join(dir, hubKitFile)) + " --sandbox-dir " + shellPath(dir)
		}},
	}
	pages, err := fs.Glob(templates, "templates/*.md")
	if err != nil {
		return all // the pattern is right
	}
	for _, page := range pages {
		name := strings.TrimSuffix(path.Base(page), ".md")
		all = append(all, kit{name, pagesKit(page), func(dir string) string { return "durward serve " + shellPath(dir) }})
	}
	slices.SortFunc(all, func(a, b kit) int { return strings.Compare(a.name, b.name) })
	return all
}

func kitNames() []string {
	var names []string
	for _, k := range kits() {
		names = append(names, k.name)
	}
	return names
}

// pagesKit begins a site with one page.
func pagesKit(page string) func(*initialising) ([]initFile, error) {
	return func(x *initialising) ([]initFile, error) {
		text, err := templates.ReadFile(page)
		if err != nil {
			return nil, err
		}
		ignore, err := planIgnore(filepath.Join(x.dir, ".gitignore"))
		return []initFile{{Path: "README.md", text: text}, {Path: render.AgentsPath, text: render.AgentsGuide(defaultSite)}, ignore}, err
	}
}

// policyKit begins a policy that lets the files of the folder be read.
func policyKit(x *initialising) ([]initFile, error) {
	root := physical(absolute(x.dir, x.program.dir))
	return []initFile{{Path: policyFileName, text: []byte(mcppolicy.Starter(root)), mode: 0o600}}, nil
}

// hubKitFile is where a hub looks for its servers.
const hubKitFile = "config/mcp_servers.json"

// hubKit begins the servers of a hub.
func hubKit(*initialising) ([]initFile, error) {
	text, err := templates.ReadFile("templates/mcp_servers.json")
	return []initFile{{Path: filepath.FromSlash(hubKitFile), text: text}}, err
}
