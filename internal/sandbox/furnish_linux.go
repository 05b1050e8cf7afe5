//go:build linux && (amd64 || arm64)

package sandbox

import "golang.org/x/sys/unix"

// furnish takes what a call at level 2 finds ready, and gives it its numbers.
func (s *starter) furnish(h Host) ([]placement, error) {
	var place []placement
	if s.plan.owners {
		owners, err := h.users.owners(account{s.plan.UID, s.plan.GID})
		if err != nil {
			return nil, err
		}
		s.owners = owners
		place = append(place, placement{fdOf(owners), roomOwnersFD})
	}
	if err := s.findNet(h); err != nil {
		return nil, err
	}
	if s.net != nil {
		place = append(place, placement{fdOf(s.net), roomNetFD})
	}
	if h.UID != 0 {
		return place, nil
	}
	kept, err := h.rooms.take(*s.plan, h)
	if err != nil || kept == nil {
		return place, err
	}
	s.kept = kept
	return append(place, placement{fdOf(kept.ns), roomKeptFD}), nil
}

// findNet takes a network namespace that was made before, if there is one of the kind.
func (s *starter) findNet(h Host) (err error) {
	switch {
	case s.plan.ownNet:
		s.net, err = h.nets.take()
	case s.plan.freshNet:
		s.net = h.nets.takeFresh()
	}
	return err
}

// enterNet enters a network namespace that was made before.
func enterNet() Call {
	return Call{Name: "own network", NR: unix.SYS_SETNS, Args: []Arg{number(roomNetFD), number(unix.CLONE_NEWNET)}}
}

// namespaces are those that the first process is born in, without those that it enters.
func (s *starter) namespaces() uintptr {
	flags := s.plan.Namespaces
	if s.kept != nil {
		flags &^= unix.CLONE_NEWNS
	}
	if s.net != nil {
		flags &^= unix.CLONE_NEWNET
	}
	return flags
}
