/* What the parts of the bridge share: a Windows library in a process of Linux on x86-64.
 *
 * Everything here is compiled for the System V convention. Code of the library is reached, and reaches back, only
 * through the thunks of thunks.c: a compiler's own support for the other convention is not used, for gcc 12 does not
 * save rdi around the call that finds a thread's variables in such functions. */
#ifndef DMLCTS_BRIDGE_H
#define DMLCTS_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))
#define FROM_ASSEMBLER __attribute__((used, visibility("hidden")))

typedef uint16_t wide; /* a character of Windows' */

/* A library in memory. Images are never taken out again. */
typedef struct {
    uint8_t *base;
    uint64_t size;
    const uint8_t *functions; /* its table for unwinding */
    uint32_t function_count;
    const uint8_t *resources;
    uint32_t resource_bytes;
    char name[64]; /* of its file, for messages */
} image;

/* The image in which an address lies; NULL for none. */
const image *image_at(uint64_t address);

/* Ends the process with a message: for what the contract of a function gives no other answer to. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Says of faults inside a library where they are, from now on. */
void watch_for_faults(void);
void *stack_for_faults(void);
void end_stack_for_faults(void *made);

/* Makes this thread ready for code of Windows; cheap when it is. */
void enter_thread(void);

/* A function of the library's convention that calls one of ours, and the other way round; NULL when there are no more.
 * Integers and pointers only, at most twelve. The same for the same function. */
PUBLIC void *bridge_callable_there(const void *function);
PUBLIC void *bridge_callable_here(const void *function);

/* A function of the library's convention that ends the process with its name when it is called. */
PUBLIC void *bridge_missing(const char *name);

/* A function of the system by name, for the library; NULL where there is none. */
PUBLIC const void *bridge_system_function(const char *name);

/* A function that another library of Windows' would have: by the name that GetProcAddress is asked for. */
const void *provided(const char *name);

/* Written in assembler with the convention of the library, in unwinding.c. */
extern const uint8_t raise_exception[], unwind[], unwind_extended[], capture_context[];
void *virtual_unwind(uint32_t kind, uint64_t base, uint64_t pc, const void *entry, void *context, void **data,
                     uint64_t *frame, void *pointers);
const void *lookup_function_entry(uint64_t pc, uint64_t *base, void *history);
void *pc_to_file_header(uint64_t pc, void **base);

#endif
