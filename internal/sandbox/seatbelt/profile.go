// Package seatbelt writes profiles for Seatbelt, the sandbox of the macOS kernel.
//
// A profile is a list of rules, of which the last one that matches decides:
//
//	(version 1)
//	(deny default)
//	(allow file-read* (subpath "/usr"))
//	(deny file-read* (subpath "/usr/local/secret"))
//
// Writing one is pure: it reads no files and asks no kernel. No test has run a profile:
// what one holds is not proven, and no report may say that it is held.
package seatbelt

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/durward/durward"
)

// Program is what starts a command under a profile. It is part of the system.
const Program = "/usr/bin/sandbox-exec"

// Argv gives the command line that starts a command under a profile. program is the
// command's absolute path: it takes the place of argv[0].
func Argv(profile, program string, argv []string) []string {
	return append([]string{Program, "-p", profile, program}, argv[min(1, len(argv)):]...)
}

// systemDirs are what the loader of every program reads, whatever a policy names.
var systemDirs = []string{
	"/usr/lib", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/private/var/db/dyld", "/private/var/db/timezone",
}

// systemLinks are the symlinks by which macOS names its own directories.
var systemLinks = []string{"/etc", "/tmp", "/var"}

// Devices that give a command nothing of anybody's.
var readDevices, writeDevices = []string{"/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"}, []string{"/dev/null", "/dev/zero"}

// header allows what a program needs to start, look itself up and end its children.
const header = `(version 1)
(deny default)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.notification_center") (global-name "com.apple.system.opendirectoryd.libinfo"))
`

// Profile gives the profile that holds a command to a grant of a mode that confines.
// tmp is the physical path of the private directory that [durward.PrivateTmp] stands
// for; empty where the call has none. Patterns in DenyGlobs have to be expanded into
// Deny before.
//
// What cannot be expressed is an error, and there is no profile: a path that is only to be
// read inside one that can be written, say, unless it is protected as well.
func Profile(g durward.Grant, tmp string) (string, error) {
	p := profile{write: named(g.Files.Write, tmp)}
	read := slices.Concat(systemDirs, g.Files.Read, p.write)
	exec := named(g.Files.Exec, tmp)
	if err := expressible(g, p.write); err != nil {
		return "", err
	}
	p.text.WriteString(header)
	p.rule("allow", "file-read*", literals(slices.Concat([]string{"/"}, readDevices)))
	p.rule("allow", "file-write-data", literals(writeDevices))
	p.rule("allow", "file-read-metadata", literals(passed(slices.Concat(read, exec), g.Files.Links)))
	p.rule("allow", "file-read* file-map-executable", subpaths(read))
	p.rule("allow", "process-exec", subpaths(exec))
	p.rule("allow", "file-write*", subpaths(p.write))
	p.network(g.Network.Mode)
	p.keep(g.Files.Protect, "file-write*")
	p.keep(g.Files.Deny, "file-read* file-write* process-exec")
	p.text.WriteString("(deny file-write-setugid)\n")
	if p.err != nil {
		return "", p.err
	}
	return p.text.String(), nil
}

// named puts the private directory in the place of its name.
func named(paths []string, tmp string) []string {
	var list []string
	for _, p := range paths {
		if p != durward.PrivateTmp {
			list = append(list, p)
		} else if tmp != "" {
			list = append(list, tmp)
		}
	}
	return list
}

// expressible refuses what a profile would hold otherwise than the grant says.
func expressible(g durward.Grant, write []string) error {
	switch {
	case g.Files.HostReadOnly, g.Files.CopyOnWrite, len(g.Network.UnixSockets) > 0:
		return errors.New("a Seatbelt profile knows no view: host-ro, copyOnWrite or unixSockets")
	case len(g.Files.DenyGlobs) > 0:
		return errors.New("patterns have to be expanded before")
	case g.Network.Mode != "" && g.Network.Mode != durward.NetNone && g.Network.Mode != durward.NetLoopback:
		return fmt.Errorf("a Seatbelt profile knows no network mode %s", g.Network.Mode)
	}
	for _, r := range g.Files.Read {
		if around(write, r) && !slices.Contains(write, r) && !around(g.Files.Protect, r) {
			return fmt.Errorf("%q is only to be read, inside what can be written", r)
		}
	}
	return nil
}

// A profile is text that grows, and the first thing that could not be written down.
type profile struct {
	write []string
	text  strings.Builder
	err   error
}

// rule writes one rule for some operations. Without a filter it would hold for
// everything: then there is none.
func (p *profile) rule(verdict, operations string, filters []filter) {
	if len(filters) == 0 {
		return
	}
	fmt.Fprintf(&p.text, "(%s %s", verdict, operations)
	for _, f := range filters {
		text, err := f.String()
		if p.err == nil {
			p.err = err
		}
		p.text.WriteString("\n\t" + text)
	}
	p.text.WriteString(")\n")
}

// network allows what a mode does. The loopback is the machine's own: whatever listens
// there can be reached.
func (p *profile) network(mode durward.NetworkMode) {
	if mode == durward.NetLoopback {
		p.text.WriteString("(allow network-bind network-inbound (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n")
	}
}

// keep takes operations away from paths, also from missing ones, and keeps the
// directories above them, as far as they could be moved, in their places.
func (p *profile) keep(paths []string, operations string) {
	var filters, above []filter
	for _, one := range paths {
		filters = append(filters, filter{"subpath", one}, filter{"tree", one})
		for dir := path.Dir(one); around(p.write, dir); dir = path.Dir(dir) {
			above = append(above, filter{"literal", dir}, filter{"name", dir})
			if dir == "/" {
				break
			}
		}
	}
	p.rule("deny", operations, unique(filters))
	p.rule("deny", "file-write-unlink", unique(above))
}

// passed lists what is only passed on the way to some paths: the directories above
// them, and the symlinks by which they are named.
func passed(paths []string, links []durward.Link) []string {
	list := slices.Clone(systemLinks)
	for _, l := range links {
		list, paths = append(list, l.Path), append(slices.Clip(paths), l.Path)
	}
	for _, one := range paths {
		for dir := path.Dir(one); dir != "/" && dir != "."; dir = path.Dir(dir) {
			list = append(list, dir)
		}
	}
	return list
}

// around reports whether a path is one of dirs or lies in one.
func around(dirs []string, one string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		rest, ok := strings.CutPrefix(one, dir)
		return ok && (rest == "" || rest[0] == '/' || dir == "/")
	})
}
