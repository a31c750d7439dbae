/* Exceptions inside a library of Windows', unwound by its own tables.
 *
 * The library brings the handlers of its language; the system gives them the stack: it walks the frames, asks each
 * frame's handler, and in a second pass lets the handlers clean up until the frame is reached that catches. Sources:
 * Microsoft's pages "x64 exception handling" (tables, epilogues) and "RtlUnwindEx", and the structures of winnt.h.
 *
 * Frames that are not the library's end the walk: an exception never crosses this bridge. */
#include "bridge.h"

#include <string.h>

typedef struct {
    uint32_t begin, end, unwind;
} entry;

typedef struct {
    uint64_t low, high;
} xmm;

/* CONTEXT: the registers of a frame. */
typedef struct __attribute__((aligned(16))) {
    uint64_t home[6];
    uint32_t flags, mxcsr;
    uint16_t segments[6];
    uint32_t eflags;
    uint64_t debug[6];
    uint64_t general[16]; /* in the order of their numbers: rax rcx rdx rbx rsp rbp rsi rdi r8 … */
    uint64_t rip;
    uint8_t floating[0xa0];
    xmm vector[16];
    uint8_t rest[0x4d0 - 0x2a0];
} context;

_Static_assert(offsetof(context, general) == 0x78 && offsetof(context, rip) == 0xf8, "the assembler knows these");
_Static_assert(offsetof(context, vector) == 0x1a0 && sizeof(context) == 0x4d0, "the assembler knows these");

/* EXCEPTION_RECORD */
typedef struct record {
    uint32_t code, flags;
    struct record *nested;
    uint64_t address;
    uint32_t count, unused;
    uint64_t information[15];
} record;

/* DISPATCHER_CONTEXT */
typedef struct {
    uint64_t pc, base;
    const entry *function;
    uint64_t frame, target;
    context *registers;
    void *handler, *data, *history;
    uint32_t scope, unused;
} dispatcher;

enum { RAX = 0, RSP = 4 };
enum { NONCONTINUABLE = 1, UNWINDING = 2, EXIT_UNWIND = 4, TARGET_UNWIND = 0x20 };
enum { HANDLES_EXCEPTIONS = 1, HANDLES_UNWINDING = 2, CHAINED = 4 };
enum { CONTINUE_EXECUTION = 0, CONTINUE_SEARCH = 1 };
enum { MOST_CHAINED = 32, MOST_INFORMATION = 15 };
#define STATUS_UNWIND 0xc0000027u
#define STATUS_UNWIND_CONSOLIDATE 0x80000029u

int call_handler(void *handler, record *what, uint64_t frame, context *at, dispatcher *how, context *above);
uint64_t call_catch(void *block, record *what, context *catching);
void resume(const context *at) __attribute__((noreturn));
extern const uint8_t handler_returns[], catch_returns[];

__asm__(
    ".text\n"
    /* Two frames that a walk recognises by the address that they return to. In the slot above the four arguments'
       space they keep the registers with which the walk goes on: what lies between is of this bridge. */
    ".globl call_handler\n.hidden call_handler\ncall_handler:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  sub $0x30, %rsp\n"
    "  mov %r9, 0x28(%rsp)\n"
    "  mov %rdi, %rax\n  mov %rcx, %r10\n  mov %r8, %r9\n  mov %r10, %r8\n  mov %rsi, %rcx\n"
    "  call *%rax\n"
    ".globl handler_returns\n.hidden handler_returns\nhandler_returns:\n"
    "  leave\n  ret\n"
    ".globl call_catch\n.hidden call_catch\ncall_catch:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  sub $0x30, %rsp\n"
    "  mov %rdx, 0x28(%rsp)\n"
    "  mov %rsi, %rcx\n"
    "  call *%rdi\n"
    ".globl catch_returns\n.hidden catch_returns\ncatch_returns:\n"
    "  leave\n  ret\n"

    /* Go on with these registers. The address to go to lies just below the new stack, where System V promises that no
       signal writes. */
    ".globl resume\n.hidden resume\nresume:\n"
    "  movdqu 0x200(%rdi), %xmm6\n  movdqu 0x210(%rdi), %xmm7\n  movdqu 0x220(%rdi), %xmm8\n"
    "  movdqu 0x230(%rdi), %xmm9\n  movdqu 0x240(%rdi), %xmm10\n  movdqu 0x250(%rdi), %xmm11\n"
    "  movdqu 0x260(%rdi), %xmm12\n  movdqu 0x270(%rdi), %xmm13\n  movdqu 0x280(%rdi), %xmm14\n"
    "  movdqu 0x290(%rdi), %xmm15\n"
    "  mov 0x80(%rdi), %rcx\n  mov 0x88(%rdi), %rdx\n  mov 0x90(%rdi), %rbx\n  mov 0xa0(%rdi), %rbp\n"
    "  mov 0xb8(%rdi), %r8\n  mov 0xc0(%rdi), %r9\n  mov 0xc8(%rdi), %r10\n  mov 0xd0(%rdi), %r11\n"
    "  mov 0xd8(%rdi), %r12\n  mov 0xe0(%rdi), %r13\n  mov 0xe8(%rdi), %r14\n  mov 0xf0(%rdi), %r15\n"
    "  mov 0x98(%rdi), %rax\n"
    "  mov 0xf8(%rdi), %rsi\n  mov %rsi, -8(%rax)\n"
    "  mov 0xb0(%rdi), %rsi\n  mov %rsi, -16(%rax)\n"
    "  mov 0xa8(%rdi), %rsi\n  mov %rsi, -24(%rax)\n"
    "  mov 0x78(%rdi), %rsi\n  mov %rsi, -32(%rax)\n"
    "  mov %rax, %rsp\n"
    "  mov -24(%rsp), %rsi\n  mov -16(%rsp), %rdi\n  mov -32(%rsp), %rax\n"
    "  jmp *-8(%rsp)\n"

    /* Entered from the library: the registers of its caller are taken down, and C goes on with them. */
    ".macro WITH_REGISTERS name, function\n"
    ".globl \\name\n.hidden \\name\n\\name:\n"
    "  push %rbp\n  mov %rsp, %rbp\n  sub $0x4e0, %rsp\n  and $-16, %rsp\n"
    "  mov %rax, 0x78(%rsp)\n  mov %rcx, 0x80(%rsp)\n  mov %rdx, 0x88(%rsp)\n  mov %rbx, 0x90(%rsp)\n"
    "  lea 16(%rbp), %rax\n  mov %rax, 0x98(%rsp)\n  mov (%rbp), %rax\n  mov %rax, 0xa0(%rsp)\n"
    "  mov %rsi, 0xa8(%rsp)\n  mov %rdi, 0xb0(%rsp)\n  mov %r8, 0xb8(%rsp)\n  mov %r9, 0xc0(%rsp)\n"
    "  mov %r10, 0xc8(%rsp)\n  mov %r11, 0xd0(%rsp)\n  mov %r12, 0xd8(%rsp)\n  mov %r13, 0xe0(%rsp)\n"
    "  mov %r14, 0xe8(%rsp)\n  mov %r15, 0xf0(%rsp)\n"
    "  mov 8(%rbp), %rax\n  mov %rax, 0xf8(%rsp)\n"
    "  movdqu %xmm6, 0x200(%rsp)\n  movdqu %xmm7, 0x210(%rsp)\n  movdqu %xmm8, 0x220(%rsp)\n"
    "  movdqu %xmm9, 0x230(%rsp)\n  movdqu %xmm10, 0x240(%rsp)\n  movdqu %xmm11, 0x250(%rsp)\n"
    "  movdqu %xmm12, 0x260(%rsp)\n  movdqu %xmm13, 0x270(%rsp)\n  movdqu %xmm14, 0x280(%rsp)\n"
    "  movdqu %xmm15, 0x290(%rsp)\n"
    "  movl $0x10000f, 0x30(%rsp)\n  stmxcsr 0x34(%rsp)\n"
    "  mov %rsp, %rdi\n  mov %rcx, %rsi\n  mov %r8, %rcx\n  mov %r9, %r8\n  lea 0x30(%rbp), %r9\n"
    "  call \\function\n"
    "  mov 0xa8(%rsp), %rsi\n  mov 0xb0(%rsp), %rdi\n"
    "  movdqu 0x200(%rsp), %xmm6\n  movdqu 0x210(%rsp), %xmm7\n  movdqu 0x220(%rsp), %xmm8\n"
    "  movdqu 0x230(%rsp), %xmm9\n  movdqu 0x240(%rsp), %xmm10\n  movdqu 0x250(%rsp), %xmm11\n"
    "  movdqu 0x260(%rsp), %xmm12\n  movdqu 0x270(%rsp), %xmm13\n  movdqu 0x280(%rsp), %xmm14\n"
    "  movdqu 0x290(%rsp), %xmm15\n"
    "  leave\n  ret\n"
    ".endm\n"
    "WITH_REGISTERS raise_exception, raised\n"
    "WITH_REGISTERS unwind_extended, unwound\n"
    "WITH_REGISTERS unwind, unwound_plainly\n"
    "WITH_REGISTERS capture_context, captured\n"
);

static uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)address;
}

static uint64_t popped(context *at)
{
    uint64_t value = word_at(at->general[RSP]);
    at->general[RSP] += 8;
    return value;
}

static const entry *function_at(const image *in, uint64_t pc)
{
    const entry *table = (const entry *)in->functions;
    uint32_t place = (uint32_t)(pc - (uint64_t)in->base), low = 0, high = in->function_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (place < table[middle].begin) high = middle;
        else if (place >= table[middle].end) low = middle + 1;
        else return &table[middle];
    }
    return NULL;
}

/* The 16-bit words that a code for unwinding takes up. */
static int words_of(uint16_t code)
{
    static const uint8_t words[] = {1, 2, 1, 1, 2, 3, 2, 3, 2, 3, 1};
    unsigned operation = code >> 8 & 15;
    if (operation >= sizeof words) give_up("code %u for unwinding is not known", operation);
    return operation == 1 && code >> 12 ? 3 : words[operation];
}

/* In an epilogue the frame is half gone, and its codes no longer apply: what is left of it is carried out instead. */
static int finished_epilogue(context *at, const uint8_t *said)
{
    const uint8_t *code = (const uint8_t *)at->rip;
    context after = *at;
    int frame = said[3] & 15;
    if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4) { /* add rsp, byte */
        after.general[RSP] += (uint64_t)(int8_t)code[3];
        code += 4;
    } else if (code[0] == 0x48 && code[1] == 0x81 && code[2] == 0xc4) { /* add rsp, word */
        after.general[RSP] += (uint64_t)*(const int32_t *)(code + 3);
        code += 7;
    } else if (frame && (code[0] & 0xfe) == 0x48 && code[1] == 0x8d && (code[2] & 0x38) == 0x20) { /* lea rsp, [frame + …] */
        int from = (code[2] & 7) | (code[0] & 1) << 3;
        if (from != frame || (code[2] >> 6 != 1 && code[2] >> 6 != 2)) return 0;
        int small = code[2] >> 6 == 1;
        after.general[RSP] = after.general[from] + (uint64_t)(small ? (int8_t)code[3] : *(const int32_t *)(code + 3));
        code += small ? 4 : 7;
    }
    for (;; code++) { /* pops */
        if ((code[0] & 0xf8) == 0x58) {
            uint64_t value = popped(&after);
            after.general[code[0] & 7] = value;
        } else if (code[0] == 0x41 && (code[1] & 0xf8) == 0x58) {
            code++;
            uint64_t value = popped(&after);
            after.general[8 + (code[0] & 7)] = value;
        } else break;
    }
    int returns = code[0] == 0xc3 || code[0] == 0xc2 || (code[0] == 0xf3 && code[1] == 0xc3);
    if (!returns) return 0; /* a jump to another function is no place that a call returns to */
    after.rip = popped(&after);
    *at = after;
    return 1;
}

/* Takes the prologue of one part of a function back; whether the frame was made by the processor for a fault. */
static int undone(context *at, const uint8_t *said, uint32_t offset, int all, uint64_t base)
{
    const uint16_t *codes = (const uint16_t *)(said + 4);
    int frame = said[3] & 15, by_processor = 0;
    for (int i = 0; i < said[2]; i += words_of(codes[i])) {
        unsigned operation = codes[i] >> 8 & 15, argument = codes[i] >> 12;
        if (operation != 6 && !all && (codes[i] & 255u) > offset) continue;
        uint64_t small = codes[i + 1], large = *(const uint32_t *)(codes + i + 1);
        switch (operation) {
        case 0: { /* a register was pushed */
            uint64_t value = popped(at);
            at->general[argument] = value;
            break;
        }
        case 1: at->general[RSP] += argument ? large : small * 8; break;
        case 2: at->general[RSP] += argument * 8 + 8; break;
        case 3: at->general[RSP] = at->general[frame] - (uint64_t)(said[3] >> 4) * 16; break;
        case 4: at->general[argument] = word_at(base + small * 8); break;
        case 5: at->general[argument] = word_at(base + large); break;
        case 6: case 7: break; /* where epilogues are, which are read themselves */
        case 8: memcpy(&at->vector[argument], (const void *)(base + small * 16), 16); break;
        case 9: memcpy(&at->vector[argument], (const void *)(base + large), 16); break;
        case 10: {
            uint64_t made = at->general[RSP] + (argument ? 8 : 0);
            at->rip = word_at(made);
            at->general[RSP] = word_at(made + 24);
            by_processor = 1;
        }
        }
    }
    return by_processor;
}

/* From the registers in a function to those of its caller; the function's handler of that kind, or NULL. */
static void *stepped(uint32_t kind, const image *in, const entry *function, context *at, void **data, uint64_t *frame)
{
    const uint8_t *said = in->base + function->unwind;
    uint32_t offset = (uint32_t)(at->rip - (uint64_t)in->base) - function->begin;
    int all = offset >= said[1], number = said[3] & 15;
    uint64_t base = at->general[RSP];
    if (number) {
        const uint16_t *codes = (const uint16_t *)(said + 4);
        int set = all; /* the register counts once the prologue has set it */
        for (int i = 0; !set && i < said[2]; i += words_of(codes[i])) set = (codes[i] >> 8 & 15) == 3 && offset >= (codes[i] & 255u);
        if (set) base = at->general[number] - (uint64_t)(said[3] >> 4) * 16;
    }
    *frame = base;
    if (all && finished_epilogue(at, said)) return NULL;
    for (int chained = 0; chained < MOST_CHAINED; chained++) {
        int by_processor = undone(at, said, offset, all, base);
        const uint8_t *after = said + 4 + 2 * ((said[2] + 1) & ~1);
        unsigned flags = said[0] >> 3;
        if (!(flags & CHAINED)) {
            if (!by_processor) at->rip = popped(at);
            if (!(flags & kind) || !all) return NULL;
            *data = (void *)(after + 4);
            return in->base + *(const uint32_t *)after;
        }
        said = in->base + ((const entry *)after)->unwind;
        all = 1;
    }
    give_up("the codes for unwinding go in a circle");
}

/* One frame up; 0 at the first that is not the library's. */
static int walked(uint32_t kind, context *at, dispatcher *how)
{
    while (at->rip == (uint64_t)handler_returns || at->rip == (uint64_t)catch_returns) {
        const context *above = *(context **)(at->general[RSP] + 0x28);
        *at = *above;
    }
    const image *in = image_at(at->rip);
    how->handler = NULL;
    if (!in) return 0;
    how->pc = at->rip;
    how->base = (uint64_t)in->base;
    how->function = function_at(in, at->rip);
    how->scope = 0;
    how->history = NULL;
    if (how->function) how->handler = stepped(kind, in, how->function, at, &how->data, &how->frame);
    else { /* a function that calls none needs no table */
        at->rip = popped(at);
        how->frame = at->general[RSP];
    }
    return 1;
}

FROM_ASSEMBLER uint64_t raised(context *at, uint32_t code, uint32_t flags, uint32_t count, const uint64_t *arguments)
{
    record what = {.code = code, .flags = flags & NONCONTINUABLE, .address = at->rip};
    what.count = !arguments ? 0 : count > MOST_INFORMATION ? MOST_INFORMATION : count;
    if (what.count) memcpy(what.information, arguments, what.count * sizeof *arguments);
    context start = *at, here = *at;
    dispatcher how;
    memset(&how, 0, sizeof how);
    while (walked(HANDLES_EXCEPTIONS, &here, &how)) {
        if (!how.handler) continue;
        how.registers = &here;
        int answer = call_handler(how.handler, &what, how.frame, &start, &how, &start);
        if (answer == CONTINUE_EXECUTION && !(what.flags & NONCONTINUABLE)) resume(&start);
        if (answer != CONTINUE_SEARCH) give_up("a handler answers %d to exception %08x", answer, code);
    }
    if (code == 0x406d1388 || code == 0x40010006 || code == 0x4001000a) return 0; /* words to a debugger */
    give_up("the library does not catch its exception %08x", code);
}

FROM_ASSEMBLER void unwound(context *at, uint64_t target_frame, uint64_t target, record *what, uint64_t value, uint64_t *stack)
{
    context *out = stack ? (context *)stack[0] : NULL;
    record own = {.code = STATUS_UNWIND, .address = at->rip};
    if (!what) what = &own;
    what->flags |= UNWINDING | (target_frame ? 0 : EXIT_UNWIND);
    context here = *at, next;
    dispatcher how;
    memset(&how, 0, sizeof how);
    for (int reached = 0; !reached;) {
        while (here.rip == (uint64_t)handler_returns || here.rip == (uint64_t)catch_returns) {
            const context *above = *(context **)(here.general[RSP] + 0x28);
            here = *above;
        }
        next = here;
        if (!walked(HANDLES_UNWINDING, &next, &how)) give_up("the frame that exception %08x unwinds to is not there", what->code);
        reached = how.function && how.frame == target_frame;
        what->flags = reached ? what->flags | TARGET_UNWIND : what->flags & ~(uint32_t)TARGET_UNWIND;
        if (how.handler) {
            here.general[RAX] = value;
            how.target = target;
            how.registers = &here;
            int answer = call_handler(how.handler, what, how.frame, &here, &how, &next);
            if (answer != CONTINUE_SEARCH) give_up("a handler answers %d while exception %08x unwinds", answer, what->code);
        }
        if (!reached) here = next;
    }
    what->flags &= ~(uint32_t)TARGET_UNWIND;
    here.general[RAX] = value;
    if (what->code != STATUS_UNWIND_CONSOLIDATE) here.rip = target;
    if (out) *out = here;
    /* A block that catches runs on the stack of what is being unwound, and says where to go on. */
    if (what->code == STATUS_UNWIND_CONSOLIDATE && what->count) here.rip = call_catch((void *)what->information[0], what, &here);
    resume(&here);
}

FROM_ASSEMBLER void unwound_plainly(context *at, uint64_t target_frame, uint64_t target, record *what, uint64_t value)
{
    unwound(at, target_frame, target, what, value, NULL);
}

FROM_ASSEMBLER void captured(const context *at, context *out)
{
    *out = *at;
}

void *virtual_unwind(uint32_t kind, uint64_t base, uint64_t pc, const void *function, void *at, void **data,
                     uint64_t *frame, void *pointers)
{
    (void)base;
    (void)pointers;
    const image *in = image_at(pc);
    if (!in) give_up("unwinding from %lx, which is in no library", pc);
    ((context *)at)->rip = pc;
    return stepped(kind, in, function, at, data, frame);
}

const void *lookup_function_entry(uint64_t pc, uint64_t *base, void *history)
{
    (void)history;
    const image *in = image_at(pc);
    *base = in ? (uint64_t)in->base : 0;
    return in ? function_at(in, pc) : NULL;
}

void *pc_to_file_header(uint64_t pc, void **base)
{
    const image *in = image_at(pc);
    return *base = in ? in->base : NULL;
}
