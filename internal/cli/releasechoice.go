package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/smallfile"
)

// maxKey bounds a file with a public key, in bytes.
const maxKey = 4 << 10

// A releaseChoice is where a release is taken from, and whose signature is believed.
type releaseChoice struct {
	folder, url, channel, key string
	// here takes it from the folder of this program.
	here, insecure bool
}

type releaseData struct {
	// From is the folder or the address of the release.
	From    string          `json:"from"`
	Channel release.Channel `json:"channel"`
	// Verified is false where somebody did not want the signature to be checked.
	Verified bool   `json:"verified"`
	KeyID    string `json:"key_id,omitempty"`
}

func (c *releaseChoice) flags(f *pflag.FlagSet) {
	f.StringVar(&c.channel, "channel", string(release.Stable), "take the newest release (stable) or the newest pre-release (beta)")
	f.StringVar(&c.folder, "local-path", "", "take it from `DIR`: the folder of a release, or one that holds such folders")
	f.BoolVar(&c.here, "local", false, "take it from the folder that this program is in")
	f.StringVar(&c.url, "release-url", "", "take it from this https `URL` (default: "+release.ProjectURL+")")
	f.StringVar(&c.key, "verify-key", "", "believe the minisign public key in `FILE` instead of the one that is built in")
	f.BoolVar(&c.insecure, "insecure-skip-verify", false, "check no signature: whoever can change the release decides what runs here")
}

// given reports whether any of the flags is.
func (*releaseChoice) given(f *pflag.FlagSet) bool {
	for _, name := range []string{"channel", "local-path", "local", "release-url", "verify-key", "insecure-skip-verify"} {
		if f.Changed(name) {
			return true
		}
	}
	return false
}

// find finds the release and verifies it.
func (c *releaseChoice) find(ctx context.Context, p *program) (*release.Verified, *releaseData, error) {
	channel, err := release.ParseChannel(c.channel)
	if err != nil {
		return nil, nil, usageError("use --channel stable or --channel beta", "--channel %s: %w", c.channel, err)
	}
	source, err := c.source(p)
	if err != nil {
		return nil, nil, err
	}
	key, err := c.believed(p)
	if err != nil {
		return nil, nil, err
	}
	working := p.working("looking for a release")
	defer working.done()
	found, err := source.Newest(ctx, channel, release.System{OS: runtime.GOOS, Arch: runtime.GOARCH})
	if err != nil {
		return nil, nil, err
	}
	verified, err := found.Verify(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	data := &releaseData{From: found.Where, Channel: channel, Verified: key != nil}
	if key != nil {
		data.KeyID = key.ID()
	}
	return verified, data, nil
}

func (c *releaseChoice) source(p *program) (release.Source, error) {
	if c.here && c.folder == "" {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return nil, usageError("name the folder with --local-path DIR", "nobody knows where this program is: %w", err)
		}
		c.folder = filepath.Dir(self)
	}
	if c.folder != "" && c.url != "" {
		return nil, usageError("leave one of them out", "a release comes from a folder or from a URL")
	}
	if c.folder != "" {
		return release.Folder(absolute(c.folder, p.dir)), nil
	}
	address := c.url
	if address == "" {
		address = release.ProjectURL
	}
	server, err := release.NewServer(address, release.ServerOptions{Proxy: http.ProxyFromEnvironment})
	if err != nil {
		return nil, usageError("name an address that begins with https://", "--release-url: %w", err)
	}
	return server, nil
}

// believed gives the key, or nil where somebody wants none to be asked for.
func (c *releaseChoice) believed(p *program) (*release.Key, error) {
	if c.insecure && c.key != "" {
		return nil, usageError("leave one of them out", "--verify-key names a key, and --insecure-skip-verify asks for none")
	}
	if c.insecure {
		fmt.Fprintln(p.stderr, "durward: WARNING: the signature of the release is not checked (--insecure-skip-verify)")
		return nil, nil
	}
	if c.key == "" {
		key, err := release.BuiltinKey()
		if err != nil {
			return nil, &durward.Error{Reason: durward.ReleaseUnverified, Op: "verify the release", Err: err, Hint: "name the project's public key with --verify-key FILE"}
		}
		return key, nil
	}
	text, err := smallfile.Read(c.key, maxKey, nil)
	if err != nil {
		return nil, usageError("name the file with the public key", "--verify-key %s: %w", safetext.Line(c.key), err)
	}
	key, err := release.ParseKey(text)
	if err != nil {
		return nil, usageError("name the file that minisign calls minisign.pub", "--verify-key %s: %w", safetext.Line(c.key), err)
	}
	return key, nil
}
