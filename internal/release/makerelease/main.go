// Command makerelease makes a release: one folder with all that is given out of one version.
//
//	makerelease -out dist -version 0.4.0 -key minisign.key -password-file password
//
// The folder holds, for each system that is asked for,
//
//	durward_0.4.0_linux_amd64.tar.gz    the program, its manual and its completions
//	durward_0.4.0_linux_amd64.deb       the same for Debian's kin, with a unit for systemd
//	durward_0.4.0_linux_amd64.rpm       the same for Fedora's
//	durward_0.4.0_linux_amd64.oci.tar   the image of deploy/Dockerfile
//
// and of all of them together
//
//	durward_0.4.0.cdx.json              what the programs are made of (CycloneDX)
//	SHA256SUMS, SHA256SUMS.minisig      the sums and their signature
//
// The same commit gives the same bytes, whoever makes it, wherever and whenever, with the same
// Go: times are those of the commit, or of SOURCE_DATE_EPOCH, and nothing else of the
// machine gets in. It runs at the top of the source.
//
// Without a key nothing is signed, which is all that somebody needs who compares sums.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// everySystem is what a release is for, unless -targets says otherwise.
const everySystem = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// options are what a release is made from; see the flags.
type options struct {
	out, version, targets                string
	keyFile, passwordFile, publicKeyText string
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "dist", "make the release in `DIR`, in the place of the one that is there")
	flag.StringVar(&o.version, "version", "", "the `VERSION`, as 0.4.0 or 0.4.0-beta.1; without it that of the tag of this commit")
	flag.StringVar(&o.targets, "targets", everySystem, "the systems, as `OS/ARCH,…`")
	flag.StringVar(&o.keyFile, "key", "", "sign with the minisign key in `FILE`, and build its public half in")
	flag.StringVar(&o.passwordFile, "password-file", "", "the key's password is in `FILE`; without it you are asked")
	flag.StringVar(&o.publicKeyText, "public-key", "", "build this minisign public `KEY` in, where another machine signs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "makerelease: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flag.Arg(0))
	}
	targets, err := parseTargets(o.targets)
	if err != nil {
		return err
	}
	source, err := lookAtSource(ctx, o.version)
	if err != nil {
		return err
	}
	keys, err := readKeys(o)
	if err != nil {
		return err
	}
	a := &assembly{source: source, keys: keys, targets: targets}
	if err := a.make(ctx, o.out); err != nil {
		return err
	}
	for _, warning := range a.warnings() {
		fmt.Fprintf(os.Stderr, "makerelease: WARNING: %s\n", warning)
	}
	fmt.Printf("%s: durward %s, %d assets, %s\n", o.out, source.version, len(a.sums), keys.said())
	return nil
}

func (a *assembly) warnings() []string {
	var all []string
	if a.source.dirty {
		all = append(all, "the source has changes that are in no commit: nobody else can make this release")
	}
	if !a.keys.signs {
		all = append(all, "THIS RELEASE IS NOT SIGNED, so nobody can install it from the network: name a key with RELEASE_KEY")
	}
	return all
}

// A target is one system that the program is built for, by Go's names.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// program is the name of the program's file.
func (t target) program() string {
	if t.os == "windows" {
		return "durward.exe"
	}
	return "durward"
}

func parseTargets(list string) ([]target, error) {
	var targets []target
	for _, word := range strings.Split(list, ",") {
		if !strings.Contains(","+everySystem+",", ","+word+",") {
			return nil, fmt.Errorf("there is no release for %q; choose from %s", word, everySystem)
		}
		system, arch, _ := strings.Cut(word, "/")
		targets = append(targets, target{system, arch})
	}
	return targets, nil
}
