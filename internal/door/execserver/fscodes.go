package execserver

import "github.com/durward/durward"

// Codes of errors. The first four are those of JSON-RPC.
const (
	codeInvalidRequest = -32600
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32004
)

// fsCodes are the codes of what goes wrong with files: what is refused by a rule or is of the
// wrong kind is an invalid request, and what is not in the table an internal error.
var fsCodes = map[durward.Reason]int{
	durward.FileNotFound:  codeNotFound,
	durward.ParentMissing: codeNotFound,
	durward.HandleUnknown: codeNotFound,

	durward.MissingField: codeInvalidParams,
	durward.UnknownField: codeInvalidParams,
	durward.WrongType:    codeInvalidParams,
	durward.BadJSON:      codeInvalidParams,
	durward.BadEncoding:  codeInvalidParams,
	durward.BadBase64:    codeInvalidParams,
	durward.BadPath:      codeInvalidParams,
	durward.EmptyPath:    codeInvalidParams,
	durward.NULInPath:    codeInvalidParams,

	durward.PathElsewhere:     codeInvalidRequest,
	durward.OutOfRange:        codeInvalidRequest,
	durward.OutsideRoot:       codeInvalidRequest,
	durward.OutsideZones:      codeInvalidRequest,
	durward.SymlinkTarget:     codeInvalidRequest,
	durward.NotRegularFile:    codeInvalidRequest,
	durward.SpecialFilesystem: codeInvalidRequest,
	durward.NetworkFS:         codeInvalidRequest,
	durward.HardLink:          codeInvalidRequest,
	durward.MaxFileBytes:      codeInvalidRequest,
	durward.OutputTooLarge:    codeInvalidRequest,
	durward.NeedsRecursive:    codeInvalidRequest,
	durward.IntoItself:        codeInvalidRequest,
	durward.QueueFull:         codeInvalidRequest,
	durward.ModeDenied:        codeInvalidRequest,
	durward.NetworkDenied:     codeInvalidRequest,
	durward.NotSupported:      codeInvalidRequest,
}

// fsCode gives the code that answers a call of a method for files that ended with an error.
func fsCode(method string, err error) int {
	reason := durward.ReasonOf(err)
	if reason == durward.BadBase64 && method == "fs/writeFile" {
		return codeInvalidRequest
	}
	if code, ok := fsCodes[reason]; ok {
		return code
	}
	return codeInternal
}
