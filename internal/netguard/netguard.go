// Package netguard decides which hosts and addresses a connection may go to.
//
// A host has one canonical form, and what was matched is what is resolved:
//
//	API.Example.com.   api.example.com
//	bücher.example     xn--bcher-kva.example
//	10.1.2.3           10.1.2.3
//	127.1, 0x7f.1      refused: a number in any but its plain form
//
// An allowlist entry names a host, the names below a domain, or one address, and always
// one port:
//
//	api.example.com:443
//	*.example.org:443    a.example.org and a.b.example.org, not example.org
//	10.1.2.3:5432        this address, though it is private
//	[::1]:80
//
// A name never permits a private address: [Judge] refuses every address that is not on
// the public internet unless a range was allowed in so many words. A [Dialer] puts it
// together: it resolves once, judges every address of the answer, and connects to an
// address it judged.
//
// Failures are [*durward.Error] with one of the network reasons.
package netguard
