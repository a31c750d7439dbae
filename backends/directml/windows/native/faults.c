/* Faults inside a library: said with its name and place, then the process ends as it would have without this.
 *
 * On Windows such a fault is an exception that a library could handle; the libraries that are run here do not. A fault
 * anywhere else in the process, and a signal that somebody sends, is left to whom it was left to before. */
#define _GNU_SOURCE
#include "bridge.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES 65536

static const int watched[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
#define WATCHED (sizeof watched / sizeof *watched)
static struct sigaction before[WATCHED];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void say(const image *where, uint64_t at, const char *what, uint64_t number)
{
    char line[512];
    int length = snprintf(line, sizeof line, "dmlcts: Windows library: %s at byte 0x%llx: ", where->name,
                          (unsigned long long)(at - (uint64_t)where->base));
    length += snprintf(line + length, sizeof line - (size_t)length, what, (unsigned long long)number);
    line[length] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length + 1) < 0) return; /* nobody listens */
}

/* A fault of the library's own code, or of a call that it made to where no code is. */
static void say_where(int number, const siginfo_t *info, const ucontext_t *context)
{
    uint64_t at = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    uint64_t touched = (uint64_t)info->si_addr;
    const image *where = image_at(at);
    if (number == SIGSEGV && info->si_code != SI_KERNEL && touched == at) {
        const uint64_t *stack = (const uint64_t *)context->uc_mcontext.gregs[REG_RSP];
        const image *caller = image_at(*stack); /* the call has put its return there, so it can be read */
        if (caller) say(caller, *stack, "it called address 0x%llx, where no code is", at);
        return;
    }
    if (!where) return;
    const uint8_t *code = (const uint8_t *)at;
    switch (number) {
    case SIGSEGV:
        if (info->si_code != SI_KERNEL) say(where, at, "it touches address 0x%llx, which it may not", touched);
        else if (code[0] == 0xcd && code[1] == 0x29)
            say(where, at, "it fails fast, with code %llu", (uint64_t)context->uc_mcontext.gregs[REG_RCX] & 0xffffffff);
        else say(where, at, "it does what this process may not", 0);
        break;
    case SIGBUS: say(where, at, "it touches address 0x%llx, where the memory is gone", touched); break;
    case SIGILL: say(where, at, "it holds an instruction that this processor does not have", 0); break;
    case SIGFPE: say(where, at, "it divides by zero, or the quotient is too large", 0); break;
    default: say(where, at, "it breaks into the debugger", 0);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    int own = info->si_code > 0; /* of an instruction, not of somebody who sent it */
    if (own) say_where(number, info, context);
    for (size_t place = 0; place < WATCHED; place++)
        if (watched[place] == number) sigaction(number, &before[place], NULL);
    /* Who was there before has the next word: the instruction runs again. What would not come again is sent. */
    if (!own || number == SIGTRAP) raise(number);
}

static void watch(void)
{
    struct sigaction wanted = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&wanted.sa_mask);
    for (size_t place = 0; place < WATCHED; place++)
        if (sigaction(watched[place], &wanted, &before[place])) give_up("no handler for signal %d", watched[place]);
}

void watch_for_faults(void)
{
    pthread_once(&once, watch);
}

/* A stack of this thread's for handlers, without which a stack that is used up cannot be recognised; NULL where it has one. */
void *stack_for_faults(void)
{
    stack_t there;
    if (sigaltstack(NULL, &there) || !(there.ss_flags & SS_DISABLE)) return NULL;
    void *made = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return NULL;
    stack_t wanted = {.ss_sp = made, .ss_size = STACK_BYTES};
    if (!sigaltstack(&wanted, NULL)) return made;
    munmap(made, STACK_BYTES);
    return NULL;
}

void end_stack_for_faults(void *made)
{
    stack_t there;
    if (!made || sigaltstack(NULL, &there)) return;
    if (there.ss_sp == made) sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    munmap(made, STACK_BYTES);
}
