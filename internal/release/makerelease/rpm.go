package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
)

// rpmArch is what rpm calls a processor.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// foldersOfAll are folders that every system has. A package of rpm's has those beyond them
// that its files lie in: they would stay behind.
var foldersOfAll = []string{
	"usr", "usr/bin", "usr/lib", "usr/lib/systemd", "usr/lib/systemd/system", "usr/share", "usr/share/doc", "usr/share/man", "usr/share/man/man1",
}

// rpm packs files for rpm, by tar2rpm.
func rpm(ctx context.Context, s source, t target, p packaged) ([]byte, error) {
	files := slices.Clone(p.files)
	for i := range files {
		if files[i].name == zshCompletion {
			files[i].name = zshCompletionOfRPM
		}
	}
	files = slices.DeleteFunc(withFolders(files), func(f file) bool { return slices.Contains(foldersOfAll, f.name) })
	text, err := tarOf(files, s.time, "")
	if err != nil {
		return nil, err
	}
	args := []string{
		"tool", "-modfile=tools/go.mod", "tar2rpm",
		"-name", "durward", "-version", packageVersion(s.version), "-release", "1", "-arch", rpmArch[t.arch],
		"-build_time", fmt.Sprint(s.time.Unix()), "-summary", summary, "-description", description,
		"-licence", "Apache-2.0", "-packager", maintainer, "-url", homepage,
		"-prefixes", "/usr", // without one it writes an empty one
	}
	for _, s := range []struct{ flag, name string }{{"-postin", "postinst"}, {"-preun", "prerm"}, {"-postun", "postrm"}} {
		script, err := named(p.scripts, s.name)
		if err != nil {
			return nil, err
		}
		args = append(args, s.flag, string(script.body))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-file", "-", "-")...)
	cmd.Stdin = bytes.NewReader(text)
	return output(cmd)
}
