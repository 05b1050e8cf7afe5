package execserver

import (
	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// fsCode gives the code that answers a call of a method for files that ended with an error:
// what is refused by a rule or is of the wrong kind is an invalid request, and what is not in
// the table an internal error.
func fsCode(method string, err error) protocol.Code {
	reason := durward.ReasonOf(err)
	if reason == durward.BadBase64 && method == protocol.FSWriteFile {
		return protocol.InvalidRequest
	}
	switch reason {
	case durward.FileNotFound, durward.ParentMissing, durward.HandleUnknown:
		return protocol.NotFound
	case durward.MissingField, durward.UnknownField, durward.WrongType, durward.BadJSON, durward.BadEncoding,
		durward.BadBase64, durward.BadPath, durward.EmptyPath, durward.NULInPath:
		return protocol.InvalidParams
	case durward.PathElsewhere, durward.OutOfRange, durward.OutsideRoot, durward.OutsideZones,
		durward.SymlinkTarget, durward.NotRegularFile, durward.SpecialFilesystem, durward.NetworkFS,
		durward.HardLink, durward.MaxFileBytes, durward.OutputTooLarge, durward.NeedsRecursive, durward.IntoItself,
		durward.ModeDenied, durward.NetworkDenied, durward.NotSupported:
		return protocol.InvalidRequest
	}
	return protocol.InternalError
}
