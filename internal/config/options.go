package config

import (
	"bytes"
	"path/filepath"
	"strings"
)

// A Format is a language that a document is written in.
type Format int

// The formats. With AnyFormat the name of the file decides, and then the first byte:
// what begins with a bracket is JSON, all else YAML.
const (
	AnyFormat Format = iota
	YAML
	JSON
	TOML
)

// Options change how a document is read. The zero value suits a file of its own.
type Options struct {
	Format Format
	// Aliases reads YAML anchors and aliases. What they expand to is bounded.
	Aliases bool
	// Expanded is how many values all aliases together may stand for; then nothing else counts
	// for the bound. Zero counts the whole document.
	Expanded int
	// CoreScalars takes YAML words without quotes for numbers only where its core types
	// do, which know no underscores: 1_000 is a string then.
	CoreScalars bool
	// FirstLine is the number of the document's first line in its file; zero means 1.
	FirstLine int
	// Depth is how many lists and mappings may stand inside each other. Zero means 64,
	// and so does more.
	Depth int
}

func formatOf(file string, data []byte) Format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		return JSON
	case ".toml":
		return TOML
	case ".yaml", ".yml":
		return YAML
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return JSON
	}
	return YAML
}
