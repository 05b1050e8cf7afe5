package execserver

import (
	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// fsCodes are the codes of what goes wrong with files: what is refused by a rule or is of the
// wrong kind is an invalid request, and what is not in the table an internal error.
var fsCodes = map[durward.Reason]protocol.Code{
	durward.FileNotFound:  protocol.NotFound,
	durward.ParentMissing: protocol.NotFound,
	durward.HandleUnknown: protocol.NotFound,

	durward.MissingField: protocol.InvalidParams,
	durward.UnknownField: protocol.InvalidParams,
	durward.WrongType:    protocol.InvalidParams,
	durward.BadJSON:      protocol.InvalidParams,
	durward.BadEncoding:  protocol.InvalidParams,
	durward.BadBase64:    protocol.InvalidParams,
	durward.BadPath:      protocol.InvalidParams,
	durward.EmptyPath:    protocol.InvalidParams,
	durward.NULInPath:    protocol.InvalidParams,

	durward.PathElsewhere:     protocol.InvalidRequest,
	durward.OutOfRange:        protocol.InvalidRequest,
	durward.OutsideRoot:       protocol.InvalidRequest,
	durward.OutsideZones:      protocol.InvalidRequest,
	durward.SymlinkTarget:     protocol.InvalidRequest,
	durward.NotRegularFile:    protocol.InvalidRequest,
	durward.SpecialFilesystem: protocol.InvalidRequest,
	durward.NetworkFS:         protocol.InvalidRequest,
	durward.HardLink:          protocol.InvalidRequest,
	durward.MaxFileBytes:      protocol.InvalidRequest,
	durward.OutputTooLarge:    protocol.InvalidRequest,
	durward.NeedsRecursive:    protocol.InvalidRequest,
	durward.IntoItself:        protocol.InvalidRequest,
	durward.ModeDenied:        protocol.InvalidRequest,
	durward.NetworkDenied:     protocol.InvalidRequest,
	durward.NotSupported:      protocol.InvalidRequest,
}

// fsCode gives the code that answers a call of a method for files that ended with an error.
func fsCode(method string, err error) protocol.Code {
	reason := durward.ReasonOf(err)
	if reason == durward.BadBase64 && method == protocol.FSWriteFile {
		return protocol.InvalidRequest
	}
	if code, ok := fsCodes[reason]; ok {
		return code
	}
	return protocol.InternalError
}
