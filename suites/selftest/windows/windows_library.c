/* A library of Windows' of our own, for the selftests of the bridge: without a C runtime, so that every import is meant.
 * x86_64-w64-mingw32-gcc -shared -nostdlib -e entry … -lkernel32 */
typedef unsigned long long u64;
typedef unsigned int u32;
#define EXPORT __declspec(dllexport)
#define IMPORT __declspec(dllimport)

IMPORT void *__stdcall GetProcessHeap(void);
IMPORT void *__stdcall HeapAlloc(void *, u32, u64);
IMPORT int __stdcall HeapFree(void *, u32, void *);
IMPORT void __stdcall RaiseException(u32, u32, u32, const u64 *);
IMPORT void __stdcall RtlUnwind(void *, void *, void *, void *);
IMPORT u32 __stdcall FlsAlloc(void (*)(void *));
IMPORT int __stdcall FlsSetValue(u32, void *);
IMPORT void *__stdcall FlsGetValue(u32);
IMPORT u32 __stdcall GetLastError(void);
IMPORT void __stdcall Sleep(u32);
IMPORT void *__stdcall GetModuleHandleA(const char *);

static u64 attached, refuses;
static u64 *relocated = &attached; /* an address in the data: it needs a relocation */

int entry(void *instance, u32 reason, void *reserved)
{
    (void)instance;
    (void)reserved;
    attached += reason;
    return !refuses;
}

EXPORT u64 times_attached(void) { return *relocated; }

/* Every argument has a weight of its own, so that none can take another's place. */
#define W(n) a##n * (n + 1)
EXPORT u64 sum0(void) { return 7; }
EXPORT u64 sum1(u64 a0) { return W(0); }
EXPORT u64 sum2(u64 a0, u64 a1) { return W(0) + W(1); }
EXPORT u64 sum3(u64 a0, u64 a1, u64 a2) { return W(0) + W(1) + W(2); }
EXPORT u64 sum4(u64 a0, u64 a1, u64 a2, u64 a3) { return W(0) + W(1) + W(2) + W(3); }
EXPORT u64 sum5(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4) { return W(0) + W(1) + W(2) + W(3) + W(4); }
EXPORT u64 sum6(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5) { return W(0) + W(1) + W(2) + W(3) + W(4) + W(5); }
EXPORT u64 sum7(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6); }
EXPORT u64 sum8(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6) + W(7); }
EXPORT u64 sum9(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7, u64 a8)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6) + W(7) + W(8); }
EXPORT u64 sum10(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7, u64 a8, u64 a9)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6) + W(7) + W(8) + W(9); }
EXPORT u64 sum11(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7, u64 a8, u64 a9, u64 a10)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6) + W(7) + W(8) + W(9) + W(10); }
EXPORT u64 sum12(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7, u64 a8, u64 a9, u64 a10, u64 a11)
{ return W(0) + W(1) + W(2) + W(3) + W(4) + W(5) + W(6) + W(7) + W(8) + W(9) + W(10) + W(11); }

/* Calls back with that many arguments: n, n + 1, … */
typedef u64 (*back)();
EXPORT u64 call_back(back f, u64 count, u64 n)
{
    switch (count) {
    case 0: return f();
    case 1: return f(n);
    case 2: return f(n, n + 1);
    case 3: return f(n, n + 1, n + 2);
    case 4: return f(n, n + 1, n + 2, n + 3);
    case 5: return f(n, n + 1, n + 2, n + 3, n + 4);
    case 6: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5);
    case 7: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6);
    case 8: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7);
    case 9: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8);
    case 10: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9);
    case 11: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10);
    default: return f(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11);
    }
}

/* Whether a call keeps what its caller may keep in registers: each is set, f is called, each is compared. */
u64 kept(back f);
EXPORT u64 keeps_registers(back f) { return kept(f); }
__asm__(
    ".globl kept\nkept:\n.seh_proc kept\n"
    "  push %rbx\n  .seh_pushreg %rbx\n  push %rbp\n  .seh_pushreg %rbp\n  push %rdi\n  .seh_pushreg %rdi\n"
    "  push %rsi\n  .seh_pushreg %rsi\n  push %r12\n  .seh_pushreg %r12\n  push %r13\n  .seh_pushreg %r13\n"
    "  push %r14\n  .seh_pushreg %r14\n  push %r15\n  .seh_pushreg %r15\n"
    "  sub $0xc8, %rsp\n  .seh_stackalloc 0xc8\n"
    "  movups %xmm6, 0x20(%rsp)\n  .seh_savexmm %xmm6, 0x20\n  movups %xmm15, 0x30(%rsp)\n  .seh_savexmm %xmm15, 0x30\n"
    "  .seh_endprologue\n"
    "  mov $11, %ebx\n  mov $12, %ebp\n  mov $13, %edi\n  mov $14, %esi\n  mov $15, %r12d\n  mov $16, %r13d\n"
    "  mov $17, %r14d\n  mov $18, %r15d\n  movq %rbx, %xmm6\n  movq %rbp, %xmm15\n"
    "  call *%rcx\n"
    "  xor %eax, %eax\n"
    "  cmp $11, %rbx\n  jne 1f\n  cmp $12, %rbp\n  jne 1f\n  cmp $13, %rdi\n  jne 1f\n  cmp $14, %rsi\n  jne 1f\n"
    "  cmp $15, %r12\n  jne 1f\n  cmp $16, %r13\n  jne 1f\n  cmp $17, %r14\n  jne 1f\n  cmp $18, %r15\n  jne 1f\n"
    "  movq %xmm6, %rdx\n  cmp $11, %rdx\n  jne 1f\n  movq %xmm15, %rdx\n  cmp $12, %rdx\n  jne 1f\n"
    "  mov $1, %eax\n"
    "1:\n"
    "  movups 0x20(%rsp), %xmm6\n  movups 0x30(%rsp), %xmm15\n"
    "  add $0xc8, %rsp\n  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rsi\n  pop %rdi\n  pop %rbp\n  pop %rbx\n"
    "  ret\n.seh_endproc\n");

/* Exceptions: protected_call(f, argument) calls f and returns what it returns, or 1000000 + the exception's number;
 * cleaning_call(f, argument) calls f, and counts in "cleaned" when an exception passes. */
static u64 cleaned, caught_code;
u64 protected_call(u64 (*f)(u64), u64 argument);
u64 cleaning_call(u64 (*f)(u64), u64 argument);
extern char landing[];

struct record { u32 code, flags; struct record *nested; void *address; u32 count, unused; u64 information[15]; };
enum { UNWINDING = 6, SEARCH = 1 };

int catcher(struct record *what, void *frame, void *context, void *how)
{
    (void)context;
    (void)how;
    if (what->flags & UNWINDING || what->code == 0xE0000002) return SEARCH; /* that one it does not catch */
    caught_code = what->code;
    RtlUnwind(frame, landing, what, (void *)(1000000 + what->information[0]));
    return SEARCH;
}

int cleaner(struct record *what, void *frame, void *context, void *how)
{
    (void)frame;
    (void)context;
    (void)how;
    if (what->flags & UNWINDING) cleaned++;
    return SEARCH;
}

int continuing(struct record *what, void *frame, void *context, void *how)
{
    (void)frame;
    (void)context;
    (void)how;
    return what->flags & UNWINDING ? SEARCH : 0; /* go on where it was raised */
}

__asm__(
    ".globl protected_call\n.seh_proc protected_call\nprotected_call:\n"
    "  push %rbx\n  .seh_pushreg %rbx\n  sub $0x20, %rsp\n  .seh_stackalloc 0x20\n  .seh_endprologue\n"
    "  .seh_handler catcher, @except, @unwind\n"
    "  mov %rcx, %rax\n  mov %rdx, %rcx\n  call *%rax\n  nop\n"
    ".globl landing\nlanding:\n"
    "  add $0x20, %rsp\n  pop %rbx\n  ret\n.seh_endproc\n"
    ".globl cleaning_call\n.seh_proc cleaning_call\ncleaning_call:\n"
    "  push %rbp\n  .seh_pushreg %rbp\n  sub $0x40, %rsp\n  .seh_stackalloc 0x40\n"
    "  lea 0x20(%rsp), %rbp\n  .seh_setframe %rbp, 0x20\n  .seh_endprologue\n"
    "  .seh_handler cleaner, @unwind\n"
    "  mov %rcx, %rax\n  mov %rdx, %rcx\n  call *%rax\n  nop\n"
    "  lea 0x20(%rbp), %rsp\n  pop %rbp\n  ret\n.seh_endproc\n"
    ".globl continued_call\n.seh_proc continued_call\ncontinued_call:\n"
    "  sub $0x28, %rsp\n  .seh_stackalloc 0x28\n  .seh_endprologue\n"
    "  .seh_handler continuing, @except\n"
    "  mov %rcx, %rax\n  mov %rdx, %rcx\n  call *%rax\n  nop\n"
    "  add $0x28, %rsp\n  ret\n.seh_endproc\n");
extern u64 continued_call(u64 (*f)(u64), u64 argument);

static u64 raise_it(u64 argument)
{
    RaiseException(0xE0000001, 0, 1, &argument);
    return argument;
}
static u64 raise_final(u64 argument)
{
    RaiseException(0xE0000001, 1, 1, &argument);
    return argument;
}
static u64 quiet(u64 argument) { return argument + 5; }
static u64 deep(u64 argument)
{
    volatile char room[300];
    room[argument % 300] = 1;
    return argument % 100 ? cleaning_call(deep, argument - 1) + room[argument % 300] : raise_it(argument);
}
static u64 again(u64 argument)
{
    u64 first = protected_call(raise_it, argument);
    RaiseException(0xE0000001, 0, 1, &first);
    return 0;
}
static u64 not_caught_inside(u64 argument)
{
    RaiseException(0xE0000002, 0, 1, &argument);
    return 3;
}

EXPORT u64 not_raised(u64 argument) { return protected_call(quiet, argument); }
EXPORT u64 raised_and_caught(u64 argument) { return protected_call(raise_it, argument); }
EXPORT u64 raised_deep(u64 argument) { cleaned = 0; return protected_call(deep, argument) + (cleaned << 32); }
EXPORT u64 raised_again(u64 argument) { return protected_call(again, argument); }
EXPORT u64 went_on(u64 argument) { return continued_call(raise_it, argument); }
EXPORT u64 went_on_wrongly(u64 argument) { return continued_call(raise_final, argument); }
EXPORT u64 passed_by(u64 argument) { return protected_call(not_caught_inside, argument); }
EXPORT u64 not_caught(u64 argument) { return not_caught_inside(argument); }
EXPORT u64 many_times(u64 count)
{
    u64 sum = 0;
    for (u64 n = 0; n < count; n++) sum += protected_call(raise_it, n) - 1000000;
    return sum;
}

/* Data of threads. */
static u32 slot = (u32)-1;
static u64 ended;
static void ending(void *value) { ended += (u64)value; }
EXPORT u64 remember(u64 value)
{
    if (slot == (u32)-1) slot = FlsAlloc(ending);
    u64 before = (u64)FlsGetValue(slot);
    FlsSetValue(slot, (void *)value);
    return before;
}
EXPORT u64 sum_of_ended(void) { return ended; }

/* The thread's block, through gs. */
EXPORT u64 block_is_itself(void)
{
    u64 self, itself;
    __asm__("mov %%gs:0x30, %0" : "=r"(self));
    itself = *(u64 *)(self + 0x30);
    return self && self == itself;
}

EXPORT u64 allocate_and_free(u64 bytes)
{
    void *block = HeapAlloc(GetProcessHeap(), 8, bytes);
    u64 clear = block && !((char *)block)[bytes - 1];
    return clear && HeapFree(GetProcessHeap(), 0, block);
}

EXPORT void call_what_is_missing(void) { Sleep(1); }
EXPORT u64 never_called(void) { return (u64)GetModuleHandleA(0) + GetLastError(); }
