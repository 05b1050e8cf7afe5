//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// furnish takes what a call at level 2 finds ready, and gives it its numbers.
func (s *starter) furnish(h Host) ([]placement, error) {
	var place []placement
	if s.plan.owners {
		owners, err := h.users.owners(account{s.plan.UID, s.plan.GID})
		if err != nil {
			return nil, err
		}
		place = append(place, placement{fdOf(owners), roomOwnersFD})
	}
	if s.plan.ownNet {
		net, err := h.nets.take()
		if err != nil {
			return nil, err
		}
		s.net = net
		place = append(place, placement{fdOf(net), roomNetFD})
	}
	if h.UID != 0 {
		return place, nil
	}
	kept, err := h.rooms.take(s.plan, h)
	if err != nil || kept == nil {
		return place, err
	}
	s.kept = kept
	return append(place, placement{fdOf(kept.ns), roomKeptFD}), nil
}

// room gives the calls that make the tree of files.
func (s *starter) room() []Call {
	var calls []Call
	if s.net != nil {
		calls = append(calls, Call{Name: "own network", NR: unix.SYS_SETNS, Args: []Arg{number(roomNetFD), number(unix.CLONE_NEWNET)}})
	}
	room := s.plan.Room
	if s.kept != nil {
		room = s.plan.Enter
	}
	return slices.Concat(calls, s.plan.Sources, room, s.plan.Own)
}

// namespaces are those that the first process is born in: its mounts come with the room
// where one is kept.
func (s *starter) namespaces() uintptr {
	if s.kept != nil {
		return s.plan.Namespaces &^ unix.CLONE_NEWNS
	}
	return s.plan.Namespaces
}
