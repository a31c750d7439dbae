/* The kit's source: conversations, their transports, and the proof of a shared secret. See dmlcts_runner.h. */

#ifdef _WIN32
#define _CRT_RAND_S 1 /* rand_s, before any header */
#elif !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* what POSIX and Linux have more than C */
#endif

#include "dmlcts_runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>
#else
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#endif

#ifdef __cplusplus
#define SAME_SIZE(type, size) static_assert(sizeof(type) == (size), "the compiler leaves gaps in " #type)
#else
#define SAME_SIZE(type, size) _Static_assert(sizeof(type) == (size), "the compiler leaves gaps in " #type)
#endif
SAME_SIZE(dmlcts_header, 24);
SAME_SIZE(dmlcts_hello, 48);
SAME_SIZE(dmlcts_option, 1024);
SAME_SIZE(dmlcts_hello_reply, 560);
SAME_SIZE(dmlcts_create, 24);
SAME_SIZE(dmlcts_tensor, 160);
SAME_SIZE(dmlcts_attribute, 24);
SAME_SIZE(dmlcts_dispatch, 24);
SAME_SIZE(dmlcts_binding, 24);
SAME_SIZE(dmlcts_share, 288);

enum {
    VERSION = 1,
    MOST_PAYLOAD = 48 + DMLCTS_MOST_OPTIONS * 1024, /* the longest that is no memory: a hello with all its options */
    MEMORY_ALIGNMENT = 4096,
    LEAST_SECRET = 32,
    MOST_SECRET = 1024,
    LEAST_DIFFERENT = 8, /* bytes of a secret: one that was drawn at random has more */
    MOST_CONVERSATIONS = 16,
    MOST_UNPROVEN = 16,  /* connections that have proven nothing: places of their own, so that they take nobody else's */
    UNPROVEN_TIME = 5000, /* what such a connection has, in milliseconds */
    CROWDED_TIME = 1000, /* what it has at least where others wait for its place */
    PLACE_TIME = 1000,   /* how long a suite that has proven itself waits for a conversation to end */
    GONE_TIME = 2000,    /* how long a process goes on whose suite has gone */
    TICK = 100
};
static const uint64_t USUAL_MEMORY = (uint64_t)1 << 30;
static const uint64_t STEP = (uint64_t)16 << 20; /* memory is taken as its bytes arrive, never on the word of a length */

static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Helpers of whoever fills in the runner. */

int dmlcts_fail(dmlcts_error *error, int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

const dmlcts_tensor *dmlcts_tensor_of(const dmlcts_operator *operation, uint32_t member) {
    for (uint32_t i = 0; i < operation->tensor_count; i++)
        if (operation->tensors[i].member == member) return &operation->tensors[i];
    return NULL;
}

const dmlcts_attribute *dmlcts_attribute_of(const dmlcts_operator *operation, uint32_t member) {
    for (uint32_t i = 0; i < operation->attribute_count; i++)
        if (operation->attributes[i].member == member) return &operation->attributes[i];
    return NULL;
}

const dmlcts_binding *dmlcts_binding_of(const dmlcts_binding *bindings, uint32_t binding_count, uint32_t member) {
    for (uint32_t i = 0; i < binding_count; i++)
        if (bindings[i].member == member) return &bindings[i];
    return NULL;
}

/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104). */

typedef struct sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
} sha256;

static uint32_t rotated(uint32_t x, unsigned by) { return x >> by | x << (32 - by); }

static void sha256_block(sha256 *hash, const uint8_t *block) {
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t words[64], v[8];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
                   block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + words[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
                   (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, hash->state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + words[i];
        uint32_t two = (rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) hash->state[i] += v[i];
}

static void sha256_begin(sha256 *hash) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof start);
    hash->length = 0;
}

static void sha256_add(sha256 *hash, const void *data, size_t size) {
    const uint8_t *bytes = (const uint8_t *)data;
    for (size_t i = 0; i < size; i++) {
        hash->block[hash->length++ % 64] = bytes[i];
        if (hash->length % 64 == 0) sha256_block(hash, hash->block);
    }
}

static void sha256_end(sha256 *hash, uint8_t digest[32]) {
    uint64_t bits = hash->length * 8;
    uint8_t byte = 0x80;
    do {
        sha256_add(hash, &byte, 1);
        byte = 0;
    } while (hash->length % 64 != 56);
    for (int i = 7; i >= 0; i--) {
        byte = (uint8_t)(bits >> 8 * i);
        sha256_add(hash, &byte, 1);
    }
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

typedef struct secret {
    uint8_t bytes[MOST_SECRET + 3]; /* with the end of a line, and one more than is allowed */
    size_t size; /* 0: there is none */
} secret;

/* HMAC-SHA-256 of the secret over the role's label and both draws. */
static void prove(const secret *known, const char *role, const uint8_t *suite, const uint8_t *runner, uint8_t proof[32]) {
    uint8_t key[64] = {0}, pad[64];
    sha256 hash;
    if (known->size > sizeof key) {
        sha256_begin(&hash);
        sha256_add(&hash, known->bytes, known->size);
        sha256_end(&hash, key);
    } else {
        memcpy(key, known->bytes, known->size);
    }
    for (int i = 0; i < 64; i++) pad[i] = key[i] ^ 0x36;
    sha256_begin(&hash);
    sha256_add(&hash, pad, sizeof pad);
    sha256_add(&hash, DMLCTS_PROTOCOL " ", sizeof DMLCTS_PROTOCOL);
    sha256_add(&hash, role, strlen(role));
    sha256_add(&hash, suite, 32);
    sha256_add(&hash, runner, 32);
    sha256_end(&hash, proof);
    for (int i = 0; i < 64; i++) pad[i] = key[i] ^ 0x5c;
    sha256_begin(&hash);
    sha256_add(&hash, pad, sizeof pad);
    sha256_add(&hash, proof, 32);
    sha256_end(&hash, proof);
}

static int same(const uint8_t *one, const uint8_t *other, size_t size) { /* in a time that reveals nothing */
    unsigned different = 0;
    for (size_t i = 0; i < size; i++) different |= (unsigned)(one[i] ^ other[i]);
    return different == 0;
}

/* Random bytes that nobody can guess; 0 where there are none. */
static int draw(uint8_t bytes[32]) {
#ifdef _WIN32
    for (int i = 0; i < 32; i += 4) {
        unsigned word;
        if (rand_s(&word) != 0) return 0;
        memcpy(bytes + i, &word, 4);
    }
    return 1;
#else
    FILE *source = fopen("/dev/urandom", "rb");
    size_t count = source == NULL ? 0 : fread(bytes, 1, 32, source);
    if (source != NULL) fclose(source);
    return count == 32;
#endif
}

/* A way in and a way out, of a pipe, a socket or two files. */

typedef struct channel {
    int is_socket;
    int in, out; /* descriptors */
#ifdef _WIN32
    SOCKET socket;
#endif
} channel;

static int channel_read(const channel *way, void *data, uint64_t size) { /* 1: all of it; 0: it ended */
    uint8_t *at = (uint8_t *)data;
    while (size > 0) {
#ifdef _WIN32
        unsigned most = (unsigned)smaller(size, 1u << 30);
        int count = way->is_socket ? recv(way->socket, (char *)at, (int)most, 0) : _read(way->in, at, most);
#else
        ssize_t count = read(way->in, at, (size_t)smaller(size, (uint64_t)1 << 30));
        if (count < 0 && errno == EINTR) continue;
#endif
        if (count <= 0) return 0;
        at += count;
        size -= (uint64_t)count;
    }
    return 1;
}

static int channel_write(const channel *way, const void *data, uint64_t size) {
    const uint8_t *at = (const uint8_t *)data;
    while (size > 0) {
#ifdef _WIN32
        unsigned most = (unsigned)smaller(size, 1u << 30);
        int count = way->is_socket ? send(way->socket, (const char *)at, (int)most, 0) : _write(way->out, at, most);
#else
        ssize_t count = write(way->out, at, (size_t)smaller(size, (uint64_t)1 << 30));
        if (count < 0 && errno == EINTR) continue;
#endif
        if (count <= 0) return 0;
        at += count;
        size -= (uint64_t)count;
    }
    return 1;
}

/* Where a connection asks for a conversation's place, once it has proven itself. */

typedef struct door {
#ifdef _WIN32
    volatile LONG *state;
#else
    int asking; /* a socket to the process that listens */
#endif
} door;

static int take_place(const door *asked);

/* A conversation. */

typedef struct kernel_entry {
    uint32_t number;
    void *kernel;
} kernel_entry;

typedef struct conversation {
    dmlcts_runner *runner;
    const channel *way;
    const secret *known;
    const door *asked; /* NULL: there is one conversation, and it has its place */
    int local;  /* the other side is on this machine: memory may be shared */
    int proven; /* the suite knows the secret, or there is none */
    int placed; /* it has a conversation's place */
    int begun, opened;
    int refused; /* the last create was */
    uint8_t suite_nonce[32], runner_nonce[32];
    kernel_entry *kernels;
    uint32_t kernel_count, kernel_room;
    uint8_t *block, *memory; /* the memory that follows messages: what malloc gave, and its first aligned byte */
    uint64_t memory_room;
    uint8_t *shared; /* the memory that both sides map */
    uint64_t shared_size;
    uint32_t segment;
    dmlcts_header request;
    uint64_t payload[MOST_PAYLOAD / 8]; /* of numbers, so that it is aligned for every layout */
    dmlcts_error error;
} conversation;

static uint64_t most_memory(const conversation *talk) {
    return talk->runner->most_memory != 0 ? talk->runner->most_memory : USUAL_MEMORY;
}

/* Send an answer in as few writes as there can be. 1: go on; 0: the other side is gone. */
static int answer(conversation *talk, int status, const void *head, uint64_t head_size, const void *rest, uint64_t rest_size) {
    uint8_t small[4096];
    dmlcts_header header;
    header.mark = DMLCTS_MARK;
    header.kind = (uint16_t)(talk->request.kind | DMLCTS_REPLY);
    header.status = (uint16_t)status;
    header.number = talk->request.number;
    header.length = head_size + rest_size;
    if (sizeof header + head_size + rest_size <= sizeof small) {
        memcpy(small, &header, sizeof header);
        if (head_size > 0) memcpy(small + sizeof header, head, (size_t)head_size);
        if (rest_size > 0) memcpy(small + sizeof header + head_size, rest, (size_t)rest_size);
        return channel_write(talk->way, small, sizeof header + head_size + rest_size);
    }
    return channel_write(talk->way, &header, sizeof header) && channel_write(talk->way, head, head_size) &&
           channel_write(talk->way, rest, rest_size);
}

static int answer_error(conversation *talk, int status) {
    talk->error.text[sizeof talk->error.text - 1] = 0;
    return answer(talk, status, talk->error.text, strlen(talk->error.text), NULL, 0);
}

/* The request is none, so nothing can follow it: say so, and end the conversation. */
static int bad_message(conversation *talk, const char *why) {
    dmlcts_fail(&talk->error, 0, "%s", why);
    fprintf(stderr, "dmlcts_runner: %s\n", why);
    answer_error(talk, DMLCTS_STATUS_BAD_MESSAGE);
    return 0;
}

static uint8_t *payload_at(conversation *talk, uint64_t offset) { return (uint8_t *)talk->payload + offset; }

static void put_text(char *field, size_t size, const char *text) {
    memset(field, 0, size);
    if (text != NULL) memcpy(field, text, strlen(text) < size ? strlen(text) : size - 1);
}

static int is_text(const char *field, size_t size) { return memchr(field, 0, size) != NULL; }

static int on_hello(conversation *talk) {
    dmlcts_runner *runner = talk->runner;
    const dmlcts_hello *hello = (const dmlcts_hello *)talk->payload;
    const dmlcts_option *options = (const dmlcts_option *)payload_at(talk, sizeof *hello);
    dmlcts_hello_reply *reply;
    uint64_t size;
    uint8_t *rest;
    int status = DMLCTS_STATUS_OK, went;
    if (talk->opened) return bad_message(talk, "hello was said already");
    if (talk->request.length < sizeof *hello || hello->option_count > DMLCTS_MOST_OPTIONS ||
        talk->request.length != sizeof *hello + hello->option_count * sizeof *options)
        return bad_message(talk, "hello has another length than its options make");
    if (memcmp(hello->protocol, DMLCTS_PROTOCOL, sizeof hello->protocol) != 0 || hello->oldest > VERSION ||
        hello->newest < VERSION) {
        dmlcts_fail(&talk->error, 0, "this runner speaks %s, version %d", DMLCTS_PROTOCOL, VERSION);
        answer_error(talk, DMLCTS_STATUS_BAD_VERSION);
        return 0;
    }
    for (uint32_t i = 0; i < hello->option_count; i++)
        if (!is_text(options[i].key, sizeof options[i].key) || !is_text(options[i].value, sizeof options[i].value))
            return bad_message(talk, "an option does not end with a zero");
    if (!talk->placed && !(talk->known->size == 0 && take_place(talk->asked))) {
        dmlcts_fail(&talk->error, 0, "all places for conversations are taken, %d of them", (int)MOST_CONVERSATIONS);
        answer_error(talk, DMLCTS_STATUS_UNAVAILABLE);
        return 0;
    }
    talk->placed = 1;
    dmlcts_fail(&talk->error, 0, "%s", "");
    if (runner->open != NULL)
        status = runner->open(runner, options, hello->option_count, &talk->error);
    else if (hello->option_count > 0)
        status = dmlcts_fail(&talk->error, DMLCTS_STATUS_BAD_OPTION, "there is no option %s", options[0].key);
    if (status != DMLCTS_STATUS_OK) {
        answer_error(talk, status);
        return 0;
    }
    talk->opened = 1;
    if (runner->claim_count > DMLCTS_MOST_CLAIMS || runner->detail_count > DMLCTS_MOST_DETAILS) {
        fprintf(stderr, "dmlcts_runner: too many claims or details\n");
        return 0;
    }
    size = sizeof *reply + runner->claim_count * sizeof *runner->claims + runner->detail_count * sizeof *runner->details;
    reply = (dmlcts_hello_reply *)calloc(1, (size_t)size);
    if (reply == NULL) return 0;
    put_text(reply->protocol, sizeof reply->protocol, DMLCTS_PROTOCOL);
    reply->version = VERSION;
    reply->feature_level = runner->feature_level;
    if (talk->local && hello->flags & DMLCTS_HELLO_FLAG_SHARED_MEMORY) reply->flags |= DMLCTS_HELLO_FLAG_SHARED_MEMORY;
    if (runner->suite_validates) reply->flags |= DMLCTS_HELLO_FLAG_SUITE_VALIDATES;
    if (runner->only_claims) reply->flags |= DMLCTS_HELLO_FLAG_ONLY_CLAIMS;
    reply->claim_count = runner->claim_count;
    reply->detail_count = runner->detail_count;
    reply->most_length = most_memory(talk) + MOST_PAYLOAD;
    put_text(reply->name, sizeof reply->name, runner->name);
    put_text(reply->adapter, sizeof reply->adapter, runner->adapter);
    put_text(reply->driver, sizeof reply->driver, runner->driver);
    put_text(reply->library, sizeof reply->library, runner->library);
    put_text(reply->library_version, sizeof reply->library_version, runner->library_version);
    rest = (uint8_t *)(reply + 1);
    if (runner->claim_count > 0) memcpy(rest, runner->claims, runner->claim_count * sizeof *runner->claims);
    rest += runner->claim_count * sizeof *runner->claims;
    if (runner->detail_count > 0) memcpy(rest, runner->details, runner->detail_count * sizeof *runner->details);
    went = answer(talk, DMLCTS_STATUS_OK, reply, size, NULL, 0);
    free(reply);
    return went;
}

static kernel_entry *kernel_of(conversation *talk, uint32_t number) {
    for (uint32_t i = 0; i < talk->kernel_count; i++)
        if (talk->kernels[i].number == number) return &talk->kernels[i];
    return NULL;
}

static const char *wrong_with(const dmlcts_operator *operation) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < operation->tensor_count; i++) {
        const dmlcts_tensor *tensor = &operation->tensors[i];
        if (tensor->dimension_count > DMLCTS_MOST_DIMENSIONS) return "a tensor has more than 16 dimensions";
        if (tensor->has_strides > 1) return "has_strides of a tensor is neither 0 nor 1";
        if (i > 0 && tensor->member <= before) return "the tensors are not in the order of their members";
        before = tensor->member;
    }
    for (uint32_t i = 0; i < operation->attribute_count; i++) {
        const dmlcts_attribute *attribute = &operation->attributes[i];
        if (attribute->kind < DMLCTS_ATTRIBUTE_KIND_FLOAT || attribute->kind > DMLCTS_ATTRIBUTE_KIND_SCALAR_UNION)
            return "an attribute is of no kind";
        if (i > 0 && attribute->member <= before) return "the attributes are not in the order of their members";
        if (dmlcts_tensor_of(operation, attribute->member) != NULL) return "a member is a tensor and an attribute";
        before = attribute->member;
    }
    return NULL;
}

static int on_create(conversation *talk) {
    const dmlcts_create *create = (const dmlcts_create *)talk->payload;
    dmlcts_create_reply reply;
    dmlcts_operator operation;
    const char *wrong;
    void *kernel = NULL;
    int status;
    if (talk->request.length < sizeof *create || create->tensor_count > DMLCTS_MOST_TENSORS ||
        create->attribute_count > DMLCTS_MOST_ATTRIBUTES ||
        talk->request.length != sizeof *create + create->tensor_count * sizeof(dmlcts_tensor) +
                                    create->attribute_count * sizeof(dmlcts_attribute))
        return bad_message(talk, "create has another length than its tensors and attributes make");
    operation.operator_type = create->operator_type;
    operation.execution_flags = create->execution_flags;
    operation.tensor_count = create->tensor_count;
    operation.attribute_count = create->attribute_count;
    operation.tensors = (const dmlcts_tensor *)payload_at(talk, sizeof *create);
    operation.attributes = (const dmlcts_attribute *)(operation.tensors + create->tensor_count);
    wrong = wrong_with(&operation);
    if (wrong != NULL) return bad_message(talk, wrong);
    if (kernel_of(talk, create->kernel) != NULL) return bad_message(talk, "a kernel has this number already");
    if (talk->kernel_count == DMLCTS_MOST_KERNELS) return bad_message(talk, "too many kernels");
    if (talk->kernel_count == talk->kernel_room) {
        uint32_t room = talk->kernel_room == 0 ? 64 : 2 * talk->kernel_room;
        kernel_entry *grown = (kernel_entry *)realloc(talk->kernels, room * sizeof *grown);
        if (grown == NULL) {
            dmlcts_fail(&talk->error, 0, "no memory for another kernel");
            return answer_error(talk, DMLCTS_STATUS_OUT_OF_MEMORY);
        }
        talk->kernels = grown;
        talk->kernel_room = room;
    }
    dmlcts_fail(&talk->error, 0, "%s", "");
    status = talk->runner->create(talk->runner, &operation, &kernel, &talk->error);
    talk->refused = status != DMLCTS_STATUS_OK;
    if (status != DMLCTS_STATUS_OK) return answer_error(talk, status);
    talk->kernels[talk->kernel_count].number = create->kernel;
    talk->kernels[talk->kernel_count].kernel = kernel;
    talk->kernel_count++;
    reply.kernel = create->kernel;
    reply.reserved = 0;
    return answer(talk, DMLCTS_STATUS_OK, &reply, sizeof reply, NULL, 0);
}

static uint8_t *aligned(uint8_t *block) {
    return block + (MEMORY_ALIGNMENT - (uintptr_t)block % MEMORY_ALIGNMENT) % MEMORY_ALIGNMENT;
}

/* Room for so many bytes, the first `kept` of which stay; 0 where the system has none. */
static int make_room(conversation *talk, uint64_t size, uint64_t kept) {
    uint8_t *block;
    if (size <= talk->memory_room) return 1;
    if (size > SIZE_MAX - MEMORY_ALIGNMENT) return 0;
    block = (uint8_t *)malloc((size_t)size + MEMORY_ALIGNMENT);
    if (block == NULL) return 0;
    if (kept > 0) memcpy(aligned(block), talk->memory, (size_t)kept);
    free(talk->block);
    talk->block = block;
    talk->memory = aligned(block);
    talk->memory_room = size;
    return 1;
}

/* 1: the memory has arrived; 0: it ended early, or there is no room: then *status says so, and the rest was read over. */
static int take_memory(conversation *talk, uint64_t size, int *status) {
    uint64_t have = 0;
    while (have < size) {
        uint64_t next = smaller(size, have < STEP ? STEP : 2 * have);
        if (!make_room(talk, next, have)) {
            uint8_t lost[4096];
            for (; have < size; have += smaller(size - have, sizeof lost))
                if (!channel_read(talk->way, lost, smaller(size - have, sizeof lost))) return 0;
            *status = DMLCTS_STATUS_OUT_OF_MEMORY;
            return 0;
        }
        if (!channel_read(talk->way, talk->memory + have, next - have)) return 0;
        have = next;
    }
    return 1;
}

static int on_dispatch(conversation *talk, uint64_t left) {
    const dmlcts_dispatch *dispatch = (const dmlcts_dispatch *)talk->payload;
    const dmlcts_binding *bindings = (const dmlcts_binding *)payload_at(talk, sizeof *dispatch);
    const kernel_entry *entry;
    uint64_t head = sizeof *dispatch, size;
    dmlcts_dispatch_reply reply;
    uint8_t *memory;
    int shared, status = DMLCTS_STATUS_OK;
    if (left < head) return bad_message(talk, "dispatch is too short");
    if (!channel_read(talk->way, talk->payload, head)) return 0;
    size = dispatch->memory_size;
    shared = dispatch->place == DMLCTS_PLACE_SHARED;
    if (dispatch->binding_count > DMLCTS_MOST_TENSORS || dispatch->place > DMLCTS_PLACE_SHARED)
        return bad_message(talk, "dispatch has too many bindings, or its memory is nowhere");
    head += dispatch->binding_count * sizeof *bindings;
    if (shared ? left != head || dispatch->segment == 0 || dispatch->segment != talk->segment || size > talk->shared_size
               : size > most_memory(talk) || left != head + size)
        return bad_message(talk, "dispatch has another length than its bindings and memory make, or too much memory");
    if (!channel_read(talk->way, payload_at(talk, sizeof *dispatch), head - sizeof *dispatch)) return 0;
    for (uint32_t i = 0; i < dispatch->binding_count; i++) {
        if (bindings[i].offset % DMLCTS_OFFSET_ALIGNMENT != 0 || bindings[i].offset > size ||
            bindings[i].size > size - bindings[i].offset)
            return bad_message(talk, "a binding does not lie in the memory");
        for (uint32_t j = 0; j < i; j++)
            if (bindings[j].member == bindings[i].member) return bad_message(talk, "a tensor is bound twice");
    }
    if (!shared && !take_memory(talk, size, &status)) {
        if (status == DMLCTS_STATUS_OK) return 0;
        dmlcts_fail(&talk->error, 0, "no room for a memory of %llu bytes", (unsigned long long)size);
        return answer_error(talk, status);
    }
    entry = kernel_of(talk, dispatch->kernel);
    if (entry == NULL) return bad_message(talk, "there is no kernel of this number");
    if (!shared && !make_room(talk, 1, 0)) return 0; /* a memory of no bytes has an address too */
    memory = shared ? talk->shared : talk->memory;
    dmlcts_fail(&talk->error, 0, "%s", "");
    status = talk->runner->dispatch(talk->runner, entry->kernel, memory, size, bindings, dispatch->binding_count, &talk->error);
    if (status != DMLCTS_STATUS_OK) return answer_error(talk, status);
    reply.kernel = dispatch->kernel;
    reply.place = dispatch->place;
    reply.memory_size = size;
    return answer(talk, DMLCTS_STATUS_OK, &reply, sizeof reply, memory, shared ? 0 : size);
}

static int on_close(conversation *talk) {
    const dmlcts_close *request = (const dmlcts_close *)talk->payload;
    kernel_entry *entry;
    if (talk->request.length != sizeof *request) return bad_message(talk, "close has another length");
    entry = kernel_of(talk, request->kernel);
    if (entry == NULL) return bad_message(talk, "there is no kernel of this number");
    talk->runner->destroy(talk->runner, entry->kernel);
    *entry = talk->kernels[--talk->kernel_count];
    return answer(talk, DMLCTS_STATUS_OK, NULL, 0, NULL, 0);
}

static void unshare(conversation *talk) {
#ifndef _WIN32
    if (talk->shared != NULL) munmap(talk->shared, (size_t)talk->shared_size);
#endif
    talk->shared = NULL;
    talk->shared_size = 0;
    talk->segment = 0;
}

/* Map the file that the suite names, where it is what the suite says: its first bytes are the request's token. */
static int on_share(conversation *talk) {
    const dmlcts_share *share = (const dmlcts_share *)talk->payload;
    dmlcts_share_reply reply;
    if (talk->request.length != sizeof *share || !is_text(share->path, sizeof share->path))
        return bad_message(talk, "share has another length, or its path does not end");
    if (share->segment == 0) return bad_message(talk, "a shared segment needs a number");
    unshare(talk);
#ifndef _WIN32
    if (talk->local && share->size >= 32 && share->size <= 2 * most_memory(talk)) {
        int file = open(share->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        struct stat status;
        if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == share->size) {
            void *mapped = mmap(NULL, (size_t)share->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            if (mapped != MAP_FAILED) {
                talk->shared = (uint8_t *)mapped;
                talk->shared_size = share->size;
                if (same(talk->shared, share->token, sizeof share->token))
                    talk->segment = share->segment;
                else
                    unshare(talk);
            }
        }
        if (file >= 0) close(file);
    }
#endif
    if (talk->segment == 0) {
        dmlcts_fail(&talk->error, 0, "the memory is not to be had here");
        return answer_error(talk, DMLCTS_STATUS_NOT_SUPPORTED);
    }
    reply.segment = share->segment;
    reply.reserved = 0;
    memcpy(reply.token, talk->shared + 16, sizeof reply.token);
    return answer(talk, DMLCTS_STATUS_OK, &reply, sizeof reply, NULL, 0);
}

/* Both sides draw. Nothing here, nor in any other reply before the suite's proof, is computed from the secret. */
static int on_begin(conversation *talk) {
    dmlcts_begin_reply reply;
    if (talk->request.length != sizeof(dmlcts_begin)) return bad_message(talk, "begin has another length");
    if (talk->known->size == 0) {
        dmlcts_fail(&talk->error, 0, "this runner was started without a secret");
        return answer_error(talk, DMLCTS_STATUS_NOT_SUPPORTED);
    }
    if (talk->begun) return bad_message(talk, "begin was said already");
    memcpy(talk->suite_nonce, talk->payload, sizeof talk->suite_nonce);
    if (!draw(talk->runner_nonce)) return 0;
    talk->begun = 1;
    memcpy(reply.nonce, talk->runner_nonce, sizeof reply.nonce);
    return answer(talk, DMLCTS_STATUS_OK, &reply, sizeof reply, NULL, 0);
}

/* The suite proves first; who cannot learns that, and nothing else. */
static int on_authenticate(conversation *talk) {
    dmlcts_authenticate_reply reply;
    uint8_t due[32];
    if (talk->request.length != sizeof(dmlcts_authenticate) || !talk->begun || talk->proven)
        return bad_message(talk, "authenticate has another length, or comes without begin");
    prove(talk->known, "suite proves", talk->suite_nonce, talk->runner_nonce, due);
    if (!same(due, (const uint8_t *)talk->payload, sizeof due)) {
        dmlcts_fail(&talk->error, 0, "the secret is another");
        answer_error(talk, DMLCTS_STATUS_DENIED);
        return 0;
    }
    talk->proven = 1;
    talk->placed = take_place(talk->asked); /* where there is none, the reply to hello says so */
    prove(talk->known, "runner proves", talk->suite_nonce, talk->runner_nonce, reply.proof);
    return answer(talk, DMLCTS_STATUS_OK, &reply, sizeof reply, NULL, 0);
}

/* The earlier order, in which the runner proved first: whoever asked had something to guess the secret from. */
static int on_challenge(conversation *talk) {
    if (talk->known->size == 0) {
        if (talk->request.length != sizeof(dmlcts_challenge)) return bad_message(talk, "challenge has another length");
        dmlcts_fail(&talk->error, 0, "this runner was started without a secret");
        return answer_error(talk, DMLCTS_STATUS_NOT_SUPPORTED);
    }
    if (talk->proven) return bad_message(talk, "the secret was proven already");
    dmlcts_fail(&talk->error, 0, "here the suite proves the secret first: take a dmlcts that says begin, not challenge");
    answer_error(talk, DMLCTS_STATUS_DENIED);
    return 0;
}

/* One request: 1: go on; 0: the conversation is over, and *bye says whether as it should be. */
static int serve_one(conversation *talk, int *bye) {
    const dmlcts_header *request = &talk->request;
    if (!channel_read(talk->way, &talk->request, sizeof talk->request)) {
        *bye = 1; /* the suite has gone, or was stopped */
        return 0;
    }
    if (request->mark != DMLCTS_MARK || request->status != 0) {
        talk->request.kind = 0; /* whatever it was */
        return bad_message(talk, "what arrived is no message of " DMLCTS_PROTOCOL);
    }
    if (!talk->proven && request->kind == DMLCTS_KIND_CHALLENGE) return on_challenge(talk);
    if (!talk->proven && request->kind != DMLCTS_KIND_BEGIN && request->kind != DMLCTS_KIND_AUTHENTICATE) {
        dmlcts_fail(&talk->error, 0, "this runner asks for a secret");
        answer_error(talk, DMLCTS_STATUS_DENIED);
        return 0;
    }
    if (!talk->opened && request->kind != DMLCTS_KIND_BEGIN && request->kind != DMLCTS_KIND_AUTHENTICATE &&
        request->kind != DMLCTS_KIND_CHALLENGE && request->kind != DMLCTS_KIND_HELLO && request->kind != DMLCTS_KIND_BYE)
        return bad_message(talk, "nobody has said hello");
    if (request->kind == DMLCTS_KIND_DISPATCH) return on_dispatch(talk, request->length);
    if (request->length > (talk->proven ? (uint64_t)MOST_PAYLOAD : sizeof(dmlcts_authenticate)))
        return bad_message(talk, "the message is too long");
    if (!channel_read(talk->way, talk->payload, request->length)) return 0;
    switch (request->kind) {
        case DMLCTS_KIND_HELLO: return on_hello(talk);
        case DMLCTS_KIND_CREATE: return on_create(talk);
        case DMLCTS_KIND_CLOSE: return on_close(talk);
        case DMLCTS_KIND_SHARE: return on_share(talk);
        case DMLCTS_KIND_BEGIN: return on_begin(talk);
        case DMLCTS_KIND_AUTHENTICATE: return on_authenticate(talk);
        case DMLCTS_KIND_CHALLENGE: return on_challenge(talk);
        case DMLCTS_KIND_PING:
            if (request->length != sizeof(dmlcts_ping)) return bad_message(talk, "ping has another length");
            return answer(talk, DMLCTS_STATUS_OK, talk->payload, sizeof(dmlcts_ping), NULL, 0);
        case DMLCTS_KIND_BYE:
            if (request->length != 0) return bad_message(talk, "bye has another length");
            answer(talk, DMLCTS_STATUS_OK, NULL, 0, NULL, 0);
            *bye = 1;
            return 0;
        default: return bad_message(talk, "there is no such message");
    }
}

/* A whole conversation; gives main's exit code. A recorded one cannot know that create was refused: it ends there. */
static int converse(dmlcts_runner *runner, const channel *way, const secret *known, const door *asked, int local,
                    int recorded) {
    conversation *talk = (conversation *)calloc(1, sizeof *talk);
    int bye = 0;
    if (talk == NULL) return 1;
    talk->runner = runner;
    talk->way = way;
    talk->known = known;
    talk->asked = asked;
    talk->local = local;
    talk->proven = known->size == 0;
    talk->placed = asked == NULL;
    while (!(recorded && talk->refused) && serve_one(talk, &bye)) continue;
    if (recorded && talk->refused) bye = 1;
    while (talk->kernel_count > 0) runner->destroy(runner, talk->kernels[--talk->kernel_count].kernel);
    if (talk->opened && runner->close != NULL) runner->close(runner);
    unshare(talk);
    free(talk->kernels);
    free(talk->block);
    free(talk);
    return bye ? 0 : 1;
}

/* The ways to be reached. */

static int complain(const char *what, const char *about) {
    fprintf(stderr, "dmlcts_runner: %s%s%s\n", what, *about ? ": " : "", about);
    return 2;
}

static int serve_pipes(dmlcts_runner *runner) {
    secret none;
    channel way;
    memset(&none, 0, sizeof none);
    memset(&way, 0, sizeof way);
#ifdef _WIN32
    way.in = _dup(0);
    way.out = _dup(1);
    _dup2(2, 1); /* what the implementation prints must not end up between the messages */
    _setmode(way.in, _O_BINARY);
    _setmode(way.out, _O_BINARY);
#else
    way.in = dup(0);
    way.out = dup(1);
    if (way.in < 0 || way.out < 0 || dup2(2, 1) < 0) return complain("there is no standard input and output", "");
#endif
    return converse(runner, &way, &none, NULL, 1, 0);
}

static int is_white(uint8_t byte) { return byte != 0 && strchr(" \t\r\n\v\f", byte) != NULL; }

/* What is wrong with a secret, NULL for nothing: it is to be one that was drawn, as nobody draws a phrase. */
static const char *wrong_with_secret(const uint8_t *bytes, size_t size) {
    uint8_t seen[256] = {0};
    int printable = 1, white = 0, digit = 0, different = 0;
    if (size > MOST_SECRET) return "it has more than 1024 bytes";
    if (size < LEAST_SECRET) return "it has fewer than 32 bytes";
    for (size_t i = 0; i < size; i++) {
        if (!seen[bytes[i]]) different++;
        seen[bytes[i]] = 1;
        white |= is_white(bytes[i]);
        digit |= bytes[i] >= '0' && bytes[i] <= '9';
        printable &= (bytes[i] >= ' ' && bytes[i] <= '~') || is_white(bytes[i]);
    }
    if (different < LEAST_DIFFERENT) return "it repeats the same few bytes";
    return printable && (white || !digit) ? "it is a phrase" : NULL;
}

static int read_secret(const char *path, secret *known) {
    FILE *file = fopen(path, "rb");
    size_t size, first = 0;
    const char *wrong;
    if (file == NULL) return complain("the secret cannot be read", path);
    size = fread(known->bytes, 1, sizeof known->bytes, file);
    fclose(file);
    while (size > 0 && is_white(known->bytes[size - 1])) size--;
    while (first < size && is_white(known->bytes[first])) first++;
    known->size = size - first;
    memmove(known->bytes, known->bytes + first, known->size);
    wrong = wrong_with_secret(known->bytes, known->size);
    if (wrong == NULL) return 0;
    fprintf(stderr, "dmlcts_runner: the secret in %s can be guessed, or is none: %s; make one: --new-secret FILE\n", path, wrong);
    return 2;
}

/* Make a secret, in a file that was not there and that nobody else may read. */
static int write_secret(const char *path) {
    static const char digits[] = "0123456789abcdef";
    uint8_t drawn[32];
    char text[65];
    int file, count;
    if (!draw(drawn)) return complain("there are no random bytes here", "");
    for (int i = 0; i < 32; i++) {
        text[2 * i] = digits[drawn[i] >> 4];
        text[2 * i + 1] = digits[drawn[i] & 15];
    }
    text[64] = '\n';
#ifdef _WIN32
    file = _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE);
    count = file < 0 ? -1 : _write(file, text, sizeof text);
    if (file >= 0) _close(file);
#else
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    count = file < 0 ? -1 : (int)write(file, text, sizeof text);
    if (file >= 0) close(file);
#endif
    if (count != (int)sizeof text) return complain("no secret can be written there, or there is a file already", path);
    fprintf(stderr, "dmlcts_runner: written: %s; both machines need the same, and nobody else\n", path);
    return 0;
}

#ifdef _WIN32

/* A thread a connection. Its state says whether it has a conversation's place; the thread that listens closes it. */

enum { UNPROVEN = 0, PLACED = 1, ENDED = 2 };

typedef struct connection {
    dmlcts_runner *runner;
    const secret *known;
    SOCKET socket;
    ULONGLONG since;
    volatile LONG state;
} connection;

static volatile LONG places_taken = 0;

static int take_place(const door *asked) {
    if (asked == NULL) return 1;
    for (int waited = 0; waited <= PLACE_TIME; waited += TICK) {
        if (InterlockedIncrement(&places_taken) <= MOST_CONVERSATIONS) {
            InterlockedExchange(asked->state, PLACED);
            return 1;
        }
        InterlockedDecrement(&places_taken);
        Sleep(TICK);
    }
    return 0;
}

static unsigned __stdcall serve_connection(void *given) {
    connection *made = (connection *)given;
    channel way;
    door asked;
    memset(&way, 0, sizeof way);
    way.is_socket = 1;
    way.socket = made->socket;
    asked.state = &made->state;
    converse(made->runner, &way, made->known, &asked, 0, 0);
    if (InterlockedExchange(&made->state, ENDED) == PLACED) InterlockedDecrement(&places_taken);
    return 0;
}

/* Close what has ended, and stop what has proven nothing in its time; gives how many have proven nothing. */
static int tend(connection **made, int *count) {
    const ULONGLONG now = GetTickCount64();
    connection *oldest = NULL;
    int unproven = 0;
    for (int i = 0; i < *count;) {
        const LONG state = InterlockedCompareExchange(&made[i]->state, ENDED, ENDED);
        if (state == ENDED) {
            closesocket(made[i]->socket);
            free(made[i]);
            made[i] = made[--*count];
            continue;
        }
        if (state == UNPROVEN) {
            unproven++;
            if (oldest == NULL || made[i]->since < oldest->since) oldest = made[i];
            if (now - made[i]->since > UNPROVEN_TIME) shutdown(made[i]->socket, SD_BOTH);
        }
        i++;
    }
    if (unproven == MOST_UNPROVEN && now - oldest->since > CROWDED_TIME) shutdown(oldest->socket, SD_BOTH);
    return unproven;
}

static int serve_connections(dmlcts_runner *runner, const char *address, const char *port, const secret *known) {
    static connection *made[MOST_CONVERSATIONS + MOST_UNPROVEN];
    int count = 0;
    struct addrinfo wanted, *found = NULL;
    WSADATA data;
    SOCKET listening;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICHOST;
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0 || getaddrinfo(address, port, &wanted, &found) != 0)
        return complain("this is no address", address);
    listening = socket(found->ai_family, SOCK_STREAM, 0);
    if (listening == INVALID_SOCKET || bind(listening, found->ai_addr, (int)found->ai_addrlen) != 0 ||
        listen(listening, 4 * MOST_UNPROVEN) != 0)
        return complain("nobody can listen there", address);
    freeaddrinfo(found);
    fprintf(stderr, "dmlcts_runner: listening on %s, port %s\n", address, port);
    for (;;) {
        struct timeval tick;
        fd_set asked;
        SOCKET socket;
        BOOL on = 1;
        uintptr_t thread;
        if (tend(made, &count) >= MOST_UNPROVEN || count == MOST_CONVERSATIONS + MOST_UNPROVEN) {
            Sleep(TICK); /* whoever comes now waits until there is a place */
            continue;
        }
        FD_ZERO(&asked);
        FD_SET(listening, &asked);
        tick.tv_sec = 0;
        tick.tv_usec = 1000 * TICK;
        if (select(0, &asked, NULL, NULL, &tick) <= 0) continue;
        socket = accept(listening, NULL, NULL);
        if (socket == INVALID_SOCKET) continue;
        made[count] = (connection *)calloc(1, sizeof **made);
        if (made[count] == NULL) {
            closesocket(socket);
            continue;
        }
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, (const char *)&on, sizeof on);
        setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, (const char *)&on, sizeof on);
        made[count]->runner = runner;
        made[count]->known = known;
        made[count]->socket = socket;
        made[count]->since = GetTickCount64();
        thread = _beginthreadex(NULL, 0, serve_connection, made[count], 0, NULL);
        if (thread == 0) {
            closesocket(socket);
            free(made[count]);
            continue;
        }
        CloseHandle((HANDLE)thread);
        count++;
    }
}

#else

/* A process a connection. It asks the one that listens for a conversation's place when it has proven itself. */

typedef struct child {
    pid_t process;
    int socket;    /* kept open here, to see when the suite has gone while the process is busy or hangs */
    int asking;    /* where the process asks for a place; -1: it was answered */
    int placed;    /* it has one */
    int asks;      /* it asked, and waits */
    int64_t since; /* when it came; when it asked; when it was turned away */
    int64_t gone;  /* when its suite was seen to have gone, -1: it has not */
} child;

static int take_place(const door *asked) {
    char byte = 'p';
    if (asked == NULL) return 1;
    if (write(asked->asking, &byte, 1) != 1) return 0;
    while (read(asked->asking, &byte, 1) != 1)
        if (errno != EINTR) return 0;
    return byte == 'y';
}

static int64_t now_in_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int has_gone(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void forget(child *children, int *count, int index) {
    close(children[index].socket);
    if (children[index].asking >= 0) close(children[index].asking);
    children[index] = children[--*count];
}

/* Forget the processes that have ended; end those that have proven nothing in their time, or whose suite has gone. */
static void tend(child *children, int *count) {
    const int64_t now = now_in_milliseconds();
    for (int i = 0; i < *count;) {
        child *one = &children[i];
        if (one->gone < 0 && has_gone(one->socket)) one->gone = now;
        if ((one->gone >= 0 && now - one->gone > GONE_TIME) || (!one->placed && !one->asks && now - one->since > UNPROVEN_TIME))
            kill(one->process, SIGKILL);
        if (waitpid(one->process, NULL, WNOHANG) == 0) i++;
        else forget(children, count, i);
    }
}

/* Give places to those that have proven themselves; who has waited long is refused. */
static void give_places(child *children, int count) {
    const int64_t now = now_in_milliseconds();
    int taken = 0;
    for (int i = 0; i < count; i++) taken += children[i].placed;
    for (int i = 0; i < count; i++) {
        child *one = &children[i];
        if (!one->asks || (taken == MOST_CONVERSATIONS && now - one->since <= PLACE_TIME)) continue;
        one->placed = taken < MOST_CONVERSATIONS;
        taken += one->placed;
        one->asks = 0;
        one->since = now;
        if (write(one->asking, one->placed ? "y" : "n", 1) != 1) kill(one->process, SIGKILL);
        close(one->asking);
        one->asking = -1;
    }
}

static void hear(child *one) { /* it asks, or its process has ended */
    char byte;
    if (read(one->asking, &byte, 1) == 1) {
        one->asks = 1;
        one->since = now_in_milliseconds();
    } else {
        close(one->asking);
        one->asking = -1;
    }
}

/* Make room for one that has proven nothing; 0 where there is none yet. */
static int has_room(child *children, int *count, int making) {
    int unproven = 0, oldest = -1;
    for (int i = 0; i < *count; i++) {
        if (children[i].placed) continue;
        unproven++;
        if (!children[i].asks && (oldest < 0 || children[i].since < children[oldest].since)) oldest = i;
    }
    if (unproven < MOST_UNPROVEN) return 1;
    if (oldest < 0 || now_in_milliseconds() - children[oldest].since <= CROWDED_TIME) return 0;
    if (making) {
        kill(children[oldest].process, SIGKILL);
        waitpid(children[oldest].process, NULL, 0);
        forget(children, count, oldest);
    }
    return 1;
}

static void settle(int socket) { /* no delays, and an end where the other machine is gone without a word */
    const int on = 1;
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    {
        const int idle = 30, interval = 10, most = 3;
        setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
        setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most);
    }
#endif
}

static int serve_connections(dmlcts_runner *runner, const char *address, const char *port, const secret *known) {
    child children[MOST_CONVERSATIONS + MOST_UNPROVEN];
    int count = 0, listening, on = 1;
    struct addrinfo wanted, *found = NULL;
    struct sockaddr_storage bound;
    socklen_t bound_size = sizeof bound;
    char service[16];
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICHOST;
    if (getaddrinfo(address, port, &wanted, &found) != 0) return complain("this is no address", address);
    listening = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening >= 0) setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listening < 0 || bind(listening, found->ai_addr, found->ai_addrlen) != 0 || listen(listening, 4 * MOST_UNPROVEN) != 0)
        return complain("nobody can listen there", strerror(errno));
    freeaddrinfo(found);
    fcntl(listening, F_SETFL, fcntl(listening, F_GETFL) | O_NONBLOCK); /* who has gone before accept is waited for by nobody */
    if (getsockname(listening, (struct sockaddr *)&bound, &bound_size) != 0 ||
        getnameinfo((struct sockaddr *)&bound, bound_size, NULL, 0, service, sizeof service, NI_NUMERICSERV) != 0)
        return complain("nobody can listen there", strerror(errno));
    fprintf(stderr, "dmlcts_runner: listening on %s, port %s\n", address, service);
    for (;;) {
        struct pollfd heard[1 + MOST_CONVERSATIONS + MOST_UNPROVEN];
        int socket, local, ends[2];
        struct sockaddr_storage peer;
        socklen_t peer_size = sizeof peer;
        pid_t process;
        tend(children, &count);
        give_places(children, count);
        heard[0].fd = has_room(children, &count, 0) ? listening : -1; /* else whoever comes waits until there is a place */
        for (int i = 0; i < count; i++) heard[1 + i].fd = children[i].asks ? -1 : children[i].asking;
        for (int i = 0; i <= count; i++) {
            heard[i].events = POLLIN;
            heard[i].revents = 0;
        }
        if (poll(heard, (nfds_t)(1 + count), count > 0 ? TICK : 10 * TICK) <= 0) continue;
        for (int i = 0; i < count; i++)
            if (heard[1 + i].revents != 0) hear(&children[i]);
        if (heard[0].revents == 0) continue;
        tend(children, &count);
        give_places(children, count);
        if (!has_room(children, &count, 1)) continue;
        socket = accept(listening, (struct sockaddr *)&peer, &peer_size);
        if (socket < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) poll(NULL, 0, TICK); /* as where descriptors ran out */
            continue;
        }
        local = is_loopback((struct sockaddr *)&peer);
        settle(socket);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            close(socket);
            continue;
        }
        process = fork();
        if (process == 0) {
            channel way;
            door asked;
            memset(&way, 0, sizeof way);
            way.in = way.out = socket;
            asked.asking = ends[1];
            close(listening);
            close(ends[0]);
            for (int i = 0; i < count; i++) {
                close(children[i].socket);
                if (children[i].asking >= 0) close(children[i].asking);
            }
#ifdef __linux__
            prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
            exit(converse(runner, &way, known, &asked, local, 0));
        }
        close(ends[1]);
        if (process < 0) {
            close(ends[0]);
            close(socket);
            continue;
        }
        children[count].process = process;
        children[count].socket = socket;
        children[count].asking = ends[0];
        children[count].placed = children[count].asks = 0;
        children[count].since = now_in_milliseconds();
        children[count++].gone = -1;
    }
}

#endif

/* Conversations that were recorded beforehand: of each file in CASES/cases.txt, what the suite says is in CASES, and
   what the runner says goes to OUTPUTS. A file that is there already is left: where the program fell, it goes on
   behind the case that it fell in when it is started again. */

static int is_file_name(const char *name) {
    const size_t size = strlen(name);
    return size > 0 && size < 64 && name[0] != '.' && strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-_.") == size;
}

static int open_file(const char *folder, const char *name, int writing) {
    char path[1024];
    const int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof path) return -1;
#ifdef _WIN32
    return writing ? _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE)
                   : _open(path, _O_RDONLY | _O_BINARY);
#else
    return writing ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : open(path, O_RDONLY | O_CLOEXEC);
#endif
}

static void close_file(int file) {
#ifdef _WIN32
    if (file >= 0) _close(file);
#else
    if (file >= 0) close(file);
#endif
}

static int execute_folder(dmlcts_runner *runner, const char *cases, const char *outputs) {
    char path[1024], name[128];
    secret none;
    unsigned long ran = 0, there = 0, failed = 0;
    const int size = snprintf(path, sizeof path, "%s/cases.txt", cases);
    FILE *list = size > 0 && (size_t)size < sizeof path ? fopen(path, "r") : NULL;
    memset(&none, 0, sizeof none);
    if (list == NULL) return complain("there is no cases.txt", cases);
    while (fgets(name, sizeof name, list) != NULL) {
        channel way;
        name[strcspn(name, "\r\n")] = 0;
        if (!is_file_name(name)) {
            fclose(list);
            return complain("cases.txt names what is no file of a case", name);
        }
        memset(&way, 0, sizeof way);
        way.in = open_file(cases, name, 0);
        way.out = way.in < 0 ? -1 : open_file(outputs, name, 1);
        if (way.in < 0) failed++;
        else if (way.out < 0) there++;
        else {
            failed += converse(runner, &way, &none, NULL, 0, 1) != 0;
            ran++;
        }
        close_file(way.in);
        close_file(way.out);
    }
    fclose(list);
    fprintf(stderr, "dmlcts_runner: %lu cases executed, %lu left as they were, %lu failed\n", ran, there, failed);
    return failed > 0 ? 1 : 0;
}

static int is_own_address(const char *address) {
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

int dmlcts_run(dmlcts_runner *runner, int argc, char **argv) {
    const char *port = NULL, *address = "127.0.0.1", *file = NULL;
    secret known;
    const uint16_t one = 1;
    memset(&known, 0, sizeof known);
    if (*(const uint8_t *)&one != 1) return complain("this machine is not little-endian, and the protocol is", "");
    if (runner->name == NULL || *runner->name == 0 || runner->create == NULL || runner->dispatch == NULL ||
        runner->destroy == NULL)
        return complain("the runner needs a name, create, dispatch and destroy", "");
#ifndef _WIN32
    signal(SIGPIPE, SIG_IGN); /* a suite that has gone is seen by what write gives */
#endif
    if (argc == 4 && strcmp(argv[1], "--offline") == 0) return execute_folder(runner, argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "--new-secret") == 0) return write_secret(argv[2]);
    for (int i = 1; i < argc; i++) {
        const char **target = strcmp(argv[i], "--listen") == 0    ? &port
                              : strcmp(argv[i], "--address") == 0 ? &address
                              : strcmp(argv[i], "--secret") == 0  ? &file
                                                                  : NULL;
        if (target == NULL || i + 1 == argc)
            return complain("write RUNNER, RUNNER --listen PORT [--address A] [--secret FILE], RUNNER --new-secret FILE, or RUNNER --offline "
                            "CASES OUTPUTS", argv[i]);
        *target = argv[++i];
    }
    if (port == NULL) return serve_pipes(runner);
    if (file == NULL && !is_own_address(address)) return complain("another address than this machine's own needs --secret", address);
    if (file != NULL && read_secret(file, &known) != 0) return 2;
    return serve_connections(runner, address, port, &known);
}
