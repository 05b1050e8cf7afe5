package execserver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

func TestFileErrorsHaveTheirCodes(t *testing.T) {
	for _, tt := range []struct {
		method, what string
		reason       durward.Reason
		code         protocol.Code
	}{
		{"fs/readFile", "nothing is there", durward.FileNotFound, -32004},
		{"fs/readFile", "a directory or a device", durward.NotRegularFile, -32600},
		{"fs/readFile", "a file in the way", durward.NotADirectory, -32603},
		{"fs/readFile", "links in a circle", durward.SymlinkLoop, -32603},
		{"fs/readFile", "a name that is too long", durward.PathTooLong, -32603},
		{"fs/readFile", "more than 512 MiB", durward.MaxFileBytes, -32600},
		{"fs/readFile", "no path", durward.MissingField, -32602},
		{"fs/readFile", "a path that is no string", durward.WrongType, -32602},
		{"fs/readFile", "another scheme", durward.BadPath, -32602},
		{"fs/readFile", "another host", durward.PathElsewhere, -32600},
		{"fs/readFile", "no right by the system", durward.FilePermission, -32603},
		{"fs/readFile", "a disk that fails", durward.FileIO, -32603},
		{"fs/writeFile", "bad base64", durward.BadBase64, -32600},
		{"fs/writeFile", "no parent", durward.FileNotFound, -32004},
		{"fs/writeFile", "a directory", durward.IsDirectory, -32603},
		{"fs/writeFile", "not to be written", durward.FilePermission, -32603},
		{"fs/writeFile", "in no set", durward.OutsideRoot, -32600},
		{"fs/writeFile", "several names", durward.HardLink, -32600},
		{"fs/writeFile", "a full disk", durward.NoSpace, -32603},
		{"fs/createDirectory", "it exists, or a file does", durward.FileExists, -32603},
		{"fs/createDirectory", "no parent", durward.FileNotFound, -32004},
		{"fs/getMetadata", "a link that leads nowhere", durward.FileNotFound, -32004},
		{"fs/readDirectory", "a file", durward.NotADirectory, -32603},
		{"fs/remove", "something is in it", durward.DirectoryNotEmpty, -32603},
		{"fs/remove", "nothing is there", durward.FileNotFound, -32004},
		{"fs/copy", "a directory without recursive", durward.NeedsRecursive, -32600},
		{"fs/copy", "into itself", durward.IntoItself, -32600},
		{"fs/copy", "a device", durward.NotRegularFile, -32600},
		{"fs/copy", "a link onto what is there", durward.FileExists, -32603},
		{"fs/copy", "onto a directory", durward.IsDirectory, -32603},
		{"fs/walk", "limits that are none", durward.OutOfRange, -32600},
		{"fs/walk", "limits that are missing", durward.MissingField, -32602},
		{"fs/open", "a directory", durward.NotRegularFile, -32600},
		{"fs/open", "too many", durward.QueueFull, -32603},
		{"fs/open", "another mode", durward.WrongType, -32602},
		{"fs/readBlock", "no such handle", durward.HandleUnknown, -32004},
		{"fs/readBlock", "a length out of range", durward.OutOfRange, -32600},
		{"fs/writeBlock", "bad base64", durward.BadBase64, -32602},
		{"fs/writeBlock", "a handle for reading", durward.HandleOtherWay, -32603},
		{"fs/writeBlock", "no such handle", durward.HandleUnknown, -32004},
	} {
		for _, err := range []error{
			&durward.Error{Reason: tt.reason},
			fmt.Errorf("x: %w", &durward.Error{Kind: durward.Denied, Reason: tt.reason, Err: errors.New("x")}),
		} {
			if code := fsCode(tt.method, err); code != tt.code {
				t.Errorf("%s, %s: %d; want %d", tt.method, tt.what, code, tt.code)
			}
		}
	}
}

// Whatever else goes wrong is answered, too.
func TestEveryReasonHasACodeForFiles(t *testing.T) {
	for _, reason := range durward.Reasons() {
		switch code := fsCode("fs/readFile", &durward.Error{Reason: reason}); code {
		case -32600, -32602, -32603, -32004:
		default:
			t.Errorf("%s: %d", reason, code)
		}
	}
	if code := fsCode("fs/readFile", errors.New("x")); code != -32603 {
		t.Errorf("an error without a reason: %d", code)
	}
}
