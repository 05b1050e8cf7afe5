package schema

import (
	"bytes"
	"net/netip"
	"strings"
	"time"
)

// A format is a form of texts that is asserted.
type format struct {
	name, says string
	holds      func([]byte) bool
}

// formats are those that are asserted; all others only say something to people.
var formats = [...]format{
	{"uri", "an absolute URI", isURI},
	{"date-time", "a date and time of RFC 3339", isDateTime},
	{"email", "an e-mail address", isEmail},
	{"uuid", "a UUID", isUUID},
}

func formatNamed(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return nil
}

// isUUID knows the form of RFC 4122.
func isUUID(s []byte) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !isHex(c) {
			return false
		}
	}
	return true
}

// isDateTime knows the form of RFC 3339. A second 60 is one that UTC has put in at the end of
// a day.
func isDateTime(s []byte) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) < len(form)+1 {
		return false
	}
	for i := range form {
		if c := s[i] &^ 0x20; form[i] == '0' && !isDigit(s[i]) || form[i] == 'T' && c != 'T' || form[i] != '0' && form[i] != 'T' && s[i] != form[i] {
			return false
		}
	}
	month, day := two(s[5:]), two(s[8:])
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	if month < 1 || month > 12 || day < 1 || day > daysOf(two(s)*100+two(s[2:]), month) || hour > 23 || minute > 59 || second > 60 {
		return false
	}
	zone := s[len(form):]
	if zone[0] == '.' {
		digits := len(zone[1:]) - len(bytes.TrimLeft(zone[1:], "0123456789"))
		if zone = zone[1+digits:]; digits == 0 {
			return false
		}
	}
	offset, ok := offsetOf(zone)
	utc := ((hour*60+minute-offset)%(24*60) + 24*60) % (24 * 60)
	return ok && (second < 60 || utc == 23*60+59)
}

// offsetOf reads Z or ±hh:mm, in minutes.
func offsetOf(zone []byte) (minutes int, ok bool) {
	if len(zone) == 1 {
		return 0, zone[0]&^0x20 == 'Z'
	}
	if len(zone) != len("+00:00") || zone[0] != '+' && zone[0] != '-' || zone[3] != ':' {
		return 0, false
	}
	for _, i := range [...]int{1, 2, 4, 5} {
		if !isDigit(zone[i]) {
			return 0, false
		}
	}
	hour, minute := two(zone[1:]), two(zone[4:])
	if minutes = hour*60 + minute; zone[0] == '-' {
		minutes = -minutes
	}
	return minutes, hour <= 23 && minute <= 59
}

// two reads two digits.
func two(s []byte) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// isEmail knows the mailboxes of RFC 5321.
func isEmail(s []byte) bool {
	at := bytes.LastIndexByte(s, '@')
	if at < 1 || at > 64 {
		return false
	}
	return isLocalPart(s[:at]) && (isHostname(s[at+1:]) || isAddressLiteral(string(s[at+1:])))
}

func isLocalPart(s []byte) bool {
	if s[0] == '"' {
		return isQuoted(s)
	}
	for atom := range bytes.SplitSeq(s, []byte(".")) {
		if len(atom) == 0 {
			return false
		}
		for _, c := range atom {
			if !isAlphanumeric(c) && strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
				return false
			}
		}
	}
	return true
}

func isQuoted(s []byte) bool {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return false
	}
	for inner := s[1 : len(s)-1]; len(inner) > 0; inner = inner[1:] {
		if inner[0] == '\\' && len(inner) > 1 {
			inner = inner[1:]
		} else if inner[0] == '"' || inner[0] == '\\' {
			return false
		}
		if inner[0] < ' ' || inner[0] > '~' {
			return false
		}
	}
	return true
}

func isAddressLiteral(s string) bool {
	inner, ok := strings.CutPrefix(s, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if !ok || !ends {
		return false
	}
	inner, six := strings.CutPrefix(inner, "IPv6:")
	addr, err := netip.ParseAddr(inner)
	return err == nil && addr.Zone() == "" && addr.Is6() == six
}

func isHostname(s []byte) bool {
	if len(s) > 253 {
		return false
	}
	for label := range bytes.SplitSeq(s, []byte(".")) {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range label {
			if !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

// isURI knows the URIs of RFC 3986, which have a scheme.
func isURI(s []byte) bool {
	scheme, rest, found := bytes.Cut(s, []byte(":"))
	if !found || len(scheme) == 0 || isDigit(scheme[0]) {
		return false
	}
	for i, c := range scheme {
		if !isAlphanumeric(c) && (i == 0 || strings.IndexByte("+-.", c) < 0) {
			return false
		}
	}
	rest, fragment, _ := bytes.Cut(rest, []byte("#"))
	path, query, _ := bytes.Cut(rest, []byte("?"))
	if authority, ok := bytes.CutPrefix(path, []byte("//")); ok {
		slash := bytes.IndexByte(authority, '/')
		if slash < 0 {
			slash = len(authority)
		}
		authority, path = authority[:slash], authority[slash:]
		if !isAuthority(authority) {
			return false
		}
	}
	return isMadeOf(path, ":@/") && isMadeOf(query, ":@/?") && isMadeOf(fragment, ":@/?")
}

func isAuthority(s []byte) bool {
	if at := bytes.LastIndexByte(s, '@'); at >= 0 {
		if !isMadeOf(s[:at], ":") {
			return false
		}
		s = s[at+1:]
	}
	port := []byte(nil)
	if colon := bytes.LastIndexByte(s, ':'); colon > bytes.LastIndexByte(s, ']') {
		s, port = s[:colon], s[colon+1:]
	}
	if len(bytes.Trim(port, "0123456789")) > 0 {
		return false
	}
	if len(s) > 0 && s[0] == '[' {
		inner, ends := strings.CutSuffix(string(s[1:]), "]")
		addr, err := netip.ParseAddr(inner)
		return ends && (err == nil && addr.Is6() && addr.Zone() == "" || isFutureAddress(inner))
	}
	return isMadeOf(s, "")
}

// isFutureAddress knows "v1.x".
func isFutureAddress(s string) bool {
	version, address, found := strings.Cut(s, ".")
	return found && len(version) > 1 && version[0]&^0x20 == 'V' && strings.Trim(version[1:], "0123456789abcdefABCDEF") == "" &&
		address != "" && !strings.Contains(address, "%") && isMadeOf([]byte(address), ":")
}

// isMadeOf reports whether there is nothing but what any part of a URI may hold, escapes
// included, and more.
func isMadeOf(s []byte, more string) bool {
	for i, c := range s {
		switch {
		case isAlphanumeric(c), strings.IndexByte("-._~!$&'()*+,;=", c) >= 0, strings.IndexByte(more, c) >= 0:
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
		default:
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlphanumeric(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
