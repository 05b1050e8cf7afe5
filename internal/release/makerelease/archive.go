package main

import (
	"slices"
	"time"
)

// archive is what a user unpacks: the program, and what stands beside it.
func archive(t target, program []byte, d documents, when time.Time) ([]byte, error) {
	files := slices.Concat(
		[]file{
			{name: t.program(), executable: true, body: program},
			{name: "LICENSE", body: d.license},
			{name: "README.md", body: d.readme},
		},
		under("man/man1", d.manual),
		under("completions", d.completions),
	)
	text, err := tarOf(withFolders(files), when, "")
	if err != nil {
		return nil, err
	}
	return zipped(text)
}
