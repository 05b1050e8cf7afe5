package domain

import (
	"errors"
	"strings"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/netguard"
)

// allowlist reads the hosts and ports that a worker may reach.
func (r *reader) allowlist(n *config.Node) netguard.Allowlist {
	var good []string
	r.entries(n, func(text string) error {
		_, err := netguard.ParseAllow([]string{text})
		if err == nil {
			good = append(good, text)
		}
		return err
	})
	list, _ := netguard.ParseAllow(good)
	return list
}

// targets reads the hosts and ports that a worker says it calls.
func (r *reader) targets(n *config.Node) []netguard.Target {
	list := []netguard.Target{}
	r.entries(n, func(text string) error {
		one, err := netguard.ParseAllow([]string{text})
		if err != nil {
			return err
		}
		if len(one.Targets()) == 0 {
			return errors.New("name one host: what it calls is no pattern")
		}
		list = append(list, one.Targets()...)
		return nil
	})
	return list
}

// entries reads a list of "host:port".
func (r *reader) entries(n *config.Node, take func(string) error) {
	r.List(n, func(item *config.Node) {
		text, ok := r.String(item)
		if !ok {
			return
		}
		err := notATarget(text)
		if err == nil {
			err = take(text)
		}
		if err != nil {
			r.Problem(item, "%s: %s; write host:port", item.Path, bare(err))
		}
	})
}

// notATarget finds what people write in place of "host:port".
func notATarget(text string) error {
	switch {
	case strings.Contains(text, "://"):
		return errors.New("it has a scheme")
	case strings.Contains(text, "/"):
		return errors.New("it has a path")
	case text == "*" || strings.HasPrefix(text, "*:"):
		return errors.New("* allows every host")
	}
	return nil
}
