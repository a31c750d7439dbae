/* A whole runner: CLIP, ROUND and THRESHOLD in plain C, at feature level 5.0, with every refusal that is due.

       cc -O2 -o plain_runner plain_runner.c dmlcts_runner.c -lm
       dmlcts run --backend exec:./plain_runner --operator CLIP,ROUND,THRESHOLD

   In a runner of your own, `create` prepares what your device needs and `dispatch` copies the memory there, runs, and
   copies all of it back. */

#include "dmlcts_runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLIP = 8, THRESHOLD = 32, ROUND = 99 };               /* DML_OPERATOR_TYPE */
enum { HALVES_TO_NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY }; /* DML_ROUNDING_MODE */
enum { INPUT = 0, OUTPUT = 1, SCALE_BIAS = 2, MODE = 2, MIN = 3, MAX = 4 }; /* members of the operators' structures */

typedef struct element_type {
    uint32_t bytes;
    int is_floating, is_signed;
    int64_t least;
    uint64_t most;
} element_type;

static const element_type types[] = {
    {0, 0, 0, 0, 0},                    {4, 1, 1, 0, 0},
    {2, 1, 1, 0, 0},                    {4, 0, 0, 0, UINT32_MAX},
    {2, 0, 0, 0, UINT16_MAX},           {1, 0, 0, 0, UINT8_MAX},
    {4, 0, 1, INT32_MIN, INT32_MAX},    {2, 0, 1, INT16_MIN, INT16_MAX},
    {1, 0, 1, INT8_MIN, INT8_MAX},      {8, 1, 1, 0, 0},
    {8, 0, 0, 0, UINT64_MAX},           {8, 0, 1, INT64_MIN, INT64_MAX},
};

/* An element while it is computed with: FLOAT32 for both floating types, 64 bits for integers. */
typedef union value {
    float f;
    int64_t i;
    uint64_t u;
} value;

typedef struct kernel {
    uint32_t operator_type, mode, rank, data_type;
    uint32_t sizes[8], input_strides[8], output_strides[8];
    int packed, scaled;
    float scale, bias;
    value min, max;
} kernel;

/* FLOAT16 and back; rounded to nearest, halves to even. */

static float from_half(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 0x3ffu;
    uint32_t wide;
    float result;
    if (exponent == 0) {
        result = (float)fraction * 5.9604644775390625e-08f; /* 2 to the -24 */
        return sign != 0 ? -result : result;
    }
    wide = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    memcpy(&result, &wide, sizeof result);
    return result;
}

static uint16_t to_half(float number) {
    uint32_t wide, sign, rest, half, kept;
    int exponent, shift;
    memcpy(&wide, &number, sizeof wide);
    sign = wide >> 16 & 0x8000u;
    exponent = (int)(wide >> 23 & 255u) - 112; /* as FLOAT16 has it */
    if (exponent == 143) return (uint16_t)(sign | 0x7c00u | ((wide & 0x7fffffu) != 0 ? 0x200u | (wide >> 13 & 0x3ffu) : 0u));
    if (exponent > 30) return (uint16_t)(sign | 0x7c00u);
    if (exponent < -10) return (uint16_t)sign; /* below half of the smallest subnormal */
    shift = exponent > 0 ? 13 : 14 - exponent;
    rest = (wide & 0x7fffffu) | (exponent > 0 ? 0u : 0x800000u);
    kept = rest >> shift;
    half = 1u << (shift - 1);
    rest &= (1u << shift) - 1;
    if (exponent > 0) kept |= (uint32_t)exponent << 10;
    if (rest > half || (rest == half && (kept & 1u) != 0)) kept++; /* a carry goes into the exponent, up to infinity */
    return (uint16_t)(sign | kept);
}

static value load(uint32_t data_type, const uint8_t *at) {
    const element_type *type = &types[data_type];
    value found;
    uint64_t bits = 0;
    memcpy(&bits, at, type->bytes);
    found.u = bits;
    if (data_type == DMLCTS_DATA_TYPE_FLOAT32) {
        memcpy(&found.f, at, sizeof found.f);
    } else if (data_type == DMLCTS_DATA_TYPE_FLOAT16) {
        found.f = from_half((uint16_t)bits);
    } else if (type->is_signed && type->bytes < 8 && bits >> (8 * type->bytes - 1) != 0) {
        found.u = bits | UINT64_MAX << 8 * type->bytes;
    }
    return found;
}

static void store(uint32_t data_type, uint8_t *at, value given) {
    uint16_t half;
    if (data_type == DMLCTS_DATA_TYPE_FLOAT16) {
        half = to_half(given.f);
        memcpy(at, &half, sizeof half);
    } else if (data_type == DMLCTS_DATA_TYPE_FLOAT32) {
        memcpy(at, &given.f, sizeof given.f);
    } else {
        memcpy(at, &given.u, types[data_type].bytes); /* little-endian: the low bytes come first */
    }
}

/* A number as an integer of the type: truncated and saturated. */
static value whole(const element_type *type, double number) {
    value result;
    result.i = type->least;
    if (number != number) result.u = 0;
    else if (number >= (double)type->most) result.u = type->most;
    else if (number > (double)type->least) {
        if (type->is_signed) result.i = (int64_t)number;
        else result.u = (uint64_t)number;
    }
    return result;
}

/* Min or Max as the tensors' type has it. */
static value bound(uint32_t data_type, float given) {
    value result;
    if (!types[data_type].is_floating) return whole(&types[data_type], given);
    result.f = data_type == DMLCTS_DATA_TYPE_FLOAT16 ? from_half(to_half(given)) : given;
    return result;
}

static int is_less(const element_type *type, value one, value other) {
    if (type->is_floating) return one.f < other.f;
    return type->is_signed ? one.i < other.i : one.u < other.u;
}

static value computed(const kernel *made, value x) {
    const element_type *type = &types[made->data_type];
    if (made->operator_type == ROUND) {
        x.f = made->mode == HALVES_TO_NEAREST_EVEN ? rintf(x.f) : made->mode == TOWARD_ZERO ? truncf(x.f) : roundf(x.f);
        return x;
    }
    if (made->scaled && type->is_floating) {
        x.f = x.f * made->scale + made->bias;
        if (made->data_type == DMLCTS_DATA_TYPE_FLOAT16) x.f = from_half(to_half(x.f));
    } else if (made->scaled && !(made->scale == 1 && made->bias == 0)) { /* double does not hold every integer */
        double wide = type->is_signed ? (double)x.i : (double)x.u;
        x = whole(type, wide * made->scale + made->bias);
    }
    if (made->operator_type == CLIP && !is_less(type, x, made->max)) x = made->max; /* NaN gives Max */
    return is_less(type, made->min, x) ? x : made->min;
}

/* What a description must be refused for; NULL for nothing. */

static uint64_t added(uint64_t one, uint64_t other) { return one > UINT64_MAX - other ? UINT64_MAX : one + other; }

static const char *wrong_with_tensor(const dmlcts_tensor *tensor) {
    const uint64_t item = types[tensor->data_type].bytes;
    uint64_t count = 1, last = 0, step = 1;
    if (tensor->dimension_count < 1 || tensor->dimension_count > 8) return "a tensor has 1 to 8 dimensions";
    for (uint32_t axis = 0; axis < tensor->dimension_count; axis++)
        if (tensor->sizes[axis] == 0) return "a size is zero";
    for (uint32_t axis = tensor->dimension_count; axis-- > 0;) {
        count *= tensor->sizes[axis];
        if (count > UINT32_MAX) return "a tensor has up to 4294967295 elements";
        last = added(last, (tensor->sizes[axis] - 1) * (tensor->has_strides ? (uint64_t)tensor->strides[axis] : step));
        step *= tensor->sizes[axis];
    }
    if (last >= UINT64_MAX / 8 || (last + 1) * item > tensor->total_size) return "the total size is too small";
    return NULL;
}

static const char *wrong_with(const dmlcts_operator *operation, const dmlcts_tensor *input, const dmlcts_tensor *output) {
    const char *wrong;
    if (input == NULL || output == NULL) return "a tensor is missing";
    if (input->data_type != output->data_type) return "the data types differ";
    if (input->data_type >= sizeof types / sizeof *types || input->data_type == 0 ||
        input->data_type == DMLCTS_DATA_TYPE_FLOAT64)
        return "no feature level lists the data type";
    if (operation->operator_type == ROUND && !types[input->data_type].is_floating) return "ROUND is for FLOAT32 and FLOAT16";
    if (operation->operator_type == THRESHOLD && !types[input->data_type].is_floating && types[input->data_type].bytes == 8)
        return "THRESHOLD is not for 64-bit integers";
    if (input->dimension_count != output->dimension_count) return "the dimension counts differ";
    wrong = wrong_with_tensor(input);
    if (wrong == NULL) wrong = wrong_with_tensor(output);
    if (wrong == NULL && memcmp(input->sizes, output->sizes, input->dimension_count * sizeof *input->sizes) != 0)
        wrong = "the sizes differ";
    return wrong;
}

static float float_of(const dmlcts_operator *operation, uint32_t member, size_t offset) {
    const dmlcts_attribute *attribute = dmlcts_attribute_of(operation, member);
    float found = 0;
    if (attribute != NULL) memcpy(&found, attribute->value + offset, sizeof found);
    return found;
}

static void copy_layout(const dmlcts_tensor *tensor, uint32_t *strides) {
    uint32_t step = 1;
    for (uint32_t axis = tensor->dimension_count; axis-- > 0; step *= tensor->sizes[axis])
        strides[axis] = tensor->has_strides ? tensor->strides[axis] : step;
}

static int create(dmlcts_runner *runner, const dmlcts_operator *operation, void **made, dmlcts_error *error) {
    const dmlcts_tensor *input = dmlcts_tensor_of(operation, INPUT), *output = dmlcts_tensor_of(operation, OUTPUT);
    const uint32_t type = operation->operator_type;
    const char *wrong;
    kernel *result;
    (void)runner;
    if (type != CLIP && type != ROUND && type != THRESHOLD)
        return dmlcts_fail(error, DMLCTS_STATUS_NOT_SUPPORTED, "operator %u is not implemented", (unsigned)type);
    wrong = wrong_with(operation, input, output);
    if (wrong != NULL) return dmlcts_fail(error, DMLCTS_STATUS_INVALID_ARGUMENT, "%s", wrong);
    result = (kernel *)calloc(1, sizeof *result);
    if (result == NULL) return dmlcts_fail(error, DMLCTS_STATUS_OUT_OF_MEMORY, "no memory for a kernel");
    result->operator_type = type;
    result->data_type = input->data_type;
    result->rank = input->dimension_count;
    memcpy(result->sizes, input->sizes, result->rank * sizeof *result->sizes);
    copy_layout(input, result->input_strides);
    copy_layout(output, result->output_strides);
    result->packed = !input->has_strides && !output->has_strides;
    if (type == ROUND) {
        const dmlcts_attribute *mode = dmlcts_attribute_of(operation, MODE);
        if (mode != NULL) memcpy(&result->mode, mode->value, sizeof result->mode);
        if (mode == NULL || result->mode > TOWARD_INFINITY) {
            free(result);
            return dmlcts_fail(error, DMLCTS_STATUS_INVALID_ARGUMENT, "the rounding mode has no name");
        }
    } else {
        result->scaled = dmlcts_attribute_of(operation, SCALE_BIAS) != NULL;
        result->scale = float_of(operation, SCALE_BIAS, 0);
        result->bias = float_of(operation, SCALE_BIAS, 4);
        result->min = bound(result->data_type, float_of(operation, MIN, 0));
        if (type == CLIP) result->max = bound(result->data_type, float_of(operation, MAX, 0));
    }
    *made = result;
    return DMLCTS_STATUS_OK;
}

static uint64_t place(const kernel *made, const uint32_t *strides, uint64_t index) { /* in elements */
    uint64_t found = 0;
    for (uint32_t axis = made->rank; axis-- > 0; index /= made->sizes[axis])
        found += index % made->sizes[axis] * strides[axis];
    return found;
}

static int dispatch(dmlcts_runner *runner, void *kept, void *memory, uint64_t memory_size, const dmlcts_binding *bindings,
                    uint32_t binding_count, dmlcts_error *error) {
    const kernel *made = (const kernel *)kept;
    const dmlcts_binding *input = dmlcts_binding_of(bindings, binding_count, INPUT);
    const dmlcts_binding *output = dmlcts_binding_of(bindings, binding_count, OUTPUT);
    const uint64_t item = types[made->data_type].bytes;
    uint64_t count = 1, last;
    (void)runner, (void)memory_size;
    if (input == NULL || output == NULL) return dmlcts_fail(error, DMLCTS_STATUS_EXECUTION_FAILED, "a tensor is not bound");
    for (uint32_t axis = 0; axis < made->rank; axis++) count *= made->sizes[axis];
    last = count - 1;
    if ((place(made, made->input_strides, last) + 1) * item > input->size ||
        (place(made, made->output_strides, last) + 1) * item > output->size)
        return dmlcts_fail(error, DMLCTS_STATUS_EXECUTION_FAILED, "a tensor does not fit what is bound to it");
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t read = made->packed ? i : place(made, made->input_strides, i);
        const uint64_t written = made->packed ? i : place(made, made->output_strides, i);
        const uint8_t *from = (const uint8_t *)memory + input->offset + read * item;
        uint8_t *to = (uint8_t *)memory + output->offset + written * item;
        store(made->data_type, to, computed(made, load(made->data_type, from)));
    }
    return DMLCTS_STATUS_OK;
}

static void destroy(dmlcts_runner *runner, void *made) {
    (void)runner;
    free(made);
}

/* What it has; the level obliges to more operators. */
static const dmlcts_claim claims[] = {{CLIP, DMLCTS_EVERY_TYPE}, {THRESHOLD, DMLCTS_EVERY_TYPE}, {ROUND, DMLCTS_EVERY_TYPE}};

int main(int argc, char **argv) {
    dmlcts_runner runner;
    memset(&runner, 0, sizeof runner);
    runner.name = "plain-c";
    runner.adapter = "the processor";
    runner.library = "plain_runner.c";
    runner.library_version = "1";
    runner.feature_level = 0x5000;
    runner.only_claims = 1;
    runner.claims = claims;
    runner.claim_count = sizeof claims / sizeof *claims;
    runner.create = create;
    runner.dispatch = dispatch;
    runner.destroy = destroy;
    return dmlcts_run(&runner, argc, argv);
}
