package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A bill lists what the programs of a release are made of. It is read from the programs
// themselves, which Go writes it into, and printed as CycloneDX 1.6.
type bill struct {
	version  string
	time     time.Time
	programs []bom          // in the order in which they were added
	modules  map[string]bom // by their purl
	uses     []dependency
}

// The types below are those of CycloneDX.
type (
	bom struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Purl     string    `json:"purl,omitempty"`
		Hashes   []bomHash `json:"hashes,omitempty"`
		Licenses []any     `json:"licenses,omitempty"`
	}
	bomHash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
	bomDocument struct {
		Format      string `json:"bomFormat"`
		SpecVersion string `json:"specVersion"`
		Version     int    `json:"version"`
		Metadata    struct {
			Timestamp string `json:"timestamp"`
			Component bom    `json:"component"`
		} `json:"metadata"`
		Components   []bom        `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
)

// add takes down a program and the modules that are linked into it.
func (b *bill) add(t target, program []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("the program for %s: %w", t, err)
	}
	if b.modules == nil {
		b.modules = map[string]bom{}
	}
	of := bom{
		Type: "file", Ref: t.String() + "/" + t.program(), Name: t.program(), Version: b.version,
		Hashes: []bomHash{{"SHA-256", string(digestOf(program))}},
	}
	b.programs = append(b.programs, of)
	use := dependency{Ref: of.Ref}
	for _, m := range append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		b.modules[purl] = bom{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl}
		use.DependsOn = append(use.DependsOn, purl)
	}
	slices.Sort(use.DependsOn)
	b.uses = append(b.uses, use)
	return nil
}

// json gives the document. It has no serial number, which would be another one each time.
func (b *bill) json() ([]byte, error) {
	d := bomDocument{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	d.Metadata.Timestamp = b.time.Format(time.RFC3339)
	whole := bom{Type: "application", Name: "durward", Version: b.version, Purl: "pkg:golang/github.com/durward/durward@v" + b.version}
	whole.Ref = whole.Purl
	whole.Licenses = []any{map[string]any{"license": map[string]string{"id": "Apache-2.0"}}}
	d.Metadata.Component = whole
	d.Components = slices.Clone(b.programs)
	for _, m := range b.modules {
		d.Components = append(d.Components, m)
	}
	slices.SortFunc(d.Components, func(x, y bom) int { return strings.Compare(x.Ref, y.Ref) })
	all := dependency{Ref: whole.Ref}
	for _, p := range b.programs {
		all.DependsOn = append(all.DependsOn, p.Ref)
	}
	d.Dependencies = append([]dependency{all}, b.uses...)
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
