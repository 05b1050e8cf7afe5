package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

type linksData struct {
	DryRun bool       `json:"dry_run"`
	Links  []linkData `json:"links"`
}

type linkData struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	// Made is false for a link that was there.
	Made bool `json:"made"`
}

func (p *program) linksCommand() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "links DIR", Short: "make the names that durward stands in for as links", Args: exactly(1),
		Long: "Called by such a name the program behaves as the program of that name. A file that is there\n" +
			"and is no link to this program is left alone, and then nothing is made.",
		Example: "  durward links --dry-run .\n  durward links .",
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be made and make nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return p.links(args[0], dryRun) }
	return cmd
}

func (p *program) links(dir string, dryRun bool) error {
	target, err := os.Executable()
	if err != nil {
		return err
	}
	data := linksData{DryRun: dryRun}
	for _, l := range linkNames {
		link := linkData{Path: filepath.Join(dir, l.name), Target: target}
		if link.Made, err = free(link); err != nil {
			return err
		}
		data.Links = append(data.Links, link)
	}
	if !dryRun {
		if err := makeLinks(data.Links); err != nil {
			return linkError(err)
		}
	}
	return p.printLinks(dir, data)
}

// makeLinks makes those that are not there.
func makeLinks(links []linkData) error {
	for _, l := range links {
		if l.Made {
			if err := os.Symlink(l.Target, l.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// free reports whether the link is to be made, and refuses what stands in its place.
func free(link linkData) (bool, error) {
	folder, err := os.Stat(filepath.Dir(link.Path))
	if err == nil && !folder.IsDir() {
		err = fmt.Errorf("%s: %w", filepath.Dir(link.Path), syscall.ENOTDIR)
	}
	if err != nil {
		return false, linkError(err)
	}
	info, err := os.Lstat(link.Path)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, linkError(err)
	}
	if to, err := os.Readlink(link.Path); info.Mode()&os.ModeSymlink != 0 && err == nil && to == link.Target {
		return false, nil
	}
	return false, &durward.Error{
		Reason: durward.FileExists, Hint: "remove it, or choose another directory",
		Err: fmt.Errorf("%s is there and is no link to %s", link.Path, link.Target),
	}
}

func linkError(err error) error {
	reason := durward.FileIO
	switch {
	case errors.Is(err, os.ErrNotExist):
		reason = durward.FileNotFound
	case errors.Is(err, syscall.ENOTDIR):
		reason = durward.NotADirectory
	case errors.Is(err, os.ErrPermission):
		reason = durward.FilePermission
	}
	return &durward.Error{Reason: reason, Hint: "name a directory that exists and can be written", Err: err}
}

func (p *program) printLinks(dir string, data linksData) error {
	if p.json {
		return p.print(data)
	}
	if data.DryRun {
		for _, l := range data.Links {
			if l.Made {
				fmt.Fprintf(p.stdout, "would make %s -> %s\n", safetext.Line(l.Path), safetext.Line(l.Target))
			}
		}
		return nil
	}
	made := 0
	for _, l := range data.Links {
		if l.Made {
			made++
		}
	}
	_, err := fmt.Fprintf(p.stdout, "made %s in %s; put it on PATH to use them\n", plural(made, "link"), safetext.Line(dir))
	return err
}
