#include "go_asm.h"
#include "textflag.h"

// MARK stands behind the last instruction of a program: ud2, "<end of text>".
#define MARK \
	BYTE $0x0f; BYTE $0x0b; \
	BYTE $'<'; BYTE $'e'; BYTE $'n'; BYTE $'d'; BYTE $' '; BYTE $'o'; BYTE $'f'; \
	BYTE $' '; BYTE $'t'; BYTE $'e'; BYTE $'x'; BYTE $'t'; BYTE $'>'; BYTE $0

// The reaper: process 1 of a call. See reaper_linux.go for what it is told and what
// it reports. It is never run inside this process: its bytes are wrapped in an ELF
// file of their own. So it may refer to nothing outside itself.
//
// Register use: R12 the block, R13 the current step, R14 its index, R15 which list is
// running, BX the command's process id until it has been reaped.
//
//	lists: 0 before the fork, 1 in the command's process, 2 after the fork, 3 at the end

TEXT ·reaper(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, R13               // argc, argv…, 0, envp…
	MOVQ $const_reaperBase, R12

	// the block comes through the control pipe: first its size, then the rest
	MOVQ $const_reaperControlFD, DI
	MOVQ R12, SI
	MOVQ $8, DX
	XORL AX, AX                // read
	SYSCALL
	CMPQ AX, $8
	JNE  die
	MOVQ $8, BX
more:
	MOVQ reaperBlock_size(R12), DX
	SUBQ BX, DX
	JLE  loaded
	MOVQ $const_reaperControlFD, DI
	LEAQ (R12)(BX*1), SI
	XORL AX, AX                // read
	SYSCALL
	CMPQ AX, $0
	JLE  die
	ADDQ AX, BX
	JMP  more

loaded:
	// the step that executes the command takes argv and envp from our own stack
	MOVQ (R13), AX
	LEAQ 8(R13), CX
	MOVQ reaperBlock_argv(R12), DX
	MOVQ CX, (DX)
	LEAQ 8(CX)(AX*8), CX
	MOVQ reaperBlock_envp(R12), DX
	MOVQ CX, (DX)

	MOVQ reaperBlock_before(R12), R13
	XORL R15, R15
	JMP  list

fork:
	MOVQ reaperBlock_cloneFlags(R12), DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX               // clone
	SYSCALL
	CMPQ AX, $0
	JLT  forkFailed
	JNE  forked
	MOVQ reaperBlock_command(R12), R13
	MOVL $1, R15
	JMP  list
forkFailed:
	NEGQ AX
	MOVL $-1, R14
	JMP  fail
forked:
	MOVQ AX, BX
	MOVQ reaperBlock_after(R12), R13
	MOVL $2, R15
	JMP  list

	// run a list of steps
list:
	XORL R14, R14
step:
	MOVQ step_nr(R13), AX
	CMPQ AX, $-1
	JEQ  listDone
	MOVQ step_args+0(R13), DI
	MOVQ step_args+8(R13), SI
	MOVQ step_args+16(R13), DX
	MOVQ step_args+24(R13), R10
	MOVQ step_args+32(R13), R8
	MOVQ step_args+40(R13), R9
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JLS  stepOK
	NEGQ AX
	MOVQ step_allow(R13), CX
	CMPQ CX, $-1
	JEQ  next
	CMPQ CX, AX
	JEQ  next
fail:
	// a record of its own: the command's process may share our memory
	MOVL $const_recordFailed, reaperBlock_failure+record_kind(R12)
	MOVL R14, reaperBlock_failure+record_a(R12)
	MOVL AX, reaperBlock_failure+record_b(R12)
	MOVL R15, reaperBlock_failure+record_c(R12)
	MOVQ $const_reaperStatusFD, DI
	LEAQ reaperBlock_failure(R12), SI
	MOVQ $record__size, DX
	MOVL $1, AX                // write
	SYSCALL
	CMPQ R15, $2
	JEQ  ended                 // the command runs: end it, too
die:
	MOVQ $127, DI
	MOVL $231, AX              // exit_group
	SYSCALL
	JMP  die
stepOK:
	MOVQ step_out(R13), CX
	TESTQ CX, CX
	JEQ  next
	MOVQ AX, (CX)
next:
	ADDQ $step__size, R13
	INCQ R14
	JMP  step
listDone:
	CMPQ R15, $0
	JEQ  fork
	CMPQ R15, $1
	JEQ  die
	CMPQ R15, $3
	JEQ  sweep

	XORL R15, R15              // from here on: whether an exit waits to be reported
	MOVQ reaperBlock_eager(R12), CX
	TESTQ CX, CX
	JEQ  reap
	MOVL $const_recordStarted, reaperBlock_record+record_kind(R12)
	MOVQ $const_reaperStatusFD, DI
	LEAQ reaperBlock_record(R12), SI
	MOVQ $record__size, DX
	MOVL $1, AX                // write
	SYSCALL

	// see who has ended before reaping them: until then the command's id is its own,
	// and its group's, who get TERM
reap:
	XORL DI, DI                // P_ALL
	XORL SI, SI
	MOVQ $const_reaperScratch, DX
	MOVQ $0x41000005, R10      // WEXITED | WNOHANG | WNOWAIT | __WALL
	XORL R8, R8
	MOVL $247, AX              // waitid
	SYSCALL
	CMPQ AX, $0
	JLT  noneLeft
	MOVQ $const_reaperScratch, CX
	MOVL siginfo_pid(CX), R14
	TESTQ R14, R14
	JEQ  someLeft
	CMPQ R14, BX
	JNE  take
	MOVQ BX, DI
	NEGQ DI
	MOVQ reaperBlock_parting(R12), SI
	MOVL $62, AX               // kill
	SYSCALL
take:
	MOVQ R14, DI
	LEAQ reaperBlock_wstatus(R12), SI
	MOVQ $0x40000000, DX       // __WALL
	LEAQ reaperBlock_rusage(R12), R10
	MOVL $61, AX               // wait4
	SYSCALL
	CMPQ AX, BX
	JNE  reap
	// the command itself: keep its status and usage, then look for others
	XORL BX, BX
	MOVL $1, R15
	MOVL reaperBlock_wstatus(R12), CX
	MOVL CX, reaperBlock_record+record_a(R12)
	MOVQ $0, R14
copy:
	MOVQ reaperBlock_rusage(R12)(R14*1), CX
	MOVQ CX, reaperBlock_record+record_rusage(R12)(R14*1)
	ADDQ $8, R14
	CMPQ R14, $const_rusageSize
	JLT  copy
	JMP  reap

noneLeft:
	MOVL $1, reaperBlock_record+record_b(R12)
	JMP  end
someLeft:
	TESTQ R15, R15
	JEQ  wait
	MOVQ reaperBlock_eager(R12), CX
	TESTQ CX, CX
	JEQ  linger
	XORL R14, R14
report:
	XORL R15, R15
	MOVL $const_recordExited, reaperBlock_record+record_kind(R12)
	MOVQ reaperBlock_noted(R12), CX
	MOVQ 0(CX), DX
	MOVQ DX, reaperBlock_record+record_seconds(R12)
	MOVQ 8(CX), DX
	MOVQ DX, reaperBlock_record+record_nanoseconds(R12)
	MOVQ $const_reaperStatusFD, DI
	LEAQ reaperBlock_record(R12), SI
	MOVQ $record__size, DX
	MOVL $1, AX                // write
	SYSCALL
	TESTQ R14, R14
	JNE  ended
	JMP  wait

	// the command is over: what it left behind has a moment to end by itself
linger:
	MOVQ reaperBlock_timeout(R12), CX
	TESTQ CX, CX
	JNE  wait                  // it is running out already
	LEAQ reaperBlock_linger(R12), CX
	MOVQ CX, reaperBlock_timeout(R12)

wait:
	LEAQ reaperBlock_polls(R12), DI
	MOVQ $2, SI
	MOVQ reaperBlock_timeout(R12), DX // the kernel leaves there what remains of it
	XORL R10, R10
	XORL R8, R8
	MOVL $271, AX              // ppoll
	SYSCALL
	CMPQ AX, $0
	JEQ  end                   // the moment has passed
	JGT  woken
	CMPQ AX, $-4               // EINTR
	JNE  end                   // somebody has broken the poll: that is the end of the call
woken:
	MOVQ $const_reaperSignalFD, DI
	MOVQ $const_reaperScratch, SI
	MOVQ $const_scratchSize, DX
	XORL AX, AX                // read: forget the SIGCHLDs seen
	SYSCALL
	MOVQ $const_reaperControlFD, DI
	MOVQ $const_reaperScratch, SI
	MOVQ $1, DX
	XORL AX, AX                // read; the pipe does not block
	SYSCALL
	CMPQ AX, $0
	JEQ  end
	JLT  reap
	// one byte is a signal for the command's group, while its id is still its own
	TESTQ BX, BX
	JEQ  reap
	MOVQ BX, DI
	NEGQ DI
	MOVBLZX (SI), SI
	MOVL $62, AX               // kill
	SYSCALL
	JMP  reap

end:
	MOVL $1, R14
	TESTQ R15, R15
	JNE  report                // and come back
ended:
	MOVQ reaperBlock_end(R12), R13
	MOVL $3, R15
	JMP  list

	// kill children until there are none: each is ours until we reap it, so its
	// number cannot have been given to anybody else
sweep:
	MOVQ reaperBlock_children(R12), R13
	TESTQ R13, R13
	JEQ  die
again:
	MOVQ $-100, DI             // AT_FDCWD
	MOVQ R13, SI
	MOVQ $0x80000, DX          // O_RDONLY | O_CLOEXEC
	XORL R10, R10
	MOVL $257, AX              // openat
	SYSCALL
	CMPQ AX, $0
	JLT  die
	MOVQ AX, R14
	MOVQ R14, DI
	MOVQ $const_reaperScratch, SI
	MOVQ $const_scratchSize, DX
	XORL AX, AX                // read
	SYSCALL
	MOVQ AX, R15
	MOVQ R14, DI
	MOVL $3, AX                // close
	SYSCALL
	XORL R14, R14              // position
	XORL BX, BX                // the number being read
digit:
	CMPQ R14, R15
	JGE  swept
	MOVQ $const_reaperScratch, SI
	MOVBLZX (SI)(R14*1), CX
	INCQ R14
	CMPQ CX, $0x20
	JEQ  number
	SUBQ $0x30, CX
	IMULQ $10, BX
	ADDQ CX, BX
	JMP  digit
number:
	MOVQ BX, DI
	MOVQ $9, SI
	MOVL $62, AX               // kill
	SYSCALL
	XORL BX, BX
	JMP  digit
swept:
	TESTQ R15, R15
	JEQ  collect               // nobody is left to be killed
	LEAQ reaperBlock_pause(R12), DX
	XORL DI, DI
	XORL SI, SI
	XORL R10, R10
	MOVL $271, AX              // ppoll: let them die
	SYSCALL
collect:
	MOVQ $-1, DI
	XORL SI, SI
	MOVQ $0x40000001, DX       // WNOHANG | __WALL
	XORL R10, R10
	MOVL $61, AX               // wait4
	SYSCALL
	CMPQ AX, $0
	JGT  collect
	JEQ  again
	JMP  die

	MARK
	RET

// func reaperText() *byte
TEXT ·reaperText(SB), NOSPLIT, $0-8
	LEAQ ·reaper(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// The orphan: the program of a probe. It starts a child, deaf to TERM, that sleeps for
// ever in a session of its own, and exits: with 0, or with 1 when no child could be made.

TEXT ·orphan(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $-1, 0(SP)            // argc is not needed
	MOVQ $2, DI                // SIG_SETMASK
	MOVQ SP, SI
	XORL DX, DX
	MOVQ $8, R10
	MOVL $14, AX               // rt_sigprocmask
	SYSCALL
	MOVQ $17, DI               // SIGCHLD
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $56, AX               // clone
	SYSCALL
	CMPQ AX, $0
	JEQ  sleeper
	MOVQ $0, DI
	JGT  exit
	MOVQ $1, DI
exit:
	MOVL $231, AX              // exit_group
	SYSCALL
sleeper:
	MOVL $112, AX              // setsid
	SYSCALL
sleep:
	XORL DI, DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVL $271, AX              // ppoll of nothing, without an end
	SYSCALL
	JMP  sleep
	MARK
	RET

// func orphanText() *byte
TEXT ·orphanText(SB), NOSPLIT, $0-8
	LEAQ ·orphan(SB), AX
	MOVQ AX, ret+0(FP)
	RET
