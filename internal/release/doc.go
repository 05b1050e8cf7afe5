// Package release takes a release of this program from a folder or a server, verifies it
// and puts it in the place of the program that is installed.
//
// # What a release is
//
// A release is one folder of plain files, on a disk or below an https address:
//
//	SHA256SUMS                                 the sums of all assets
//	SHA256SUMS.minisig                         its signature, by minisign
//	durward_0.4.0_linux_amd64.tar.gz           one archive for each system, Windows too
//	durward_0.4.0_windows_arm64.tar.gz
//	…                                          packages and whatever else SHA256SUMS lists
//
// A version is a semantic one without build metadata and without a leading v: 0.4.0, or
// 0.4.0-beta.1, which is a pre-release. Systems and processors have the names that Go has
// for them.
//
// SHA256SUMS is what `sha256sum -c` reads: 64 lower-case hexadecimal digits, two spaces,
// a plain name of letters, digits and . _ + ~ -, and a line feed. No name stands there twice.
//
// SHA256SUMS.minisig is a signature of minisign, of either kind: legacy (Ed) or prehashed
// (ED). The words of its trusted comment are divided by blanks, and exactly one of them
// is version:<version>:
//
//	untrusted comment: signature of durward 0.4.0
//	RUQ…
//	trusted comment: timestamp:1700000000	file:SHA256SUMS	version:0.4.0
//	…
//
// An archive holds, at its top, `durward` (durward.exe for Windows), LICENSE, README.md, and
// the folders man and completions. It has regular files and folders only, no name twice,
// and no name that is absolute or leads out. Only the program is placed.
//
// # Several releases
//
// Several releases stand side by side in folders named v<version>. A server also says which
// of them is the newest, in a file of one line, for each channel:
//
//	stable/VERSION      0.4.0            the newest that is no pre-release
//	beta/VERSION        0.5.0-beta.1     the newest pre-release
//	v0.4.0/SHA256SUMS …
//	v0.5.0-beta.1/SHA256SUMS …
//
// That is what any server of plain files can offer, and the releases of a project at GitHub,
// too: <project>/releases/download is the address, each folder is a tag, and stable and beta
// are two tags whose only asset, VERSION, is replaced with each release.
//
// An address whose last part is a version (v0.4.0, or 0.4.0) is one release. Any other is
// asked for <channel>/VERSION; where that is not found it is one release, too. On a disk a
// folder that has a SHA256SUMS is one release, and in any other the newest folder of the
// channel that is named by a version is taken: nobody has to keep VERSION files there.
//
// The name of the folder is the version wanted. The trusted comment has to say the same:
// an old release that is given out under another name is refused, though its signature
// is good. Where no name says which version is wanted, the names of the assets in a folder of
// this machine do, and else the signed one is taken.
//
// # How an update is verified
//
// Each step comes before anything of the next is looked at, and nothing on the disk is changed
// before the last:
//
//  1. SHA256SUMS and its signature are fetched. Addresses are https, also those that a server
//     sends on to, and each file is held to a size.
//  2. The key id of the signature is that of the key, which is built into the program or was
//     named by hand.
//  3. The signature of SHA256SUMS is good, and the second one, over the first and the trusted
//     comment.
//  4. The trusted comment names one version, and it is the wanted one.
//  5. The asset for this system and that version is fetched, and its sum is the one in SHA256SUMS.
//  6. All entries of the archive are what they should be, and what they unpack to is bounded.
//  7. The program starts from where it is to be, and says that version.
//
// What this does not show: that there is nothing newer. A server that gives out an old release as
// the newest, with its own name, is only noticed by a program that is newer itself.
//
// # How the program is replaced
//
// The new program is written beside the old one, synced, and given the name of the previous one,
// durward.previous. Then the two change names in one step, and the same step goes back. Where the
// file system has no such step, the old one gets a third name for a moment, by which the next
// [Open] knows how far it came. On Windows, where a program that runs can only be renamed,
// whoever is killed in that moment has the program under this name, .durward.aside.exe.
package release
