//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// The first process of a call hands over what only it can make: the sockets in its network
// namespace, then the upper layers of what is written to copies. Each comes in a message of
// its own, in the order of the plan, before that process executes anything.

// hands reports whether there is anything to hand over.
func (v view) hands() bool { return len(v.ways)+len(v.layered()) > 0 }

// openHand gives the first process an end to hand them over by.
func (s *starter) openHand(place []placement) ([]placement, error) {
	if len(s.plan.ways)+len(s.plan.copies) == 0 {
		return place, nil
	}
	if err := s.socket(&s.hand, unix.SOCK_SEQPACKET); err != nil {
		return nil, err
	}
	return append(place, placement{s.lent[len(s.lent)-1], roomHandFD}), nil
}

// takeHanded takes what was handed over.
func (s *starter) takeHanded(h Host) error {
	defer func() {
		closeFDs(s.hand)
		s.hand = -1
	}()
	for _, w := range s.plan.ways {
		l, err := takeListener(s.hand)
		if err != nil {
			return &StepError{Step: stepListen + w.String(), Errno: errnoOf(err)}
		}
		s.ways = append(s.ways, Way{l, w.target})
	}
	for _, p := range s.plan.copies {
		c, err := takeCopy(s.hand, p)
		if err != nil {
			return &StepError{Step: stepCopy + p.path, Errno: errnoOf(err)}
		}
		c.UserAttributes = s.plan.shape.own.uid != 0
		c.UID, c.GID = s.plan.UID, s.plan.GID
		if p.owned {
			c.owned = func() (bool, error) { return h.users.shows(account{c.UID, c.GID}, c.Lower) }
		}
		s.copies = append(s.copies, c)
	}
	return nil
}

func takeListener(end int) (net.Listener, error) {
	f, err := takeFile(end, "listener")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

// takeCopy opens what the copy is of, too: what stood there when the plan was made.
func takeCopy(end int, p place) (Copy, error) {
	upper, err := takeFile(end, "what was written in "+p.path)
	if err != nil {
		return Copy{}, err
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, p.path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		upper.Close()
		return Copy{}, err
	}
	c := Copy{Path: p.path, Lower: os.NewFile(uintptr(fd), p.path), Upper: upper}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != p.device || st.Ino != p.inode {
		c.Close()
		return Copy{}, unix.ESTALE
	}
	return c, nil
}

// takeFile takes one descriptor.
func takeFile(end int, name string) (*os.File, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(end, make([]byte, 1), control, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, unix.EBADMSG
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%d descriptors: %w", len(fds), unix.EBADMSG)
	}
	return os.NewFile(uintptr(fds[0]), name), nil
}

func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return unix.EBADMSG
	}
	return errno
}

func closeWays(list []Way) {
	for _, w := range list {
		w.Close()
	}
}
