#include "go_asm.h"
#include "textflag.h"

// Register use: R12 the scratch, R13 the current step, R14 its index. A child that
// shares our memory may not touch the stack: everything it needs is in registers or
// behind R12 and R13, and no signal can reach it because all are blocked.

// func vfork(call *vforkCall) (pid int)
TEXT ·vfork(SB), NOSPLIT, $0-16
	MOVQ call+0(FP), R12

	// block every signal, keeping the old mask
	MOVQ $2, DI
	LEAQ vforkCall_block(R12), SI
	LEAQ vforkCall_mask(R12), DX
	MOVQ $8, R10
	MOVL $14, AX               // rt_sigprocmask
	SYSCALL

	MOVQ vforkCall_nr(R12), AX
	MOVQ vforkCall_args+0(R12), DI
	MOVQ vforkCall_args+8(R12), SI
	MOVQ vforkCall_args+16(R12), DX
	MOVQ vforkCall_args+24(R12), R10
	MOVQ vforkCall_args+32(R12), R8
	SYSCALL                    // clone or clone3
	TESTQ AX, AX
	JEQ  child
	MOVQ AX, pid+8(FP)

	MOVQ $2, DI
	LEAQ vforkCall_mask(R12), SI
	XORL DX, DX
	MOVQ $8, R10
	MOVL $14, AX
	SYSCALL
	RET

child:
	MOVQ vforkCall_list(R12), R13
	XORL R14, R14
step:
	MOVQ step_nr(R13), AX
	CMPQ AX, $-1
	JEQ  exit
	MOVQ step_args+0(R13), DI
	MOVQ step_args+8(R13), SI
	MOVQ step_args+16(R13), DX
	MOVQ step_args+24(R13), R10
	MOVQ step_args+32(R13), R8
	MOVQ step_args+40(R13), R9
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JLS  done
	NEGQ AX
	MOVQ step_allow(R13), CX
	CMPQ CX, $-1
	JEQ  next
	CMPQ CX, AX
	JEQ  next
	MOVQ R14, vforkCall_failStep(R12)
	MOVQ AX, vforkCall_failErrno(R12)
exit:
	MOVQ $127, DI
	MOVL $231, AX              // exit_group
	SYSCALL
	JMP  exit
done:
	MOVQ step_out(R13), CX
	TESTQ CX, CX
	JEQ  next
	MOVQ AX, (CX)
next:
	ADDQ $step__size, R13
	INCQ R14
	JMP  step
