/* What XLA calls for a function of mbkern: arrays of one state or of many, in and out.
 *
 * The attribute `words` says what is to be done:
 *   0 kernel for one state   1 kernel for several side by side, or 0   2 the loop over rows (mbkern.export.kernels)
 *   3 constants for one      4 constants for several                   5 bytes of memory for one
 *   6 bytes for several      7 how many inputs (t is none of them)     8 how many arguments
 *   9 ... for each: numbers, and which of the buffers it is (-1: it is not given)
 * The buffers are t, the inputs that are given, and the results; all may have the same leading dimensions.
 * States that have no result become NaN. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "xla/ffi/api/c_api.h"

#define LINE 64
#define JOB_WORDS 64

typedef int64_t (*One)(double, int64_t, int64_t, int64_t);
typedef int64_t (*Rows)(int64_t);

static _Thread_local char *memory;
static _Thread_local size_t room;

static char *lent(size_t bytes) {
    if (room < bytes) {
        free(memory);
        memory = malloc(bytes + LINE);
        room = memory ? bytes : 0;
    }
    return memory ? (char *)(((uintptr_t)memory + LINE - 1) / LINE * LINE) : NULL;
}

static XLA_FFI_Error *wrong(const XLA_FFI_CallFrame *frame, const char *message) {
    XLA_FFI_Error_Create_Args given;
    memset(&given, 0, sizeof given);
    given.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    given.message = message;
    given.errc = XLA_FFI_Error_Code_INTERNAL;
    return frame->api->XLA_FFI_Error_Create(&given);
}

XLA_FFI_Error *mbkern_xla(XLA_FFI_CallFrame *frame) {
    const int64_t *words;
    const XLA_FFI_Buffer *buffer[24];
    int64_t arguments[48], job[JOB_WORDS], count = 1, n, inputs, k, state;
    const double *t;
    int64_t many_times;
    char *place;
    if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *about = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
        about->api_version.major_version = XLA_FFI_API_MAJOR;
        about->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    if (frame->attrs.size != 1 || frame->args.size + frame->rets.size > 24) return wrong(frame, "mbkern: wrong call");
    words = ((const XLA_FFI_Array *)frame->attrs.attrs[0])->data;
    for (k = 0; k < frame->args.size; k++) buffer[k] = frame->args.args[k];
    for (k = 0; k < frame->rets.size; k++) buffer[frame->args.size + k] = frame->rets.rets[k];
    for (k = 0; k < buffer[0]->rank; k++) count *= buffer[0]->dims[k];
    t = buffer[0]->data;
    many_times = count;
    n = words[8];
    inputs = words[7];
    if (count == 1 || words[1] == 0) {
        place = lent((size_t)words[5]);
        if (!place) return wrong(frame, "mbkern: not enough memory");
        for (state = 0; state < count; state++) {
            int64_t code;
            for (k = 0; k < n; k++) {
                int64_t size = words[9 + 2 * k], which = words[10 + 2 * k];
                arguments[2 * k] = which < 0 ? 0 : (int64_t)((double *)buffer[which]->data + state * size);
                arguments[2 * k + 1] = which < 0 ? 0 : size;
            }
            code = ((One)words[0])(t[state], (int64_t)arguments, words[3], (int64_t)place);
            if (code != 0)
                for (k = inputs; k < n; k++) {
                    double *out = (double *)arguments[2 * k];
                    int64_t j;
                    for (j = 0; j < arguments[2 * k + 1]; j++) out[j] = NAN;
                }
        }
        return NULL;
    }
    place = lent((size_t)(words[6] + 8 * count));
    if (!place) return wrong(frame, "mbkern: not enough memory");
    memset(job, 0, sizeof job);
    memset(place + words[6], 0, (size_t)(8 * count));
    /* the words of a job, see mbkern/core/rows.py */
    job[JOB_FUNCTION] = words[1];
    job[JOB_BLOCK] = words[4];
    job[JOB_END] = job[JOB_STEP] = count;
    job[JOB_N_INPUTS] = inputs;
    job[JOB_N_ARGUMENTS] = n;
    job[JOB_TIMES] = (int64_t)t;
    job[JOB_N_TIMES] = many_times;
    job[JOB_AT_CODES] = (int64_t)(place + words[6]);
    job[JOB_BUFFER] = (int64_t)place;
    for (k = 0; k < n; k++) {
        int64_t size = words[9 + 2 * k], which = words[10 + 2 * k], at = JOB_ARRAYS + 3 * k;
        job[at] = which < 0 ? 0 : (int64_t)buffer[which]->data;
        job[at + 1] = size;
        job[at + 2] = which < 0 ? 0 : count;
    }
    ((Rows)words[2])((int64_t)job);
    return NULL;
}
