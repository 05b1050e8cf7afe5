package release

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// A Version is that of a release: a semantic one without build metadata and without a
// leading v. The zero value stands for none.
type Version string

// maxVersion bounds a version in bytes.
const maxVersion = 64

// ParseVersion reads the version of a release. What `git describe` says of a build between
// two releases is none.
func ParseVersion(text string) (Version, error) {
	if len(text) > maxVersion || semver.Canonical("v"+text) != "v"+text {
		return "", fmt.Errorf("%.*q is no version like 0.4.0 or 0.4.0-beta.1", maxVersion, text)
	}
	return Version(text), nil
}

// Older reports whether the version comes before another one.
func (v Version) Older(than Version) bool { return semver.Compare("v"+string(v), "v"+string(than)) < 0 }

// A Channel is a kind of releases to follow.
type Channel string

// The channels.
const (
	// Stable has all releases that are no pre-releases.
	Stable Channel = "stable"
	// Beta has the pre-releases.
	Beta Channel = "beta"
)

// ParseChannel reads the name of a channel.
func ParseChannel(text string) (Channel, error) {
	switch c := Channel(text); c {
	case Stable, Beta:
		return c, nil
	}
	return "", errors.New("a channel is stable or beta")
}

// has reports whether a release of this version belongs to the channel.
func (c Channel) has(v Version) bool {
	return (semver.Prerelease("v"+string(v)) != "") == (c == Beta)
}

// folderVersion reads the name of a release's folder: v0.4.0, or 0.4.0.
func folderVersion(name string) (Version, bool) {
	v, err := ParseVersion(strings.TrimPrefix(name, "v"))
	return v, err == nil
}
