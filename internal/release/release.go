package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/durward/durward"
)

// A Release is one that was found, and of which nothing is to be believed yet.
type Release struct {
	// Wanted is the version that its name says; empty where no name says any.
	Wanted Version
	// Where is the folder or the address it is in.
	Where string

	channel Channel
	system  System
	// read gives a file of at most so many bytes. The error is [fs.ErrNotExist] where there
	// is none.
	read func(ctx context.Context, name string, most int64) ([]byte, error)
}

// A Verified is a release whose signature is good, or whom somebody trusts without.
type Verified struct {
	// Version is the one that is signed.
	Version Version
	release *Release
	sums    sums
}

// Verify checks the signature of the sums, and that the version signed is the wanted one.
// Without a key nothing is checked: the version is the wanted one, or that of the assets.
//
// An error of reason [durward.ReleaseUnverified] says that this is not what it pretends to
// be; [durward.ReleaseNotFound], that it is no release, or none of the channel.
func (r *Release) Verify(ctx context.Context, key *Key) (*Verified, error) {
	text, err := r.read(ctx, sumsName, maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing("a release has "+sumsName+"; see that this is the folder of one", fmt.Errorf("there is no %s in %s", sumsName, r.Where))
	}
	if err != nil {
		return nil, r.unread(sumsName, err)
	}
	v := &Verified{release: r, Version: r.Wanted}
	if key != nil {
		v.Version, err = r.signed(ctx, key, text)
		if err != nil {
			return nil, err
		}
	}
	if v.sums, err = parseSums(text); err != nil {
		return nil, r.unverified(fmt.Errorf("%s: %w", sumsName, err))
	}
	if v.Version == "" {
		v.Version, _ = r.system.only(slices.Collect(maps.Keys(v.sums)))
	}
	return v, v.offered()
}

// signed gives the version that the signature of the sums names, which has to be the wanted
// one.
func (r *Release) signed(ctx context.Context, key *Key, text []byte) (Version, error) {
	signature, err := r.read(ctx, signatureName, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return "", r.unverified(fmt.Errorf("there is no %s", signatureName))
	}
	if err != nil {
		return "", r.unread(signatureName, err)
	}
	v, err := key.verify(text, signature)
	if err == nil && r.Wanted != "" && v != r.Wanted {
		err = fmt.Errorf("it is named %s, and signed as %s: another release under its name", r.Wanted, v)
	}
	if err != nil {
		return "", r.unverified(err)
	}
	return v, nil
}

// offered refuses a release of another channel, and one without an asset for the system.
func (v *Verified) offered() error {
	r := v.release
	if _, ok := v.sums[r.system.asset(v.Version)]; !ok {
		return missing("build it for this system from the sources", fmt.Errorf("the release %s in %s has nothing for %s", v.Version, r.Where, r.system))
	}
	if !r.channel.has(v.Version) {
		return missing("choose the other channel with --channel", fmt.Errorf("%s is no release of channel %s", v.Version, r.channel))
	}
	return nil
}

// Program fetches the asset, checks its sum, and gives the program that it holds.
func (v *Verified) Program(ctx context.Context) ([]byte, error) {
	r := v.release
	name := r.system.asset(v.Version)
	asset, err := r.read(ctx, name, maxAsset)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, r.unverified(fmt.Errorf("%s names %s, and there is none", sumsName, name))
	}
	if err != nil {
		return nil, r.unread(name, err)
	}
	if err := v.sums.check(name, asset); err != nil {
		return nil, r.unverified(err)
	}
	program, err := unpack(asset, r.system.program(), maxUnpacked)
	if err != nil {
		return nil, r.unverified(fmt.Errorf("%s: %w", name, err))
	}
	return program, nil
}

// unverified says that a release is not what it pretends to be.
func (r *Release) unverified(err error) error {
	return &durward.Error{
		Reason: durward.ReleaseUnverified, Op: "verify the release", Err: fmt.Errorf("%s: %w", r.Where, err),
		Hint: "nothing was changed; take the release from its project again, and tell the project if it stays so",
	}
}

// unread says that a file of a release could not be had. A file that is too large, and a
// server that is not proven to be the one named, is no accident.
func (r *Release) unread(name string, err error) error {
	err = fmt.Errorf("%s: %w", name, err)
	if errors.Is(err, errTooLarge) || isUntrusted(err) {
		return r.unverified(err)
	}
	return &durward.Error{
		Reason: durward.ReleaseUnread, Op: "fetch the release", Err: fmt.Errorf("%s: %w", r.Where, err),
		Hint: "nothing was changed; see that the folder can be read or the server be reached, and run it again",
	}
}
