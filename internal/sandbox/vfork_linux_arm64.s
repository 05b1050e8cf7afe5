#include "go_asm.h"
#include "textflag.h"

// Register use: R19 the scratch, R20 the current step, R21 its index. A child that
// shares our memory may not touch the stack: everything it needs is in registers or
// behind R19 and R20, and no signal can reach it because all are blocked.

// func vfork(call *vforkCall) (pid int)
TEXT ·vfork(SB), NOSPLIT, $0-16
	MOVD call+0(FP), R19

	// block every signal, keeping the old mask
	MOVD $2, R0
	ADD  $vforkCall_block, R19, R1
	ADD  $vforkCall_mask, R19, R2
	MOVD $8, R3
	MOVD $135, R8              // rt_sigprocmask
	SVC

	MOVD vforkCall_nr(R19), R8
	MOVD (vforkCall_args+0)(R19), R0
	MOVD (vforkCall_args+8)(R19), R1
	MOVD (vforkCall_args+16)(R19), R2
	MOVD (vforkCall_args+24)(R19), R3
	MOVD (vforkCall_args+32)(R19), R4
	SVC                        // clone or clone3
	CBZ  R0, child
	MOVD R0, pid+8(FP)

	MOVD $2, R0
	ADD  $vforkCall_mask, R19, R1
	MOVD ZR, R2
	MOVD $8, R3
	MOVD $135, R8
	SVC
	RET

child:
	MOVD vforkCall_list(R19), R20
	MOVD ZR, R21
step:
	MOVD step_nr(R20), R8
	CMN  $1, R8
	BEQ  exit
	MOVD (step_args+0)(R20), R0
	MOVD (step_args+8)(R20), R1
	MOVD (step_args+16)(R20), R2
	MOVD (step_args+24)(R20), R3
	MOVD (step_args+32)(R20), R4
	MOVD (step_args+40)(R20), R5
	SVC
	CMN  $4095, R0
	BCC  done
	NEG  R0, R0
	MOVD step_allow(R20), R9
	CMN  $1, R9
	BEQ  next
	CMP  R0, R9
	BEQ  next
	MOVD R21, vforkCall_failStep(R19)
	MOVD R0, vforkCall_failErrno(R19)
exit:
	MOVD $127, R0
	MOVD $94, R8               // exit_group
	SVC
	B    exit
done:
	MOVD step_out(R20), R9
	CBZ  R9, next
	MOVD R0, (R9)
next:
	ADD  $step__size, R20
	ADD  $1, R21
	B    step
