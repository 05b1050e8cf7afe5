package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"slices"
	"strings"
	"time"
)

// deb packs files for dpkg: an archive of ar with the form, the control files and the data.
func deb(s source, t target, p packaged) ([]byte, error) {
	files := append(slices.Clone(p.files), file{name: "usr/share/doc/durward/copyright", body: []byte(copyright)})
	control := []file{
		{name: "control", body: []byte(controlText(s, t, files))},
		{name: "md5sums", body: md5sums(files)},
	}
	control = append(control, p.scripts...)
	var parts [2][]byte
	for i, list := range [][]file{control, withFolders(files)} {
		text, err := tarOf(append(list, file{folder: true}), s.time, "./")
		if err != nil {
			return nil, err
		}
		if parts[i], err = zipped(text); err != nil {
			return nil, err
		}
	}
	return arOf(s.time, member{"debian-binary", []byte("2.0\n")}, member{"control.tar.gz", parts[0]}, member{"data.tar.gz", parts[1]}), nil
}

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: durward
Source: ` + homepage + `

Files: *
Copyright: the authors of durward
License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.
`

func controlText(s source, t target, files []file) string {
	size := 0
	for _, f := range files {
		size += (len(f.body) + 1023) / 1024
	}
	return fmt.Sprintf(`Package: durward
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: ca-certificates
Section: admin
Priority: optional
Homepage: %s
Description: %s
 %s
`, packageVersion(s.version), t.arch, maintainer, size, homepage, summary, strings.ReplaceAll(description, "\n", "\n "))
}

// md5sums is what `dpkg --verify` compares; MD5 is what it takes.
func md5sums(files []file) []byte {
	var b bytes.Buffer
	for _, f := range ordered(files) {
		fmt.Fprintf(&b, "%x  %s\n", md5.Sum(f.body), f.name)
	}
	return b.Bytes()
}

// A member is a file in an archive of ar. Its name has at most 16 bytes.
type member struct {
	name string
	body []byte
}

func arOf(when time.Time, members ...member) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", m.name, when.Unix(), 0, 0, "100644", len(m.body), m.body)
		if len(m.body)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
