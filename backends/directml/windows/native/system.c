/* The functions of Windows that DirectML imports: memory, locks, data of threads, modules, resources, time.
 *
 * Sources: Microsoft's pages of the functions of the same names. What is not here ends the process by name when it is
 * called; of what is here, everything that DirectML does not need is the plainest answer that a page allows. */
#define _GNU_SOURCE
#include "system.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread uint32_t last_error;

int failed(uint32_t error)
{
    last_error = error;
    return 0;
}

static uint32_t w_GetLastError(void) { return last_error; }
static void w_SetLastError(uint32_t error) { last_error = error; }

/* Answers that are the same whatever is asked. */
static uint64_t yes(void) { return 1; }
static uint64_t no(void) { return 0; }
static void *same(void *pointer) { return pointer; }

/* Memory. */

static void *w_HeapAlloc(void *heap, uint32_t flags, uint64_t bytes)
{
    (void)heap;
    void *made = flags & 8 ? calloc(1, bytes ? bytes : 1) : malloc(bytes ? bytes : 1);
    if (!made) failed(ERROR_NOT_ENOUGH_MEMORY);
    return made;
}

static void *w_HeapReAlloc(void *heap, uint32_t flags, void *block, uint64_t bytes)
{
    (void)heap;
    uint64_t before = malloc_usable_size(block);
    if (flags & 0x10) return bytes <= before ? block : NULL; /* in place only */
    uint8_t *made = realloc(block, bytes ? bytes : 1);
    if (!made) failed(ERROR_NOT_ENOUGH_MEMORY);
    else if (flags & 8 && bytes > before) memset(made + before, 0, bytes - before);
    return made;
}

static int w_HeapFree(void *heap, uint32_t flags, void *block)
{
    (void)heap;
    (void)flags;
    free(block);
    return 1;
}

static uint64_t w_HeapSize(void *heap, uint32_t flags, void *block)
{
    (void)heap;
    (void)flags;
    return malloc_usable_size(block);
}

static void *w_GetProcessHeap(void) { return (void *)0x1000; }

enum { PAGE = 4096, DECOMMIT = 0x4000, RELEASE = 0x8000 };

/* Reserving and committing at once; the size is kept in a page before the block. */
static void *w_VirtualAlloc(void *at, uint64_t bytes, uint32_t type, uint32_t protection)
{
    (void)type;
    (void)protection;
    if (at) return at; /* committing what was reserved */
    bytes = ((bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1)) + PAGE;
    uint64_t *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        failed(ERROR_NOT_ENOUGH_MEMORY);
        return NULL;
    }
    made[0] = bytes;
    return (uint8_t *)made + PAGE;
}

static int w_VirtualFree(uint8_t *at, uint64_t bytes, uint32_t type)
{
    (void)bytes;
    if (type & RELEASE) munmap(at - PAGE, *(uint64_t *)(at - PAGE));
    return 1;
}

/* Locks. A lock of one word (SRWLOCK) is 0 when free; readers take it alone as well, which is slower and as right. */

static void w_AcquireSRWLock(uint64_t *lock)
{
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static uint8_t w_TryAcquireSRWLock(uint64_t *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
static void w_ReleaseSRWLock(uint64_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
static void w_clear(uint64_t *word) { *word = 0; }

_Static_assert(sizeof(pthread_mutex_t) <= 40, "a mutex lies where the library keeps 40 bytes for a critical section");

static int w_InitializeCriticalSection(pthread_mutex_t *section)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    int error = pthread_mutex_init(section, &kind);
    pthread_mutexattr_destroy(&kind);
    return !error;
}

static void w_DeleteCriticalSection(pthread_mutex_t *section) { pthread_mutex_destroy(section); }
static void w_EnterCriticalSection(pthread_mutex_t *section) { pthread_mutex_lock(section); }
static int w_TryEnterCriticalSection(pthread_mutex_t *section) { return !pthread_mutex_trylock(section); }
static void w_LeaveCriticalSection(pthread_mutex_t *section) { pthread_mutex_unlock(section); }

/* Waiting may end for no reason, by these functions' pages; so it always does. */
static int w_SleepConditionVariableSRW(void *variable, uint64_t *lock)
{
    (void)variable;
    w_ReleaseSRWLock(lock);
    sched_yield();
    w_AcquireSRWLock(lock);
    return 1;
}

static int w_SleepConditionVariableCS(void *variable, pthread_mutex_t *section)
{
    (void)variable;
    pthread_mutex_unlock(section);
    sched_yield();
    pthread_mutex_lock(section);
    return 1;
}

/* Named mutexes and semaphores only distinguish several copies of a library, of which there is one. */
static void *w_a_handle(void)
{
    last_error = 0;
    return (void *)0x2000;
}

static void *w_OpenSemaphoreW(void)
{
    failed(ERROR_FILE_NOT_FOUND);
    return NULL;
}

static int w_ReleaseSemaphore(void *semaphore, int count, int *before)
{
    (void)semaphore;
    (void)count;
    if (before) *before = 0;
    return 1;
}

static int w_InitOnceExecuteOnce(uint64_t *state, const void *initialise, void *argument, void **result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int (*function)(void *, void *, void **) = (int (*)(void *, void *, void **))bridge_callable_here(initialise);
    if (!function) give_up("there are no more thunks");
    pthread_mutex_lock(&lock);
    int done = *state ? 1 : function(state, argument, result);
    if (done) *state = 2;
    pthread_mutex_unlock(&lock);
    return done;
}

static void *w_InterlockedFlushSList(uint64_t *head)
{
    void *first = (void *)head[1];
    head[0] = head[1] = 0;
    return first;
}

static void *w_InterlockedPushEntrySList(uint64_t *head, uint64_t *entry)
{
    entry[0] = head[1];
    head[1] = (uint64_t)entry;
    return (void *)entry[0];
}

static void w_InitializeSListHead(uint64_t *head) { head[0] = head[1] = 0; }

/* Data of threads: TLS, and FLS, whose values a function of the library takes back when the thread ends. */

enum { MOST_SLOTS = 1088, NO_SLOT = -1 };
static uint32_t slot_count;
static void *slot_endings[MOST_SLOTS];
static __thread void **slots;

static uint32_t w_FlsAlloc(const void *ending)
{
    uint32_t place = __atomic_fetch_add(&slot_count, 1, __ATOMIC_SEQ_CST);
    if (place >= MOST_SLOTS) return (uint32_t)NO_SLOT;
    slot_endings[place] = ending ? bridge_callable_here(ending) : NULL;
    return place;
}

static uint32_t w_TlsAlloc(void) { return w_FlsAlloc(NULL); }

static int w_FlsFree(uint32_t place)
{
    if (place < MOST_SLOTS) slot_endings[place] = NULL;
    return place < MOST_SLOTS;
}

static void *w_SlotValue(uint32_t place)
{
    last_error = 0;
    return slots && place < MOST_SLOTS ? slots[place] : NULL;
}

static int w_SetSlotValue(uint32_t place, void *value)
{
    if (place >= MOST_SLOTS) return failed(ERROR_INVALID_PARAMETER);
    if (!slots) slots = calloc(MOST_SLOTS, sizeof *slots);
    if (!slots) return failed(ERROR_NOT_ENOUGH_MEMORY);
    slots[place] = value;
    return 1;
}

void end_of_thread(void)
{
    for (uint32_t place = 0; slots && place < MOST_SLOTS; place++) {
        void (*ending)(void *) = (void (*)(void *))slot_endings[place];
        void *value = slots[place];
        slots[place] = NULL;
        if (ending && value) ending(value);
    }
    free(slots);
    slots = NULL;
}

/* The process. */

static uint32_t w_GetCurrentThreadId(void) { return (uint32_t)syscall(SYS_gettid); }
static uint32_t w_GetCurrentProcessId(void) { return (uint32_t)getpid(); }
static uint32_t w_GetCurrentProcessorNumber(void) { return 0; }
static void *w_GetCurrentProcess(void) { return (void *)-1; }
static void *w_GetCurrentThread(void) { return (void *)-2; }
static void w_TerminateProcess(void *process, uint32_t code) { (void)process; give_up("it ends the process with %08x", code); }
static void w_ExitProcess(uint32_t code) { give_up("it ends the process with %u", code); }
static void w_DebugBreak(void) { give_up("it breaks into the debugger"); }
static void w_FlushProcessWriteBuffers(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static int w_UnhandledExceptionFilter(const uint32_t **pointers)
{
    give_up("exception %08x is not handled", pointers && pointers[0] ? *pointers[0] : 0);
}

static void w_GetStartupInfoW(uint32_t *out)
{
    memset(out, 0, 104);
    out[0] = 104;
}

/* Every x86-64 processor has compare-exchange of 16 bytes (14), SSE2 (10), SSE3 (13), SSE (6). */
static int w_IsProcessorFeaturePresent(uint32_t feature) { return feature == 6 || feature == 10 || feature == 13; }
static uint32_t w_GetCurrentPackageFullName(void) { return APPMODEL_ERROR_NO_PACKAGE; }

static uint32_t w_EventRegister(void *id, void *callback, void *context, uint64_t *handle)
{
    (void)id;
    (void)callback;
    (void)context;
    *handle = 0;
    return 0;
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int w_QueryPerformanceFrequency(uint64_t *out) { return *out = 1000000000u, 1; }
static int w_QueryPerformanceCounter(uint64_t *out) { return *out = nanoseconds(CLOCK_MONOTONIC), 1; }
static uint64_t w_GetTickCount64(void) { return nanoseconds(CLOCK_MONOTONIC) / 1000000u; }
/* In tenths of microseconds since the year 1601. */
static void w_GetSystemTimeAsFileTime(uint64_t *out) { *out = nanoseconds(CLOCK_REALTIME) / 100 + 116444736000000000u; }

/* Modules and their resources. */

#define MOST_PROVIDED 16
static struct {
    const char *name;
    const void *function;
} given[MOST_PROVIDED];
static uint32_t given_count;

/* Lets the library find a function of ours, by the name that it asks GetProcAddress for or imports. */
PUBLIC int bridge_provide(const char *name, const void *function)
{
    uint32_t place = 0;
    while (place < given_count && strcmp(given[place].name, name)) place++;
    if (place == MOST_PROVIDED) return 0;
    given[place].function = bridge_callable_there(function);
    given[place].name = strdup(name);
    if (place == given_count) given_count++;
    return given[place].function != NULL;
}

const void *provided(const char *name)
{
    for (uint32_t place = 0; place < given_count; place++)
        if (!strcmp(given[place].name, name)) return given[place].function;
    return NULL;
}

static int says(const wide *name, const char *wanted)
{
    while (*name && *wanted && (*name | 32) == (*wanted | 32)) name++, wanted++;
    return !*name && !*wanted;
}

static uint8_t dxcore; /* its address is the handle */

/* Of other libraries the adapter is one: DXCore, which DirectML turns to where DXGI is not. */
static void *w_LoadLibrary(const wide *name)
{
    if (says(name, "dxcore.dll") && provided("DXCoreCreateAdapterFactory")) return &dxcore;
    failed(ERROR_MOD_NOT_FOUND);
    return NULL;
}

static const void *w_GetProcAddress(void *module, const char *name)
{
    const void *found = module == &dxcore && (uint64_t)name > 0xffff ? provided(name) : NULL;
    if (!found) failed(ERROR_PROC_NOT_FOUND);
    return found;
}

/* The page of DXGIGetDebugInterface1: what answers where the debug layer is not installed. */
static uint32_t w_DXGIGetDebugInterface1(uint32_t flags, const void *id, void **out)
{
    (void)flags;
    (void)id;
    if (out) *out = NULL;
    return 0x887a002du; /* DXGI_ERROR_SDK_COMPONENT_MISSING */
}

/* The program itself: a page without the mark of a Windows program, so that nothing more is read of it. */
static uint8_t program[PAGE];

static void *w_GetModuleHandleW(const wide *name)
{
    if (!name) return program;
    failed(ERROR_MOD_NOT_FOUND);
    return NULL;
}

static int w_GetModuleHandleExW(uint32_t flags, const wide *name, void **out)
{
    enum { BY_ADDRESS = 4 };
    const image *found = flags & BY_ADDRESS ? image_at((uint64_t)name) : NULL;
    *out = found ? found->base : !name && !(flags & BY_ADDRESS) ? program : NULL;
    return *out ? 1 : failed(ERROR_MOD_NOT_FOUND);
}

static const char module_path[] = "C:\\DirectML.dll";

static uint32_t w_GetModuleFileNameW(void *module, wide *out, uint32_t room)
{
    (void)module;
    uint32_t length = 0;
    for (; module_path[length] && length + 1 < room; length++) out[length] = (wide)module_path[length];
    if (room) out[length] = 0;
    return length;
}

static uint32_t w_GetModuleFileNameA(void *module, char *out, uint32_t room)
{
    (void)module;
    uint32_t length = 0;
    for (; module_path[length] && length + 1 < room; length++) out[length] = module_path[length];
    if (room) out[length] = 0;
    return length;
}

/* One step down the tree of resources, by number or, with ANY, to the first; 0 where there is none. */
#define ANY 0xffffffffu
static uint32_t resource_below(const image *in, uint32_t directory, uint32_t wanted)
{
    if ((uint64_t)directory + 16 > in->resource_bytes) return 0;
    const uint8_t *at = in->resources + directory;
    uint32_t count = *(const uint16_t *)(at + 12) + (uint32_t)*(const uint16_t *)(at + 14);
    for (uint32_t place = 0; place < count && directory + 24 + 8ull * place <= in->resource_bytes; place++) {
        const uint32_t *one = (const uint32_t *)(at + 16 + 8ull * place);
        if (wanted == ANY || one[0] == wanted) return one[1] & 0x7fffffffu;
    }
    return 0;
}

static const void *w_FindResourceW(void *module, uint64_t name, uint64_t type)
{
    const image *in = image_at((uint64_t)module);
    if (!in || !in->resources || name > 0xffff || type > 0xffff) return NULL; /* by number only */
    uint32_t place = resource_below(in, 0, (uint32_t)type);
    if (place) place = resource_below(in, place, (uint32_t)name);
    if (place) place = resource_below(in, place, ANY);
    return place && (uint64_t)place + 16 <= in->resource_bytes ? in->resources + place : NULL;
}

static void *w_LoadResource(void *module, const uint32_t *entry)
{
    const image *in = image_at((uint64_t)module);
    return in && entry && (uint64_t)entry[0] + entry[1] <= in->size ? in->base + entry[0] : NULL;
}

static uint32_t w_SizeofResource(void *module, const uint32_t *entry) { return (void)module, entry ? entry[1] : 0; }

#include "system_table.h"
