/* FMI 3.0: Model Exchange and Co-Simulation. Types and functions as the standard (fmi-standard.org, 3.0.2) has them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "model.c"

#if defined _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *Instance;
typedef unsigned int Reference;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef void (*Log)(void *environment, Status status, const char *category, const char *message);

static Status told(Machine *m, int status, const char *what) {
    if (status == 0) return OK;
    if (m->log) {
        char text[400];
        snprintf(text, sizeof text, "%s: %s", what, status < 0 ? "no such variable, or no value" : MODEL(status_text)(status));
        ((Log)m->log)(m->environment, status < 0 ? ERROR : DISCARD, "logStatus", text);
    }
    return status < 0 ? ERROR : DISCARD;
}

static Instance made(const char *token, void *environment, Log log) {
    Machine *m;
    int status;
    if (!token || strcmp(token, TOKEN) != 0) {
        if (log) log(environment, ERROR, "logStatus", "wrong instantiationToken");
        return NULL;
    }
    m = calloc(1, sizeof(Machine));
    if (!m) return NULL;
    m->environment = environment;
    m->log = (void *)log;
    status = begin(m);
    if (status != 0) {
        told(m, status, "instantiate");
        free(m);
        return NULL;
    }
    return m;
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }
EXPORT Status fmi3SetDebugLogging(Instance i, bool on, size_t n, const char *const c[]) {
    (void)i; (void)on; (void)n; (void)c;
    return OK;
}
EXPORT Instance fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible,
                                             bool logging, void *environment, Log log) {
    (void)name; (void)resources; (void)visible; (void)logging;
    return made(token, environment, log);
}
EXPORT Instance fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                            bool logging, bool event_mode, bool early_return, const Reference v[],
                                            size_t n, void *environment, Log log, void *update) {
    Machine *m = made(token, environment, log);
    (void)name; (void)resources; (void)visible; (void)logging; (void)event_mode; (void)v; (void)n; (void)update;
    if (m) m->may_return_early = early_return;
    return m;
}
EXPORT Instance fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources,
                                                  bool visible, bool logging, void *environment, Log log, void *a,
                                                  void *b, void *c) {
    (void)name; (void)token; (void)resources; (void)visible; (void)logging; (void)environment; (void)log; (void)a;
    (void)b; (void)c;
    return NULL;
}
EXPORT void fmi3FreeInstance(Instance i) { free(i); }

EXPORT Status fmi3EnterInitializationMode(Instance i, bool with_tolerance, double tolerance, double start,
                                          bool with_stop, double stop) {
    Machine *m = i;
    (void)with_stop; (void)stop;
    m->now.t = start;
    if (with_tolerance && tolerance > 0.0) m->now.tolerance = tolerance < 1e-13 ? 1e-13 : tolerance;
    stale(m);
    return OK;
}
EXPORT Status fmi3ExitInitializationMode(Instance i) {
    int status = settle(i);
    if (status != 0) return told(i, status, "closing the loops");
    return told(i, look_at_events(i), "event functions");
}
EXPORT Status fmi3EnterEventMode(Instance i) { (void)i; return OK; }
EXPORT Status fmi3EnterContinuousTimeMode(Instance i) { (void)i; return OK; }
EXPORT Status fmi3EnterStepMode(Instance i) { (void)i; return OK; }
EXPORT Status fmi3EnterConfigurationMode(Instance i) { (void)i; return OK; }
EXPORT Status fmi3ExitConfigurationMode(Instance i) { (void)i; return OK; }
EXPORT Status fmi3Terminate(Instance i) { (void)i; return OK; }
EXPORT Status fmi3Reset(Instance i) { return told(i, begin(i), "reset"); }
EXPORT Status fmi3EvaluateDiscreteStates(Instance i) { (void)i; return OK; }
EXPORT Status fmi3UpdateDiscreteStates(Instance i, bool *again, bool *terminate, bool *nominals, bool *states,
                                       bool *next, double *when) {
    int status;
    *again = *nominals = *next = false;
    *when = 0.0;
    *states = drifted(i, 1, &status) != 0;
    *terminate = count_events(i) != 0;
    return told(i, status, "closing the loops");
}

/* ---- values: all variables are Float64 ---- */
EXPORT Status fmi3GetFloat64(Instance i, const Reference v[], size_t n, double values[], size_t n_values) {
    size_t k;
    int status = n == n_values ? 0 : -1;
    for (k = 0; k < n && status == 0; k++) status = value(i, v[k], values + k);
    return told(i, status, "fmi3GetFloat64");
}
EXPORT Status fmi3SetFloat64(Instance i, const Reference v[], size_t n, const double values[], size_t n_values) {
    size_t k;
    int changed = 0, status = n == n_values ? 0 : -1;
    for (k = 0; k < n && status == 0; k++) status = set_value(i, v[k], values[k], &changed);
    if (changed && status == 0) status = put_parameters(i);
    return told(i, status, "fmi3SetFloat64");
}
#define NO_SUCH(type, name) \
    EXPORT Status fmi3Get##name(Instance i, const Reference v[], size_t n, type values[], size_t m) { \
        (void)v; (void)values; (void)m; return n == 0 ? OK : told(i, -1, "fmi3Get" #name); } \
    EXPORT Status fmi3Set##name(Instance i, const Reference v[], size_t n, const type values[], size_t m) { \
        (void)v; (void)values; (void)m; return n == 0 ? OK : told(i, -1, "fmi3Set" #name); }
NO_SUCH(float, Float32)
NO_SUCH(int8_t, Int8)
NO_SUCH(uint8_t, UInt8)
NO_SUCH(int16_t, Int16)
NO_SUCH(uint16_t, UInt16)
NO_SUCH(int32_t, Int32)
NO_SUCH(uint32_t, UInt32)
NO_SUCH(int64_t, Int64)
NO_SUCH(uint64_t, UInt64)
NO_SUCH(bool, Boolean)
typedef const char *String;
NO_SUCH(String, String)
EXPORT Status fmi3GetBinary(Instance i, const Reference v[], size_t n, size_t s[], const uint8_t *values[], size_t m) {
    (void)v; (void)s; (void)values; (void)m;
    return n == 0 ? OK : told(i, -1, "fmi3GetBinary");
}
EXPORT Status fmi3SetBinary(Instance i, const Reference v[], size_t n, const size_t s[], const uint8_t *const values[],
                            size_t m) {
    (void)v; (void)s; (void)values; (void)m;
    return n == 0 ? OK : told(i, -1, "fmi3SetBinary");
}
EXPORT Status fmi3GetClock(Instance i, const Reference v[], size_t n, bool values[]) {
    (void)v; (void)values;
    return n == 0 ? OK : told(i, -1, "fmi3GetClock");
}
EXPORT Status fmi3SetClock(Instance i, const Reference v[], size_t n, const bool values[]) {
    (void)v; (void)values;
    return n == 0 ? OK : told(i, -1, "fmi3SetClock");
}
EXPORT Status fmi3GetNumberOfVariableDependencies(Instance i, Reference v, size_t *n) {
    (void)v; (void)n;
    return told(i, -1, "fmi3GetNumberOfVariableDependencies");
}
EXPORT Status fmi3GetVariableDependencies(Instance i, Reference d, size_t a[], Reference v[], size_t b[], int k[],
                                          size_t n) {
    (void)d; (void)a; (void)v; (void)b; (void)k; (void)n;
    return told(i, -1, "fmi3GetVariableDependencies");
}
#define NO_CLOCKS(name, ...) EXPORT Status name(Instance i, const Reference v[], size_t n, __VA_ARGS__)
NO_CLOCKS(fmi3GetIntervalDecimal, double a[], int q[]) { (void)v; (void)n; (void)a; (void)q; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3GetIntervalFraction, uint64_t a[], uint64_t b[], int q[]) {
    (void)v; (void)n; (void)a; (void)b; (void)q; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3GetShiftDecimal, double a[]) { (void)v; (void)n; (void)a; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3GetShiftFraction, uint64_t a[], uint64_t b[]) { (void)v; (void)n; (void)a; (void)b; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3SetIntervalDecimal, const double a[]) { (void)v; (void)n; (void)a; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3SetIntervalFraction, const uint64_t a[], const uint64_t b[]) {
    (void)v; (void)n; (void)a; (void)b; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3SetShiftDecimal, const double a[]) { (void)v; (void)n; (void)a; return told(i, -1, "clocks"); }
NO_CLOCKS(fmi3SetShiftFraction, const uint64_t a[], const uint64_t b[]) {
    (void)v; (void)n; (void)a; (void)b; return told(i, -1, "clocks"); }
EXPORT Status fmi3ActivateModelPartition(Instance i, Reference v, double t) {
    (void)v; (void)t;
    return told(i, -1, "fmi3ActivateModelPartition");
}

/* ---- the state of the FMU ---- */
EXPORT Status fmi3GetFMUState(Instance i, void **state) {
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return ERROR;
    memcpy(*state, &((Machine *)i)->now, sizeof(Values));
    return OK;
}
EXPORT Status fmi3SetFMUState(Instance i, void *state) {
    Machine *m = i;
    memcpy(&m->now, state, sizeof(Values));
    stale(m);
    return told(m, put_parameters(m), "fmi3SetFMUState");
}
EXPORT Status fmi3FreeFMUState(Instance i, void **state) {
    (void)i;
    if (state) { free(*state); *state = NULL; }
    return OK;
}
EXPORT Status fmi3SerializedFMUStateSize(Instance i, void *state, size_t *size) {
    (void)i; (void)state;
    *size = sizeof(Values);
    return OK;
}
EXPORT Status fmi3SerializeFMUState(Instance i, void *state, uint8_t bytes[], size_t size) {
    if (size < sizeof(Values)) return told(i, -1, "fmi3SerializeFMUState");
    memcpy(bytes, state, sizeof(Values));
    return OK;
}
EXPORT Status fmi3DeserializeFMUState(Instance i, const uint8_t bytes[], size_t size, void **state) {
    if (size != sizeof(Values)) return told(i, -1, "fmi3DeserializeFMUState");
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return ERROR;
    memcpy(*state, bytes, sizeof(Values));
    return OK;
}

/* ---- derivatives ---- */
EXPORT Status fmi3GetDirectionalDerivative(Instance i, const Reference unknowns[], size_t n_unknowns,
                                           const Reference knowns[], size_t n_knowns, const double seed[],
                                           size_t n_seed, double result[], size_t n_result) {
    if (!HAS_DIRECTIONS || n_seed != n_knowns || n_result != n_unknowns) return told(i, -1, "fmi3GetDirectionalDerivative");
    return told(i, direction(i, unknowns, n_unknowns, knowns, n_knowns, seed, result), "fmi3GetDirectionalDerivative");
}
EXPORT Status fmi3GetAdjointDerivative(Instance i, const Reference a[], size_t n, const Reference b[], size_t m,
                                       const double seed[], size_t s, double result[], size_t r) {
    (void)a; (void)n; (void)b; (void)m; (void)seed; (void)s; (void)result; (void)r;
    return told(i, -1, "fmi3GetAdjointDerivative");
}
EXPORT Status fmi3GetOutputDerivatives(Instance i, const Reference v[], size_t n, const int32_t o[], double x[],
                                       size_t m) {
    (void)v; (void)n; (void)o; (void)x; (void)m;
    return told(i, -1, "fmi3GetOutputDerivatives");
}

/* ---- Model Exchange ---- */
EXPORT Status fmi3CompletedIntegratorStep(Instance i, bool no_set, bool *event, bool *terminate) {
    int status;
    (void)no_set;
    *event = drifted(i, 0, &status) != 0;
    *terminate = false;
    return told(i, status, "fmi3CompletedIntegratorStep");
}
EXPORT Status fmi3SetTime(Instance i, double t) {
    ((Machine *)i)->now.t = t;
    stale(i);
    return OK;
}
EXPORT Status fmi3SetContinuousStates(Instance i, const double x[], size_t n) {
    if (n != NX) return told(i, -1, "fmi3SetContinuousStates");
    memcpy(((Machine *)i)->now.x, x, NX * sizeof(double));
    stale(i);
    return OK;
}
EXPORT Status fmi3GetContinuousStates(Instance i, double x[], size_t n) {
    if (n != NX) return told(i, -1, "fmi3GetContinuousStates");
    memcpy(x, ((Machine *)i)->now.x, NX * sizeof(double));
    return OK;
}
EXPORT Status fmi3GetContinuousStateDerivatives(Instance i, double der[], size_t n) {
    Machine *m = i;
    if (n != NX) return told(i, -1, "fmi3GetContinuousStateDerivatives");
    return told(m, rates(m, m->now.t, m->now.x, m->now.u, der), "fmi3GetContinuousStateDerivatives");
}
EXPORT Status fmi3GetEventIndicators(Instance i, double z[], size_t n) {
    Machine *m = i;
    if (n != NZ) return told(i, -1, "fmi3GetEventIndicators");
    return told(m, event_values(m, m->now.t, m->now.x, z), "fmi3GetEventIndicators");
}
EXPORT Status fmi3GetNominalsOfContinuousStates(Instance i, double nominals[], size_t n) {
    size_t k;
    (void)i;
    for (k = 0; k < n; k++) nominals[k] = 1.0;
    return OK;
}
EXPORT Status fmi3GetNumberOfEventIndicators(Instance i, size_t *n) { (void)i; *n = NZ; return OK; }
EXPORT Status fmi3GetNumberOfContinuousStates(Instance i, size_t *n) { (void)i; *n = NX; return OK; }

/* ---- Co-Simulation ---- */
EXPORT Status fmi3DoStep(Instance i, double t, double h, bool no_set, bool *event, bool *terminate, bool *early,
                         double *last) {
    Machine *m = i;
    int status;
    (void)no_set;
    if (m->now.t != t) { m->now.t = t; stale(m); }
    status = step_to(m, t + h);
    *event = false;
    *terminate = m->now.terminated != 0;
    *early = m->may_return_early && m->now.t < t + h; /* else it stands still until the end of the step */
    *last = m->now.t;
    return told(m, status, "fmi3DoStep");
}
