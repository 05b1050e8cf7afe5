//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/durward/durward"
)

// A command that root runs as somebody else has its processes counted in a user
// namespace that only its call lives in. To make one takes a fifth of the time that a
// whole start does, so those whose calls are over are kept for the next. They belong to
// us and not to the command's user: whoever else runs as that user gains nothing in them.

// userNamespaces are the namespaces that no call lives in, by the ids known in them.
type userNamespaces struct {
	most uint64 // processes that our own user may have

	mu   sync.Mutex
	free map[account][]*os.File // guarded by mu
	maps map[account]*os.File   // guarded by mu; see owners
	shut bool                   // guarded by mu; nothing is kept any more
}

// An account is the one user and the one group known in a namespace.
type account struct{ uid, gid uint32 }

// An accountMap is a file of a process's and what makes its namespace know an account.
type accountMap struct{ file, content string }

// accountMaps makes an account known under its own numbers.
func accountMaps(a account) []accountMap {
	return []accountMap{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", a.uid, a.uid)},
		{"gid_map", fmt.Sprintf("%d %d 1", a.gid, a.gid)},
	}
}

// mostKept bounds the namespaces kept for one account.
const mostKept = 32

func newUserNamespaces(most uint64) *userNamespaces {
	return &userNamespaces{most: most, free: make(map[account][]*os.File), maps: make(map[account]*os.File)}
}

// take gives a namespace that nobody lives in.
func (u *userNamespaces) take(of account) (*os.File, error) {
	u.mu.Lock()
	free := u.free[of]
	if n := len(free); n > 0 {
		ns := free[n-1]
		u.free[of] = free[:n-1]
		u.mu.Unlock()
		return ns, nil
	}
	u.mu.Unlock()
	return makeUserNamespace(of, u.most)
}

// put gives one back in which nobody lives any more.
func (u *userNamespaces) put(of account, ns *os.File) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.shut || len(u.free[of]) >= mostKept {
		ns.Close()
		return
	}
	u.free[of] = append(u.free[of], ns)
}

func (u *userNamespaces) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shut = true
	for _, free := range u.free {
		for _, ns := range free {
			ns.Close()
		}
	}
	for _, ns := range u.maps {
		ns.Close()
	}
	clear(u.free)
	clear(u.maps)
}

// owners gives the namespace by which files that belong to root look as if they belonged
// to an account, and all others as they are. It stays ours.
func (u *userNamespaces) owners(of account) (*os.File, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if ns := u.maps[of]; ns != nil {
		return ns, nil
	}
	ns, err := unshareUsers(u.most, []accountMap{{"uid_map", rootAs(of.uid)}, {"gid_map", rootAs(of.gid)}})
	if err != nil {
		return nil, fmt.Errorf("show root's files as the command's: %w", err)
	}
	if u.shut {
		ns.Close()
		return nil, os.ErrClosed
	}
	u.maps[of] = ns
	return ns, nil
}

// shows reports whether the file system of a directory can show other owners. Where it
// cannot, it is shown as it is.
func (u *userNamespaces) shows(as account, dir *os.File) (bool, error) {
	ns, err := u.owners(as)
	if err != nil {
		return false, err
	}
	tree, err := unix.OpenTree(fdOf(dir), "", cloneTree|unix.AT_EMPTY_PATH)
	if err != nil {
		return false, err
	}
	defer unix.Close(tree)
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(fdOf(ns))})
	if err == unix.EINVAL {
		return false, nil
	}
	return err == nil, err
}

// rootAs is a map in which 0 is id, and every other number but id is itself.
func rootAs(id uint32) string {
	const all = 1 << 16
	return fmt.Sprintf("0 %d 1\n1 1 %d\n%d %d %d\n", id, id-1, id+1, id+1, all-id-1)
}

// makeUserNamespace has a process unshare one, writes its maps, and opens it; the
// process has ended when it returns. The kernel notes at that moment how many processes
// our own user may have, and holds those of the namespace to it, too: that is to be as
// many as can be.
func makeUserNamespace(of account, most uint64) (*os.File, error) {
	ns, err := unshareUsers(most, accountMaps(of))
	if err != nil {
		return nil, fmt.Errorf("own user namespace: %w", err)
	}
	return ns, nil
}

func unshareUsers(most uint64, maps []accountMap) (*os.File, error) {
	unbounded := setLimit("process count", unix.RLIMIT_NPROC, math.MaxUint64)
	unbounded.Allow = unix.EPERM // root may be kept from it
	return namespace("user", errand{cgroup: -1, list: []Call{
		setLimit("process count", unix.RLIMIT_NPROC, most),
		unbounded,
		{Name: "own user namespace", NR: unix.SYS_UNSHARE, Args: []Arg{number(unix.CLONE_NEWUSER)}},
	}}, maps)
}

// leaveNamespaces gives back those that are kept when the tree is dead. One in which
// somebody may live on is not used again.
func (p *Process) leaveNamespaces() {
	empty := p.plan.Report.Guarantees[durward.Kill].Held == durward.HeldKernel
	switch {
	case p.users == nil:
	case empty:
		p.host.users.put(account{p.plan.UID, p.plan.GID}, p.users)
	default:
		p.users.Close()
	}
	switch {
	case p.net == nil:
	case empty && p.plan.ownNet:
		p.host.nets.put(p.net)
	default:
		p.net.Close()
	}
	if p.plan.freshNet {
		p.host.nets.freshen()
	}
}
