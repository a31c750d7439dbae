/* A runner: what the dmlcts conformance suite talks to, in C11 or C++11. One header, one source, no dependencies.

   Fill in a dmlcts_runner with your create, dispatch and destroy, and give it to dmlcts_run in main:

       int main(int argc, char **argv) { return dmlcts_run(&runner, argc, argv); }

   The protocol is dmlcts-runner/1; backends/RUNNERS.md explains it in full. All numbers of operators, data types and flags
   are DirectML's own. The machine must be little-endian. */

#ifndef DMLCTS_RUNNER_H
#define DMLCTS_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DMLCTS_PROTOCOL "dmlcts-runner/1"
#define DMLCTS_MARK 0x524c4d44u /* the bytes "DMLR" */
#define DMLCTS_REPLY 0x8000u

enum {
    DMLCTS_MOST_DIMENSIONS = 16,
    DMLCTS_MOST_TENSORS = 16,
    DMLCTS_MOST_ATTRIBUTES = 16,
    DMLCTS_MOST_OPTIONS = 64,
    DMLCTS_MOST_CLAIMS = 256,
    DMLCTS_MOST_DETAILS = 64,
    DMLCTS_MOST_TEXT = 4096,
    DMLCTS_MOST_CONTROL = 1048576,
    DMLCTS_MOST_KERNELS = 4096,
    DMLCTS_OFFSET_ALIGNMENT = 16
};

enum dmlcts_kind {
    DMLCTS_KIND_HELLO = 1,
    DMLCTS_KIND_CREATE = 2,
    DMLCTS_KIND_DISPATCH = 3,
    DMLCTS_KIND_CLOSE = 4,
    DMLCTS_KIND_PING = 5,
    DMLCTS_KIND_BYE = 6,
    DMLCTS_KIND_SHARE = 7,
    DMLCTS_KIND_CHALLENGE = 8, /* of an earlier order, which the kit refuses */
    DMLCTS_KIND_PROVE = 9,
    DMLCTS_KIND_BEGIN = 10,
    DMLCTS_KIND_AUTHENTICATE = 11
};

/* What create and dispatch return. */
enum dmlcts_status {
    DMLCTS_STATUS_OK = 0,
    DMLCTS_STATUS_INVALID_ARGUMENT = 1, /* create: the description is refused, as with E_INVALIDARG */
    DMLCTS_STATUS_NOT_SUPPORTED = 2,    /* create: a valid description that there is no way to express */
    DMLCTS_STATUS_DEVICE_LOST = 3,      /* the device is gone; the suite starts over */
    DMLCTS_STATUS_EXECUTION_FAILED = 4, /* the call failed, and the device is still usable */
    DMLCTS_STATUS_OUT_OF_MEMORY = 5,
    DMLCTS_STATUS_UNAVAILABLE = 6,      /* open: it cannot run here */
    DMLCTS_STATUS_BAD_OPTION = 7,       /* open: an option that is unknown, or makes no sense */
    DMLCTS_STATUS_BAD_VERSION = 8,
    DMLCTS_STATUS_DENIED = 9,
    DMLCTS_STATUS_BAD_MESSAGE = 10
};

enum dmlcts_hello_flag {
    DMLCTS_HELLO_FLAG_SHARED_MEMORY = 1,
    DMLCTS_HELLO_FLAG_SUITE_VALIDATES = 2,
    DMLCTS_HELLO_FLAG_ONLY_CLAIMS = 4
};

#define DMLCTS_EVERY_TYPE 0xffffffffu /* in a claim: all that the level obliges */

enum dmlcts_attribute_kind {
    DMLCTS_ATTRIBUTE_KIND_FLOAT = 1,       /* four bytes */
    DMLCTS_ATTRIBUTE_KIND_UINT = 2,        /* an enumerator's or a data type's number, four bytes */
    DMLCTS_ATTRIBUTE_KIND_SCALE_BIAS = 3,  /* scale and bias, two floats */
    DMLCTS_ATTRIBUTE_KIND_SCALAR_UNION = 4 /* eight bytes, of the attribute's data_type */
};

enum dmlcts_place { DMLCTS_PLACE_FOLLOWS = 0, DMLCTS_PLACE_SHARED = 1 };

enum dmlcts_data_type {
    DMLCTS_DATA_TYPE_FLOAT32 = 1,
    DMLCTS_DATA_TYPE_FLOAT16 = 2,
    DMLCTS_DATA_TYPE_UINT32 = 3,
    DMLCTS_DATA_TYPE_UINT16 = 4,
    DMLCTS_DATA_TYPE_UINT8 = 5,
    DMLCTS_DATA_TYPE_INT32 = 6,
    DMLCTS_DATA_TYPE_INT16 = 7,
    DMLCTS_DATA_TYPE_INT8 = 8,
    DMLCTS_DATA_TYPE_FLOAT64 = 9,
    DMLCTS_DATA_TYPE_UINT64 = 10,
    DMLCTS_DATA_TYPE_INT64 = 11
};

/* The layouts of the messages; every field stands where a C compiler puts it, without gaps. */

typedef struct dmlcts_header {
    uint32_t mark;
    uint16_t kind, status;
    uint64_t number, length;
} dmlcts_header;

typedef struct dmlcts_hello {
    char protocol[16];
    uint32_t oldest, newest, flags, option_count;
    uint64_t most_length, reserved;
} dmlcts_hello;

typedef struct dmlcts_option {
    char key[64];
    char value[960];
} dmlcts_option;

typedef struct dmlcts_hello_reply {
    char protocol[16];
    uint32_t version, feature_level, flags, claim_count, detail_count, reserved;
    uint64_t most_length;
    char name[64], adapter[128], driver[128], library[128], library_version[64];
} dmlcts_hello_reply;

typedef struct dmlcts_claim {
    uint32_t operator_type; /* DML_OPERATOR_TYPE */
    uint32_t data_types;    /* bit n is set where DML_TENSOR_DATA_TYPE n is taken, or DMLCTS_EVERY_TYPE */
} dmlcts_claim;

typedef struct dmlcts_detail {
    char key[64];
    char value[192];
} dmlcts_detail;

typedef struct dmlcts_create {
    uint32_t kernel, operator_type, tensor_count, attribute_count, execution_flags, reserved;
} dmlcts_create;

typedef struct dmlcts_tensor {
    uint32_t member, data_type, flags, dimension_count, has_strides, base_offset_alignment;
    uint64_t total_size;
    uint32_t sizes[DMLCTS_MOST_DIMENSIONS], strides[DMLCTS_MOST_DIMENSIONS];
} dmlcts_tensor;

typedef struct dmlcts_attribute {
    uint32_t member, kind, data_type, reserved;
    uint8_t value[8];
} dmlcts_attribute;

typedef struct dmlcts_create_reply {
    uint32_t kernel, reserved;
} dmlcts_create_reply;

typedef struct dmlcts_dispatch {
    uint32_t kernel, binding_count, place, segment;
    uint64_t memory_size;
} dmlcts_dispatch;

typedef struct dmlcts_binding {
    uint32_t member, reserved;
    uint64_t offset, size;
} dmlcts_binding;

typedef struct dmlcts_dispatch_reply {
    uint32_t kernel, place;
    uint64_t memory_size;
} dmlcts_dispatch_reply;

typedef struct dmlcts_close {
    uint32_t kernel, reserved;
} dmlcts_close;

typedef struct dmlcts_ping {
    uint64_t token;
} dmlcts_ping;

typedef struct dmlcts_share {
    uint32_t segment, reserved;
    uint64_t size;
    uint8_t token[16];
    char path[256];
} dmlcts_share;

typedef struct dmlcts_share_reply {
    uint32_t segment, reserved;
    uint8_t token[16];
} dmlcts_share_reply;

typedef struct dmlcts_challenge {
    uint8_t nonce[32];
} dmlcts_challenge;

typedef struct dmlcts_challenge_reply {
    uint8_t nonce[32], proof[32];
} dmlcts_challenge_reply;

typedef struct dmlcts_prove {
    uint8_t proof[32];
} dmlcts_prove;

typedef struct dmlcts_begin {
    uint8_t nonce[32];
} dmlcts_begin;

typedef struct dmlcts_begin_reply {
    uint8_t nonce[32];
} dmlcts_begin_reply;

typedef struct dmlcts_authenticate {
    uint8_t proof[32];
} dmlcts_authenticate;

typedef struct dmlcts_authenticate_reply {
    uint8_t proof[32];
} dmlcts_authenticate_reply;

/* What a runner is made of. */

/* The operator to make ready. The arrays are the kit's, and gone when create returns: copy what you need. */
typedef struct dmlcts_operator {
    uint32_t operator_type, execution_flags, tensor_count, attribute_count;
    const dmlcts_tensor *tensors;       /* in the order of their members; an optional one that is not there is missing */
    const dmlcts_attribute *attributes; /* in the order of their members; a null pointer is missing */
} dmlcts_operator;

/* Why something failed, for the report; up to 4095 bytes of UTF-8. */
typedef struct dmlcts_error {
    char text[DMLCTS_MOST_TEXT];
} dmlcts_error;

typedef struct dmlcts_runner dmlcts_runner;
struct dmlcts_runner {
    const char *name, *adapter, *driver, *library, *library_version; /* NULL for what there is not; name must be there */
    uint32_t feature_level;                                          /* DML_FEATURE_LEVEL: 0x5000 for 5.0 */
    int suite_validates;        /* nonzero: the suite refuses bad descriptions, and says so in the results */
    int only_claims;            /* nonzero: the runner has the operators of its claims, and no other */
    const dmlcts_claim *claims; /* operators of which fewer types than the level obliges are taken */
    uint32_t claim_count;
    const dmlcts_detail *details; /* what else is worth recording */
    uint32_t detail_count;
    uint64_t most_memory; /* bytes of the largest memory that is taken; 0 for 1 GiB */
    void *user;           /* yours */

    /* Called once a conversation, before anything else; may be NULL, and then every option is refused. It may fill in
       what stands above. Gives an enum dmlcts_status. */
    int (*open)(dmlcts_runner *runner, const dmlcts_option *options, uint32_t option_count, dmlcts_error *error);
    /* Make an operator ready, and put what is yours into *kernel. Gives an enum dmlcts_status. */
    int (*create)(dmlcts_runner *runner, const dmlcts_operator *operation, void **kernel, dmlcts_error *error);
    /* Run it once: memory is the whole resource, at a multiple of 4096, and holds afterwards what the device left in all
       of it. Each binding lies inside the memory, and names a tensor by its member; an in-place run binds the same
       bytes twice. Gives an enum dmlcts_status. */
    int (*dispatch)(dmlcts_runner *runner, void *kernel, void *memory, uint64_t memory_size,
                    const dmlcts_binding *bindings, uint32_t binding_count, dmlcts_error *error);
    /* Release what create made. */
    void (*destroy)(dmlcts_runner *runner, void *kernel);
    /* Called at the end of a conversation that was opened; may be NULL. */
    void (*close)(dmlcts_runner *runner);
};

/* Serve what the command line says, and give main's exit code:

       RUNNER                                            the suite started it, and talks over its standard input and output
       RUNNER --listen PORT [--secret FILE]              serve connections on this machine's own address
       RUNNER --listen PORT --address A --secret FILE    serve connections on another address, which needs a secret
       RUNNER --offline CASES OUTPUTS                    execute a folder of recorded conversations
       RUNNER --new-secret FILE                          make a secret: 32 random bytes, for both machines

   What the program prints to standard output goes to standard error while it runs. Where it listens, each connection
   gets a process of its own (on Windows a thread), 16 conversations at a time. A connection has 5 seconds to prove the
   secret, or without one to say hello, and takes no conversation's place until then. */
int dmlcts_run(dmlcts_runner *runner, int argc, char **argv);

/* The tensor or attribute that is this member of the operator's structure, counted from 0; NULL where it is not there. */
const dmlcts_tensor *dmlcts_tensor_of(const dmlcts_operator *operation, uint32_t member);
const dmlcts_attribute *dmlcts_attribute_of(const dmlcts_operator *operation, uint32_t member);
const dmlcts_binding *dmlcts_binding_of(const dmlcts_binding *bindings, uint32_t binding_count, uint32_t member);

/* Say why; as printf does. Gives status, so that one may write return dmlcts_fail(error, status, ...). */
int dmlcts_fail(dmlcts_error *error, int status, const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
