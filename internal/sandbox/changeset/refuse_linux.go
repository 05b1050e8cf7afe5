package changeset

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// refused says why a change is not applied, whatever the grant gives; or nothing. What is
// deleted may be anything but one of several names of a file: only its name goes.
func refused(c *change, a attributes, inherits uint32) durward.Reason {
	switch {
	case c.was.links > 1:
		return durward.HardLink
	case c.is.form == Nothing:
		return ""
	case c.is.form == Symlink:
		return durward.SymlinkTarget
	case c.is.form == Directory:
		return refusedDir(c, inherits)
	case c.is.form != File:
		return durward.NotRegularFile
	case c.is.links > 1:
		return durward.HardLink
	case c.is.bits&(setIDBits|stickyBit) != 0, a.capability:
		return durward.SetIDBits
	}
	return refusedName(c)
}

// refusedDir allows the bits that are there, and for a new directory the one that makes it
// belong to the group of the directory around it, if that has it, too.
func refusedDir(c *change, inherits uint32) durward.Reason {
	had := inherits
	if c.was.form == Directory {
		had = c.was.bits
	}
	if c.is.bits&(setIDBits|stickyBit)&^had != 0 {
		return durward.SetIDBits
	}
	return refusedName(c)
}

// refusedName is about names that are made: one that a terminal would obey, or no program
// could print, is a trap for whoever works in the directory next.
func refusedName(c *change) durward.Reason {
	name := path.Base(c.Path)
	if c.was.form == Nothing && (!utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl)) {
		return durward.NameNotText
	}
	return ""
}
