// Package durward names what the doors, the core and the engines say to each other.
//
// A door turns a protocol message into a [Call]. A source offers a [Tool]. Policy
// answers with a [Decision] that carries a [Grant]. An engine carries the call out
// under that grant, and what comes back is a [Result] or an [Error]. Everything here
// is data: no type in this package reads a file, a clock or the network, and only
// the standard library is imported.
package durward
