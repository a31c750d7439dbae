/* The smallest runner: takes every description and computes nothing. Begin yours with a copy of it.

       cc -O2 -o my_runner my_runner.c dmlcts_runner.c
       dmlcts backends --check exec:./my_runner */

#include "dmlcts_runner.h"

#include <stdlib.h>
#include <string.h>

typedef struct kernel {
    uint32_t operator_type; /* and whatever your device needs to run it again and again */
} kernel;

static int create(dmlcts_runner *runner, const dmlcts_operator *operation, void **made, dmlcts_error *error) {
    kernel *result = (kernel *)calloc(1, sizeof *result);
    (void)runner;
    if (result == NULL) return dmlcts_fail(error, DMLCTS_STATUS_OUT_OF_MEMORY, "no memory for a kernel");
    result->operator_type = operation->operator_type;
    *made = result;
    return DMLCTS_STATUS_OK;
}

static int dispatch(dmlcts_runner *runner, void *made, void *memory, uint64_t memory_size, const dmlcts_binding *bindings,
                    uint32_t binding_count, dmlcts_error *error) {
    /* Copy memory_size bytes to the device, bind each tensor's range, run, and copy all of it back. */
    (void)runner, (void)made, (void)memory, (void)memory_size, (void)bindings, (void)binding_count, (void)error;
    return DMLCTS_STATUS_OK;
}

static void destroy(dmlcts_runner *runner, void *made) {
    (void)runner;
    free(made);
}

int main(int argc, char **argv) {
    dmlcts_runner runner;
    memset(&runner, 0, sizeof runner);
    runner.name = "skeleton";
    runner.feature_level = 0x5000;
    runner.suite_validates = 1; /* no validation of its own: the suite refuses bad descriptions, and says so */
    runner.create = create;
    runner.dispatch = dispatch;
    runner.destroy = destroy;
    return dmlcts_run(&runner, argc, argv);
}
