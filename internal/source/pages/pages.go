// Package pages offers the commands that Markdown pages allow.
//
// A page may begin with frontmatter, YAML between two lines of "---" or TOML between
// two lines of "+++", whose member tools lists the commands that may be run in the
// page's directory. Each is a list of parts that are compared with the words of a
// command, in order:
//
//	---
//	tools:
//	  - [ls]                             # ls and any further words
//	  - [cat, {}, ";"]                   # one word of any kind, and the lock: no further ones
//	  - [grep, "{pattern}", docs]        # a placeholder may have a name
//	  - [psql, -c, {regex: "^SELECT"}]   # a word in which the pattern (RE2) is found
//	  - [curl, -H, "Bearer $KEY", {}]    # sent as it stands here, expanded when it is run
//	env: [PGDATABASE]                    # reserved variables that a request may set
//	---
//
// Nothing here uses a shell: words are compared byte for byte and never split,
// unquoted or trimmed. A mistake anywhere in the block closes the whole page.
package pages
