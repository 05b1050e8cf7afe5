package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/durward/durward/internal/safetext"
)

// checkPath finds out whether clients that know the program by its name find this one, and
// whether there is another one that they could find.
func (p *program) checkPath() checkData {
	const name = "PATH"
	self, own, err := ownProgram()
	if err != nil {
		return check(name, "", err)
	}
	found := p.onPath()
	at := slices.IndexFunc(found, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && os.SameFile(info, own)
	})
	switch {
	case len(found) == 0:
		return warned(name, "there is no "+mainName+" on it", "add "+shellWord(filepath.Dir(self))+" to PATH, or name the whole path to clients: "+self)
	case at < 0:
		return warned(name, found[0]+" is another program than this one, "+self, "remove it, or put "+shellWord(filepath.Dir(self))+" before its folder in PATH")
	case at > 0:
		return warned(name, found[0]+" comes before this one, "+found[at], "remove it, or put "+shellWord(filepath.Dir(found[at]))+" before its folder in PATH")
	case len(found) > 1:
		return warned(name, found[0]+" is this one; there are others behind it: "+strings.Join(found[1:], ", "), "remove those that you do not need")
	}
	return check(name, safetext.Line(found[0]), nil)
}

// ownProgram is the file of this program.
func ownProgram() (file string, info fs.FileInfo, err error) {
	file, err = os.Executable()
	if err == nil {
		info, err = os.Stat(file)
	}
	return file, info, err
}

// onPath lists the programs in the folders of PATH that are called like this one, in its order, each once.
func (p *program) onPath() []string {
	var files []string
	var known []fs.FileInfo
	for _, dir := range filepath.SplitList(p.env["PATH"]) {
		file := filepath.Join(dir, programFile())
		info, err := os.Stat(file)
		if !filepath.IsAbs(dir) || err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
			continue
		}
		if slices.ContainsFunc(known, func(k fs.FileInfo) bool { return os.SameFile(k, info) }) {
			continue
		}
		files, known = append(files, file), append(known, info)
	}
	return files
}

// checkBinary finds out whether others may change what is started.
func (p *program) checkBinary() checkData {
	const name = "program"
	self, info, err := ownProgram()
	if err != nil {
		return check(name, "", err)
	}
	untrusted := (*trustError)(nil)
	if err := p.untrusted(self, info); errors.As(err, &untrusted) {
		return warned(name, self+": "+untrusted.why, untrusted.fix)
	}
	if err := p.trustPlace(self); errors.As(err, &untrusted) {
		return warned(name, self+": "+untrusted.why, untrusted.fix)
	}
	return check(name, safetext.Line(self), nil)
}
