#include "go_asm.h"
#include "textflag.h"

// MARK stands behind the last instruction of a program: "<end of text>".
#define MARK \
	WORD $0x3c000000; WORD $0x20646e65; WORD $0x7420666f; WORD $0x3e747865

// The reaper: process 1 of a call. See reaper_linux.go for what it is told and what
// it reports. It is never run inside this process: its bytes are wrapped in an ELF
// file of their own. So it may refer to nothing outside itself.
//
// Register use: R19 the block, R20 the current step, R21 its index, R22 which list is
// running, R23 the command's process id until it has been reaped.
//
//	lists: 0 before the fork, 1 in the command's process, 2 after the fork, 3 at the end

TEXT ·reaper(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R20              // argc, argv…, 0, envp…
	MOVD $const_reaperBase, R19

	// the block comes through the control pipe: first its size, then the rest
	MOVD $const_reaperControlFD, R0
	MOVD R19, R1
	MOVD $8, R2
	MOVD $63, R8               // read
	SVC
	CMP  $8, R0
	BNE  die
	MOVD $8, R23
more:
	MOVD reaperBlock_size(R19), R2
	SUBS R23, R2, R2
	BLE  loaded
	MOVD $const_reaperControlFD, R0
	ADD  R23, R19, R1
	MOVD $63, R8               // read
	SVC
	CMP  $0, R0
	BLE  die
	ADD  R0, R23
	B    more

loaded:
	// the step that executes the command takes argv and envp from our own stack
	MOVD (R20), R9
	ADD  $8, R20, R10
	MOVD reaperBlock_argv(R19), R11
	MOVD R10, (R11)
	ADD  R9<<3, R10, R10
	ADD  $8, R10
	MOVD reaperBlock_envp(R19), R11
	MOVD R10, (R11)

	MOVD reaperBlock_before(R19), R20
	MOVD ZR, R22
	B    list

fork:
	MOVD reaperBlock_cloneFlags(R19), R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8              // clone
	SVC
	CMP  $0, R0
	BLT  forkFailed
	BNE  forked
	MOVD reaperBlock_command(R19), R20
	MOVD $1, R22
	B    list
forkFailed:
	NEG  R0, R0
	MOVD $-1, R21
	B    fail
forked:
	MOVD R0, R23
	MOVD reaperBlock_after(R19), R20
	MOVD $2, R22
	B    list

	// run a list of steps
list:
	MOVD ZR, R21
step:
	MOVD step_nr(R20), R8
	CMN  $1, R8
	BEQ  listDone
	MOVD (step_args+0)(R20), R0
	MOVD (step_args+8)(R20), R1
	MOVD (step_args+16)(R20), R2
	MOVD (step_args+24)(R20), R3
	MOVD (step_args+32)(R20), R4
	MOVD (step_args+40)(R20), R5
	SVC
	CMN  $4095, R0
	BCC  stepOK
	NEG  R0, R0
	MOVD step_allow(R20), R9
	CMN  $1, R9
	BEQ  next
	CMP  R0, R9
	BEQ  next
fail:
	// a record of its own: the command's process may share our memory
	MOVD $const_recordFailed, R9
	MOVW R9, (reaperBlock_failure+record_kind)(R19)
	MOVW R21, (reaperBlock_failure+record_a)(R19)
	MOVW R0, (reaperBlock_failure+record_b)(R19)
	MOVW R22, (reaperBlock_failure+record_c)(R19)
	MOVD $const_reaperStatusFD, R0
	ADD  $reaperBlock_failure, R19, R1
	MOVD $record__size, R2
	MOVD $64, R8               // write
	SVC
	CMP  $2, R22
	BEQ  ended                 // the command runs: end it, too
die:
	MOVD $127, R0
	MOVD $94, R8               // exit_group
	SVC
	B    die
stepOK:
	MOVD step_out(R20), R9
	CBZ  R9, next
	MOVD R0, (R9)
next:
	ADD  $step__size, R20
	ADD  $1, R21
	B    step
listDone:
	CMP  $0, R22
	BEQ  fork
	CMP  $1, R22
	BEQ  die
	CMP  $3, R22
	BEQ  sweep

	MOVD ZR, R22               // from here on: whether an exit waits to be reported
	MOVD reaperBlock_eager(R19), R9
	CBZ  R9, reap
	MOVD $const_recordStarted, R9
	MOVW R9, (reaperBlock_record+record_kind)(R19)
	MOVD $const_reaperStatusFD, R0
	ADD  $reaperBlock_record, R19, R1
	MOVD $record__size, R2
	MOVD $64, R8               // write
	SVC

	// see who has ended before reaping them: until then the command's id is its own,
	// and its group's, who get TERM
reap:
	MOVD ZR, R0                // P_ALL
	MOVD ZR, R1
	MOVD $const_reaperScratch, R2
	MOVD $0x41000005, R3       // WEXITED | WNOHANG | WNOWAIT | __WALL
	MOVD ZR, R4
	MOVD $95, R8               // waitid
	SVC
	CMP  $0, R0
	BLT  noneLeft
	MOVD $const_reaperScratch, R9
	MOVWU siginfo_pid(R9), R21
	CBZ  R21, someLeft
	CMP  R23, R21
	BNE  take
	NEG  R23, R0
	MOVD reaperBlock_parting(R19), R1
	MOVD $129, R8              // kill
	SVC
take:
	MOVD R21, R0
	ADD  $reaperBlock_wstatus, R19, R1
	MOVD $0x40000000, R2       // __WALL
	ADD  $reaperBlock_rusage, R19, R3
	MOVD $260, R8              // wait4
	SVC
	CMP  R23, R0
	BNE  reap
	// the command itself: keep its status and usage, then look for others
	MOVD ZR, R23
	MOVD $1, R22
	MOVW reaperBlock_wstatus(R19), R9
	MOVW R9, (reaperBlock_record+record_a)(R19)
	ADD  $reaperBlock_rusage, R19, R10
	ADD  $(reaperBlock_record+record_rusage), R19, R11
	MOVD ZR, R21
copy:
	MOVD (R10)(R21), R9
	MOVD R9, (R11)(R21)
	ADD  $8, R21
	CMP  $const_rusageSize, R21
	BLT  copy
	B    reap

noneLeft:
	MOVD $1, R9
	MOVW R9, (reaperBlock_record+record_b)(R19)
	B    end
someLeft:
	CBZ  R22, wait
	MOVD reaperBlock_eager(R19), R9
	CBZ  R9, linger
	MOVD ZR, R21
report:
	MOVD ZR, R22
	MOVD $const_recordExited, R9
	MOVW R9, (reaperBlock_record+record_kind)(R19)
	MOVD reaperBlock_noted(R19), R10
	MOVD 0(R10), R9
	MOVD R9, (reaperBlock_record+record_seconds)(R19)
	MOVD 8(R10), R9
	MOVD R9, (reaperBlock_record+record_nanoseconds)(R19)
	MOVD $const_reaperStatusFD, R0
	ADD  $reaperBlock_record, R19, R1
	MOVD $record__size, R2
	MOVD $64, R8               // write
	SVC
	CBNZ R21, ended
	B    wait

	// the command is over: what it left behind has a moment to end by itself
linger:
	MOVD reaperBlock_timeout(R19), R9
	CBNZ R9, wait              // it is running out already
	ADD  $reaperBlock_linger, R19, R9
	MOVD R9, reaperBlock_timeout(R19)

wait:
	ADD  $reaperBlock_polls, R19, R0
	MOVD $2, R1
	MOVD reaperBlock_timeout(R19), R2 // the kernel leaves there what remains of it
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $73, R8               // ppoll
	SVC
	CMP  $0, R0
	BEQ  end                   // the moment has passed
	BGT  woken
	CMN  $4, R0                // EINTR
	BNE  end                   // somebody has broken the poll: that is the end of the call
woken:
	MOVD $const_reaperSignalFD, R0
	MOVD $const_reaperScratch, R1
	MOVD $const_scratchSize, R2
	MOVD $63, R8               // read: forget the SIGCHLDs seen
	SVC
	MOVD $const_reaperControlFD, R0
	MOVD $const_reaperScratch, R1
	MOVD $1, R2
	MOVD $63, R8               // read; the pipe does not block
	SVC
	CMP  $0, R0
	BEQ  end
	BLT  reap
	// one byte is a signal for the command's group, while its id is still its own
	CBZ  R23, reap
	NEG  R23, R0
	MOVD $const_reaperScratch, R1
	MOVBU (R1), R1
	MOVD $129, R8              // kill
	SVC
	B    reap

end:
	MOVD $1, R21
	CBNZ R22, report           // and come back
ended:
	MOVD reaperBlock_end(R19), R20
	MOVD $3, R22
	B    list

	// kill children until there are none: each is ours until we reap it, so its
	// number cannot have been given to anybody else
sweep:
	MOVD reaperBlock_children(R19), R20
	CBZ  R20, die
again:
	MOVD $-100, R0             // AT_FDCWD
	MOVD R20, R1
	MOVD $0x80000, R2          // O_RDONLY | O_CLOEXEC
	MOVD ZR, R3
	MOVD $56, R8               // openat
	SVC
	CMP  $0, R0
	BLT  die
	MOVD R0, R21
	MOVD $const_reaperScratch, R1
	MOVD $const_scratchSize, R2
	MOVD $63, R8               // read
	SVC
	MOVD R0, R22
	MOVD R21, R0
	MOVD $57, R8               // close
	SVC
	MOVD $const_reaperScratch, R10
	MOVD ZR, R21               // position
	MOVD ZR, R23               // the number being read
	MOVD $10, R11
digit:
	CMP  R22, R21
	BGE  swept
	MOVBU (R10)(R21), R9
	ADD  $1, R21
	CMP  $0x20, R9
	BEQ  number
	SUB  $0x30, R9
	MADD R11, R9, R23, R23     // R23*10 + R9
	B    digit
number:
	MOVD R23, R0
	MOVD $9, R1
	MOVD $129, R8              // kill
	SVC
	MOVD ZR, R23
	B    digit
swept:
	CBZ  R22, collect          // nobody is left to be killed
	MOVD ZR, R0
	MOVD ZR, R1
	ADD  $reaperBlock_pause, R19, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $73, R8               // ppoll: let them die
	SVC
collect:
	MOVD $-1, R0
	MOVD ZR, R1
	MOVD $0x40000001, R2       // WNOHANG | __WALL
	MOVD ZR, R3
	MOVD $260, R8              // wait4
	SVC
	CMP  $0, R0
	BGT  collect
	BEQ  again
	B    die

	MARK
	RET

// func reaperText() *byte
TEXT ·reaperText(SB), NOSPLIT, $0-8
	MOVD $·reaper(SB), R0
	MOVD R0, ret+0(FP)
	RET

// The orphan: the program of a probe. It starts a child, deaf to TERM, that sleeps for
// ever in a session of its own, and exits: with 0, or with 1 when no child could be made.

TEXT ·orphan(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $-1, R9
	MOVD R9, 0(RSP)            // argc is not needed
	MOVD $2, R0                // SIG_SETMASK
	MOVD RSP, R1
	MOVD ZR, R2
	MOVD $8, R3
	MOVD $135, R8              // rt_sigprocmask
	SVC
	MOVD $17, R0               // SIGCHLD
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $220, R8              // clone
	SVC
	CBZ  R0, sleeper
	LSR  $63, R0               // 1 for an error, 0 for a process id
	MOVD $94, R8               // exit_group
	SVC
sleeper:
	MOVD $157, R8              // setsid
	SVC
sleep:
	MOVD ZR, R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $73, R8               // ppoll of nothing, without an end
	SVC
	B    sleep
	MARK
	RET

// func orphanText() *byte
TEXT ·orphanText(SB), NOSPLIT, $0-8
	MOVD $·orphan(SB), R0
	MOVD R0, ret+0(FP)
	RET
