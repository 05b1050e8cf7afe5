// Package protocol holds what a client of an exec server and the server say to each
// other: one struct for the params, the result or the notification of each method.
//
// A message is one JSON object in one WebSocket text frame, or on one line, without a
// "jsonrpc" member:
//
//	{"id":1,"method":"initialize","params":{"clientName":"me","resumeSessionId":null}}
//	{"id":1,"result":{"sessionId":"6f1c…","environmentInfo":{…}}}
//	{"method":"initialized","params":{}}
//	{"id":2,"method":"process/start","params":{"processId":"p","argv":["ls"],"cwd":"file:///w","env":{},"tty":false}}
//	{"id":2,"result":{"processId":"p"}}
//	{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"YQo="}}
//	{"method":"process/exited","params":{"processId":"p","seq":2,"exitCode":0,"sandboxDenied":false}}
//	{"method":"process/closed","params":{"processId":"p","seq":3}}
//
// [Decode] reads params, results and notifications strictly, [Encode] writes them.
// A field is an optional member when it is a pointer, or when its tag says omitempty,
// omitzero or wire:"optional"; an optional member that is null counts as absent.
// Paths are absolute, or file: URIs.
//
// # What is durward's own
//
// Methods of durward's own begin with "durward/"; members of its own stand in one
// member "durward" of the params or result they add to. A server says in
// [Capabilities] which of them it has, and another server passes over the member and
// refuses the method.
//
//	capability                 adds
//	durwardResize              durward/process/resize
//	durwardCloseStdin          durward/process/closeStdin
//	durwardTerminateGrace      durward.graceMs of process/terminate
//	durwardList                durward/process/list
//	durwardLimits              durward.limits of initialize
//	durwardFlow                durward.flow of process/start, durward/process/ack
//
// # Flow: output of which nothing is lost
//
// A server keeps the newest 1 MiB of a process's output. What a client that lost its
// connection did not get in time is gone, and the child never notices. A process that
// was started with durward.flow behaves otherwise:
//
//   - The client acknowledges what it has taken, by the notification
//     durward/process/ack with a sequence number: everything up to it is done with.
//     At the start that number is 0. It never goes down: a lower one changes nothing,
//     and neither does one that was not given out yet or an unknown process. [AckAll]
//     gives flow up: from then on the process is as one that was started without.
//   - Nothing else acknowledges: not that a notification was sent, not that a
//     process/read was answered, whatever its afterSeq. An answer can be lost on its way.
//   - A chunk that is not acknowledged is never dropped. Acknowledged ones stay readable
//     as those of every process do: the newest 1 MiB, oldest dropped first.
//   - While 1 MiB ([FlowBytes]), or 50 000 chunks ([FlowChunks]), are not acknowledged,
//     the server reads nothing from the child, so the child waits as it would for any
//     full pipe. A chunk is taken when it fits, or when nothing is unacknowledged.
//   - This holds whether a connection is attached or not. A child of a detached session
//     fills the window and waits; when the session ends, it is killed like any other,
//     and what waits for the window is let go.
//   - Exit and close take their sequence numbers but no room in the window. The exit
//     comes behind what was printed before it, unless that has to wait for the window.
//     The close comes after all output, so it waits as long as output does. Limits of time go on counting, and terminate works as always; what
//     a killed child left in its pipe is read as the window allows.
//   - Notifications are sent as always. A client reads them without ever stopping,
//     because no more than the window can be on the way for one process.
//
// A client resumes without loss like this: it opens a connection, sends initialize with
// resumeSessionId and initialized, acknowledges once more what it has taken, and asks by
// process/read for what comes after the last number it has, until the answer meets the
// notifications that arrive meanwhile. Whatever it sees twice it knows by its number.
//
// Holes in the numbers tell the client what is lost, flow or not, if it reads without
// maxBytes: the server drops the oldest, so what is missing before the first chunk of an
// answer is gone, and a number missing behind it is the exit or the close. For that the
// members of an answer have to be of one moment.
package protocol
