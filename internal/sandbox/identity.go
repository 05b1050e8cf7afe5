//go:build darwin || (linux && (amd64 || arm64))

package sandbox

import (
	"fmt"
	"os"
	"syscall"

	"github.com/durward/durward"
)

// dedicatedID is the user and group a command runs as when the runtime is root and
// the working directory belongs to root. No distribution gives it to anybody.
const dedicatedID = 65533

// An identity is whom a command runs as.
type identity struct {
	uid, gid uint32
	// change is set when that is not the runtime's own user.
	change bool
}

// identify chooses the identity for a grant. A command of a confining mode never runs
// as host root.
func identify(g durward.Grant, at durward.Level, h Host, dir *os.File) (identity, error) {
	own := identity{uid: h.UID, gid: h.GID}
	wide := g.Mode == durward.DangerFullAccess || g.Mode == durward.External
	switch {
	case g.Identity.Fixed:
		return fixed(g.Identity, h)
	case wide, h.HostUID != 0:
		return own, nil
	case g.Identity.Keep && h.UID == 0 && at >= durward.LevelIsolate:
		return own, nil
	case g.Identity.Keep, h.UID != 0: // the second is host root in a namespace of its own
		return identity{}, &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "identity", Rule: "identity",
			Hint: "write identity: auto, use level 2, or run durward as another user",
			Err:  fmt.Errorf("a command of mode %s is not run as host root", g.Mode),
		}
	}
	return owner(dir), nil
}

func fixed(i durward.Identity, h Host) (identity, error) {
	id := identity{uid: i.UID, gid: i.GID, change: i.UID != h.UID || i.GID != h.GID}
	switch {
	case HostUID(i.UID) == 0:
		return id, &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "identity", Rule: "identity",
			Hint: "name a user other than root", Err: fmt.Errorf("user id 0 is host root"),
		}
	case id.change && h.UID != 0:
		return id, &durward.Error{
			Reason: durward.SandboxUnavailable, Op: "identity", Rule: "identity",
			Hint: "write identity: auto, or run durward as root",
			Err:  fmt.Errorf("only root can run a command as %d:%d", i.UID, i.GID),
		}
	}
	return id, nil
}

// UserOf says whom the commands of a grant run as in a directory: their user id and all
// their groups. It tries nothing.
func UserOf(g durward.Grant, dir *os.File) (uid uint32, gids []uint32, err error) {
	id, err := identify(g, durward.LevelIsolate, ourselves(), dir)
	if err != nil || id.change {
		return id.uid, []uint32{id.gid}, err
	}
	groups, err := os.Getgroups()
	gids = append(gids, id.gid)
	for _, g := range groups {
		gids = append(gids, uint32(g))
	}
	return id.uid, gids, err
}

// owner is the owner of the working directory, or the dedicated id where that is root.
func owner(dir *os.File) identity {
	id := identity{uid: dedicatedID, gid: dedicatedID, change: true}
	info, err := dir.Stat()
	if err != nil {
		return id
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		id.uid = st.Uid
		if st.Gid != 0 {
			id.gid = st.Gid
		}
	}
	return id
}
