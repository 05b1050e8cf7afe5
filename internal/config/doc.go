// Package config reads a strict YAML, JSON or TOML document into a tree that knows its places.
//
// A document is at most 1 MiB of UTF-8 and holds one value:
//
//	server:
//	  port: 8_000        # integers may be grouped, or written 0x1F40, 0o17500
//	  names: [on, yes]   # strings: only true and false are booleans
//
// YAML is read with the core types of version 1.2. Duplicate keys, anchors, aliases and
// tags beyond those types are refused. A file called *.json, or one that begins like
// JSON and is not called otherwise, must be JSON to the letter; one called *.toml is
// read as TOML 1.0.
//
// [Parse] gives the tree; a [Decoder] turns it into the caller's own types. Both go on
// after a mistake and report all of them as [Problems]: "file:line:column: message".
package config
