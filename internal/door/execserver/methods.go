package execserver

import (
	"strings"

	"github.com/durward/durward/execserver/protocol"
)

// A handler does what one method asks for.
type handler func(*conn, request)

// handlerOf gives what does a method; nil for one that is not known.
func handlerOf(method string) handler {
	switch method {
	case protocol.Initialize:
		return decoded(func(p protocol.InitializeParams) error { return short(p.ClientName) }, (*conn).initialize)
	case protocol.EnvironmentInfoCall:
		return later((*conn).environmentInfo)
	case protocol.EnvironmentStatus:
		return later((*conn).environmentStatus)
	case protocol.HTTPRequest:
		return checked(func(p protocol.HTTPRequestParams) error { return short(p.RequestID) }, (*conn).requestHTTP)
	}
	if strings.HasPrefix(method, "fs/") {
		return fileHandler(method)
	}
	return processHandler(method)
}

func processHandler(method string) handler {
	switch method {
	case protocol.ProcessStart:
		return checked(checkStart, (*conn).startProcess)
	case protocol.ProcessRead:
		return later((*conn).readProcess)
	case protocol.ProcessWrite:
		return checked(checkWrite, (*conn).writeProcess)
	case protocol.ProcessSignal:
		return later((*conn).signalProcess)
	case protocol.ProcessTerminate:
		return later((*conn).terminateProcess)
	case protocol.ProcessResize:
		return later((*conn).resizeProcess)
	case protocol.ProcessCloseStdin:
		return later((*conn).closeStdin)
	case protocol.ProcessList:
		return later((*conn).listProcesses)
	}
	return nil
}

// decoded has a method done once its params are read; check, which may be nil, says what else
// is wrong with them.
func decoded[P any](check func(P) error, do func(*conn, request, P)) handler {
	return func(c *conn, r request) {
		p, err := protocol.Decode[P](r.Params)
		if err == nil && check != nil {
			err = check(p)
		}
		if err != nil {
			c.answer(r, nil, err)
			return
		}
		do(c, r, p)
	}
}

// checked has a method done that is for the time behind the handshake. What is wrong with
// its params is told before that it comes too early.
func checked[P any](check func(P) error, do func(*conn, request, P)) handler {
	return decoded(check, func(c *conn, r request, p P) {
		if err := c.allowed(family(r.Method)); err != nil {
			c.answer(r, nil, err)
			return
		}
		do(c, r, p)
	})
}

func later[P any](do func(*conn, request, P)) handler { return checked(nil, do) }

// family is what the methods of one kind are called together.
func family(method string) string {
	switch area, _, _ := strings.Cut(strings.TrimPrefix(method, "durward/"), "/"); area {
	case "process":
		return "exec"
	case "fs":
		return "filesystem"
	default:
		return area
	}
}
