package object

import (
	"github.com/durward/durward"
)

// An additionalFS is what is given beside the policy.
type additionalFS struct {
	Read  []string `json:"read"`
	Write []string `json:"write"`
}

// additional reads "additionalPermissions". Where the policy confines nothing there is
// nothing to add to it.
func (r *reader) additional() error {
	if absent(r.object.AdditionalPermissions) {
		return nil
	}
	var a struct {
		Network *struct {
			Enabled *bool `json:"enabled"`
		} `json:"network"`
		FileSystem  *additionalFS `json:"file_system"`
		FileSystem2 *additionalFS `json:"fileSystem"`
	}
	if err := decode(inAdditional, r.object.AdditionalPermissions, &a); err != nil {
		return err
	}
	files, err := either(inAdditional+".file_system", a.FileSystem, a.FileSystem2)
	if err != nil {
		return err
	}
	if a.Network != nil {
		switch enabled := a.Network.Enabled; {
		case enabled == nil:
			return missing(inAdditional + ".network.enabled")
		case *enabled:
			r.c.Network = durward.NetFull
		}
	}
	return r.addFiles(files)
}

func (r *reader) addFiles(files additionalFS) error {
	for _, set := range []struct {
		member string
		texts  []string
		access durward.Access
	}{
		{inAdditional + ".file_system.write", files.Write, durward.AccessWrite},
		{inAdditional + ".file_system.read", files.Read, durward.AccessRead},
	} {
		paths, err := pathsOf(set.member, set.texts)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if confines := r.c.Mode == ""; confines && !r.writes(path) {
				r.add(durward.Entry{Path: path, Access: set.access, Member: set.member})
			}
		}
	}
	return nil
}
