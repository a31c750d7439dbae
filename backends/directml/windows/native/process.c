/* Images, threads and the end: what a process of Windows gives a library before any function is called.
 *
 * Code of Windows finds its thread's block through the register gs, which programs of Linux on x86-64 leave alone.
 * Source: the structures TEB and PEB of winternl.h and, for the members that it hides, what the library reads. */
#define _GNU_SOURCE
#include "bridge.h"

#include <asm/prctl.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_IMAGES 64
#define BLOCK_WORDS 0x300
#define STACK_FOR_FAULTS BLOCK_WORDS /* the word after a thread's block, which is the bridge's own */

static image images[MOST_IMAGES];
static uint32_t image_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
extern __thread int bridge_thread_is_ready;

/* The block of the process: the library reads its parameters, in which "negative" says that it is no packaged program,
   and its flags. */
static uint64_t parameters[64];
static uint64_t process_block[256];

void end_of_thread(void); /* in system.c: what its own data needs */

void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("dmlcts: Windows library: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

const image *image_at(uint64_t address)
{
    uint32_t count = __atomic_load_n(&image_count, __ATOMIC_ACQUIRE);
    for (uint32_t place = 0; place < count; place++)
        if (address - (uint64_t)images[place].base < images[place].size) return &images[place];
    return NULL;
}

static void thread_ends(void *block)
{
    end_of_thread();
    bridge_thread_is_ready = 0;
    syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
    end_stack_for_faults(((void **)block)[STACK_FOR_FAULTS]);
    free(block);
}

static void prepare(void)
{
    if (pthread_key_create(&ending, thread_ends)) give_up("no key for threads");
    *(uint32_t *)((uint8_t *)parameters + 8) = 0x80000000u;
    process_block[4] = (uint64_t)parameters;
}

FROM_ASSEMBLER void enter_thread(void)
{
    if (bridge_thread_is_ready) return;
    pthread_once(&once, prepare);
    uint64_t *block = calloc(BLOCK_WORDS + 1, 8);
    if (!block) give_up("no memory for a thread's block");
    block[1] = 0x00007ffffffff000; /* where the stack begins, above any */
    block[2] = 0x1000;             /* where it ends, below any: pages are never probed one by one */
    block[6] = (uint64_t)block;
    block[12] = (uint64_t)process_block;
    if (pthread_setspecific(ending, block)) give_up("no memory for a thread's block");
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, block)) give_up("arch_prctl: %s", strerror(errno));
    ((void **)block)[STACK_FOR_FAULTS] = stack_for_faults();
    bridge_thread_is_ready = 1;
}

/* Memory for an image, readable and writable; 0 where there is none. */
PUBLIC uint64_t bridge_reserve(uint64_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? 0 : (uint64_t)made;
}

PUBLIC void bridge_release(uint64_t base, uint64_t bytes)
{
    munmap((void *)base, bytes);
}

/* Sets what may be done with a stretch of an image; 0, or the error's number. Never writing and executing at once. */
PUBLIC int bridge_protect(uint64_t base, uint64_t bytes, int readable, int writable, int executable)
{
    if (writable && executable) return EACCES;
    int wanted = (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0) | (executable ? PROT_READ | PROT_EXEC : 0);
    return mprotect((void *)base, bytes, wanted) ? errno : 0;
}

/* Takes an image in: from now on exceptions find their way through it. 0 where there are too many. */
PUBLIC int bridge_adopt(const char *name, uint64_t base, uint64_t bytes, uint64_t functions, uint32_t function_count, uint64_t resources,
                        uint32_t resource_bytes)
{
    watch_for_faults();
    pthread_mutex_lock(&lock);
    int free_place = image_count < MOST_IMAGES;
    if (free_place) {
        images[image_count] = (image){
            .base = (uint8_t *)base,
            .size = bytes,
            .functions = (const uint8_t *)(base + functions),
            .function_count = function_count,
            .resources = resource_bytes ? (const uint8_t *)(base + resources) : NULL,
            .resource_bytes = resource_bytes,
        };
        strncpy(images[image_count].name, name, sizeof images->name - 1); /* the last byte stays 0 */
        __atomic_store_n(&image_count, image_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return free_place;
}
