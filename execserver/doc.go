// Package execserver embeds the exec server: processes and files of this machine for a
// coding agent, over a WebSocket or standard input and output.
package execserver
