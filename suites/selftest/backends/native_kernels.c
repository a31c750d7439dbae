/* CLIP, ROUND and THRESHOLD written plainly, as a witness of what compilers and processors make of them.

   Built at any optimisation, run with subnormals kept or flushed. The faults at the end of the options are planted. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <xmmintrin.h>

enum operator { CLIP = 8, ROUND = 99, THRESHOLD = 32 };
enum data_type { FLOAT32 = 1, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, UINT64 = 10, INT64 };
enum mode { HALVES_TO_NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY };

struct description {
    uint32_t operator, data_type, mode, rank, packed, scaled;
    float scale, bias, low, high;
    uint32_t sizes[8], input_strides[8], output_strides[8]; /* in elements */
    uint32_t control; /* bits to set in MXCSR: 0x8000 flushes results (FTZ), 0x40 operands (DAZ) */
};

static size_t elements(const struct description *d) {
    size_t count = 1;
    for (uint32_t axis = 0; axis < d->rank; axis++) count *= d->sizes[axis];
    return count;
}

static size_t place(const struct description *d, const uint32_t *strides, size_t index) {
    size_t found = 0;
    for (uint32_t axis = d->rank; axis-- > 0; index /= d->sizes[axis])
        found += (index % d->sizes[axis]) * strides[axis];
    return found;
}

/* RESULT for every element x; packed tensors have a loop that can be vectorised. */
#define EACH(TYPE, RESULT)                                           \
    do {                                                             \
        const TYPE *in = input;                                      \
        TYPE *out = output;                                          \
        size_t count = elements(d);                                  \
        if (d->packed) {                                             \
            for (size_t i = 0; i < count; i++) {                     \
                TYPE x = in[i];                                      \
                out[i] = RESULT;                                     \
            }                                                        \
        } else {                                                     \
            for (size_t i = 0; i < count; i++) {                     \
                TYPE x = in[place(d, d->input_strides, i)];          \
                out[place(d, d->output_strides, i)] = RESULT;        \
            }                                                        \
        }                                                            \
    } while (0)

#define CLAMPING(TYPE)                                                                          \
    static inline TYPE clip_##TYPE(TYPE x, TYPE low, TYPE high) {                               \
        TYPE y = x < high ? x : high;                                                           \
        return y > low ? y : low;                                                               \
    }                                                                                           \
    static inline TYPE threshold_##TYPE(TYPE x, TYPE low) { return x > low ? x : low; }         \
    static void clamp_##TYPE(const struct description *d, TYPE low, TYPE high, const void *input, void *output) { \
        float scale = d->scale, bias = d->bias;                                                 \
        if (d->operator == CLIP && d->scaled)                                                   \
            EACH(TYPE, clip_##TYPE(scale_##TYPE(x, scale, bias), low, high));                   \
        else if (d->operator == CLIP)                                                           \
            EACH(TYPE, clip_##TYPE(x, low, high));                                              \
        else if (d->scaled)                                                                     \
            EACH(TYPE, threshold_##TYPE(scale_##TYPE(x, scale, bias), low));                    \
        else                                                                                    \
            EACH(TYPE, threshold_##TYPE(x, low));                                               \
    }

/* Floating point: arithmetic is float's, fused where the compiler finds it faster. */

typedef float float32;
typedef _Float16 float16;

#ifdef FAULT_RECIPROCAL
#define SCALED(X) ((X) / (1.0f / scale) + bias)
#else
#define SCALED(X) ((X) * scale + bias)
#endif

#define FLOATING(TYPE)                                                                          \
    static inline TYPE scale_##TYPE(TYPE x, float scale, float bias) { return (TYPE)SCALED((float)x); } \
    CLAMPING(TYPE)                                                                              \
    static void run_##TYPE(const struct description *d, const void *input, void *output) {      \
        if (d->operator != ROUND)                                                               \
            clamp_##TYPE(d, (TYPE)d->low, (TYPE)d->high, input, output);                        \
        else if (d->mode == HALVES_TO_NEAREST_EVEN)                                             \
            EACH(TYPE, (TYPE)rintf((float)x));                                                  \
        else if (d->mode == TOWARD_ZERO)                                                        \
            EACH(TYPE, (TYPE)truncf((float)x));                                                 \
        else                                                                                    \
            EACH(TYPE, (TYPE)roundf((float)x));                                                 \
    }

FLOATING(float32)
FLOATING(float16)

/* Integers: bounds and scaled values are truncated and saturated. */

#define INTEGER(TYPE, LEAST, MOST)                                                              \
    static TYPE whole_##TYPE(double value) {                                                    \
        if (!(value > (double)LEAST)) return value == value ? LEAST : 0;                        \
        return value >= (double)MOST ? MOST : (TYPE)value;                                      \
    }                                                                                           \
    static inline TYPE scale_##TYPE(TYPE x, float scale, float bias) {                          \
        return scale == 1 && bias == 0 ? x : whole_##TYPE((double)x * scale + bias);            \
    }                                                                                           \
    CLAMPING(TYPE)                                                                              \
    static void run_##TYPE(const struct description *d, const void *input, void *output) {      \
        clamp_##TYPE(d, whole_##TYPE(d->low), whole_##TYPE(d->high), input, output);            \
    }

INTEGER(int8_t, INT8_MIN, INT8_MAX)
INTEGER(int16_t, INT16_MIN, INT16_MAX)
INTEGER(int32_t, INT32_MIN, INT32_MAX)
INTEGER(int64_t, INT64_MIN, INT64_MAX)
INTEGER(uint8_t, 0, UINT8_MAX)
INTEGER(uint16_t, 0, UINT16_MAX)
INTEGER(uint32_t, 0, UINT32_MAX)
INTEGER(uint64_t, 0, UINT64_MAX)

typedef void kernel(const struct description *, const void *, void *);

/* Volatile, so that no arithmetic of a kernel is moved across the change of MXCSR. */
static kernel *volatile const kernels[] = {
    [FLOAT32] = run_float32, [FLOAT16] = run_float16,
    [UINT32] = run_uint32_t, [UINT16] = run_uint16_t, [UINT8] = run_uint8_t, [UINT64] = run_uint64_t,
    [INT32] = run_int32_t,   [INT16] = run_int16_t,   [INT8] = run_int8_t,   [INT64] = run_int64_t,
};

unsigned control_word(void) { return _mm_getcsr(); }

void set_control_word(unsigned value) { _mm_setcsr(value); }

void run(const struct description *d, const void *input, void *output) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | d->control);
    kernels[d->data_type](d, input, output);
#ifndef FAULT_CONTROL_LEFT
    _mm_setcsr(before);
#endif
}
