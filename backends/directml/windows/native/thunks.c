/* From one calling convention to the other.
 *
 * Nothing is written into executable memory: each thunk is an entry of an array of instructions that the compiler
 * laid down, and loads its target out of an array of addresses beside it. Sources: the System V x86-64 psABI;
 * Microsoft's pages "x64 calling convention" and "x64 stack usage".
 *
 * Windows: rcx rdx r8 r9, then the stack above 32 bytes of the caller's; rsi, rdi and xmm6 to xmm15 are kept.
 * System V: rdi rsi rdx rcx r8 r9, then the stack. */
#include "bridge.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THUNKS 4096
#define STEP 16

const void *bridge_here_targets[THUNKS] __attribute__((visibility("hidden")));
const void *bridge_there_targets[THUNKS] __attribute__((visibility("hidden")));
static const char *missing_names[THUNKS];
static uint32_t here_count, there_count, missing_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Read by the thunks; in the thread's own block, for they can call nothing to find it. */
__attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread int bridge_thread_is_ready;

__asm__(
    ".text\n"
    ".macro ENTRIES name, common\n"
    ".p2align 4\n.globl \\name\n.hidden \\name\n\\name:\n"
    ".set number, 0\n"
    ".rept 4096\n"
    "  .p2align 4\n"
    "  mov $number, %r11d\n"
    "  jmp \\common\n"
    "  .set number, number + 1\n"
    ".endr\n"
    ".p2align 4\n"
    ".endm\n"
    "ENTRIES there_entries, to_system_v\n"
    "ENTRIES here_entries, to_windows\n"
    "ENTRIES missing_entries, to_missing\n"

    /* The library calls: keep what its convention has kept, and pass on what may be eight more arguments. */
    "to_missing:\n"
    "  lea missing_called(%rip), %rax\n"
    "  mov %r11, %rcx\n"
    "  jmp 1f\n"
    "to_system_v:\n"
    "  lea bridge_there_targets(%rip), %rax\n"
    "  mov (%rax,%r11,8), %rax\n"
    "1:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  push %rdi\n  push %rsi\n"
    "  sub $0xa0, %rsp\n"
    "  movdqu %xmm6, (%rsp)\n  movdqu %xmm7, 0x10(%rsp)\n  movdqu %xmm8, 0x20(%rsp)\n  movdqu %xmm9, 0x30(%rsp)\n"
    "  movdqu %xmm10, 0x40(%rsp)\n  movdqu %xmm11, 0x50(%rsp)\n  movdqu %xmm12, 0x60(%rsp)\n"
    "  movdqu %xmm13, 0x70(%rsp)\n  movdqu %xmm14, 0x80(%rsp)\n  movdqu %xmm15, 0x90(%rsp)\n"
    "  push 0x68(%rbp)\n  push 0x60(%rbp)\n  push 0x58(%rbp)\n  push 0x50(%rbp)\n  push 0x48(%rbp)\n  push 0x40(%rbp)\n"
    "  mov %rax, %r11\n"
    "  mov %rcx, %rdi\n  mov %rdx, %rsi\n  mov %r8, %rdx\n  mov %r9, %rcx\n  mov 0x30(%rbp), %r8\n  mov 0x38(%rbp), %r9\n"
    "  xor %eax, %eax\n"
    "  call *%r11\n"
    "  add $0x30, %rsp\n"
    "  movdqu (%rsp), %xmm6\n  movdqu 0x10(%rsp), %xmm7\n  movdqu 0x20(%rsp), %xmm8\n  movdqu 0x30(%rsp), %xmm9\n"
    "  movdqu 0x40(%rsp), %xmm10\n  movdqu 0x50(%rsp), %xmm11\n  movdqu 0x60(%rsp), %xmm12\n"
    "  movdqu 0x70(%rsp), %xmm13\n  movdqu 0x80(%rsp), %xmm14\n  movdqu 0x90(%rsp), %xmm15\n"
    "  add $0xa0, %rsp\n  pop %rsi\n  pop %rdi\n  pop %rbp\n  ret\n"

    /* We call: six arguments in registers and up to six more become four and eight. */
    "to_windows:\n"
    "  push %rbp\n  mov %rsp, %rbp\n"
    "  lea bridge_here_targets(%rip), %rax\n"
    "  mov (%rax,%r11,8), %r11\n"
    "  mov bridge_thread_is_ready@gottpoff(%rip), %rax\n"
    "  cmpl $0, %fs:(%rax)\n"
    "  je 2f\n"
    "1:\n"
    "  sub $0x60, %rsp\n"
    "  mov %r8, 0x20(%rsp)\n  mov %r9, 0x28(%rsp)\n"
    "  mov 0x10(%rbp), %rax\n  mov %rax, 0x30(%rsp)\n  mov 0x18(%rbp), %rax\n  mov %rax, 0x38(%rsp)\n"
    "  mov 0x20(%rbp), %rax\n  mov %rax, 0x40(%rsp)\n  mov 0x28(%rbp), %rax\n  mov %rax, 0x48(%rsp)\n"
    "  mov 0x30(%rbp), %rax\n  mov %rax, 0x50(%rsp)\n  mov 0x38(%rbp), %rax\n  mov %rax, 0x58(%rsp)\n"
    "  mov %rcx, %r9\n  mov %rdx, %r8\n  mov %rsi, %rdx\n  mov %rdi, %rcx\n"
    "  call *%r11\n"
    "  leave\n  ret\n"
    "2:\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %r11\n  push %r11\n"
    "  call enter_thread\n"
    "  pop %r11\n  pop %r11\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  jmp 1b\n"
);

extern const uint8_t there_entries[], here_entries[], missing_entries[];

FROM_ASSEMBLER uint64_t missing_called(uint64_t number)
{
    give_up("the library calls %s, which is not provided", missing_names[number]);
}

static void *thunk(const void **targets, uint32_t *count, const uint8_t *entries, const void *target)
{
    void *made = NULL;
    pthread_mutex_lock(&lock);
    uint32_t place = 0;
    while (place < *count && targets[place] != target) place++;
    if (place < THUNKS) {
        targets[place] = target;
        if (place == *count) *count = place + 1;
        made = (void *)(entries + (uint64_t)place * STEP);
    }
    pthread_mutex_unlock(&lock);
    return made;
}

PUBLIC void *bridge_callable_there(const void *function)
{
    return thunk(bridge_there_targets, &there_count, there_entries, function);
}

PUBLIC void *bridge_callable_here(const void *function)
{
    return thunk(bridge_here_targets, &here_count, here_entries, function);
}

PUBLIC void *bridge_missing(const char *name)
{
    void *made = NULL;
    pthread_mutex_lock(&lock);
    uint32_t place = 0;
    while (place < missing_count && strcmp(missing_names[place], name)) place++;
    if (place < THUNKS) {
        if (place == missing_count) missing_names[missing_count++] = strdup(name);
        made = (void *)(missing_entries + (uint64_t)place * STEP);
    }
    pthread_mutex_unlock(&lock);
    return made;
}
