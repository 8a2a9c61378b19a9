/* FMI 2.0: Model Exchange and Co-Simulation. Types and functions as the standard (fmi-standard.org, 2.0.4) has them. */
#include <stddef.h>
#include <stdio.h>
#include "model.c"

#if defined _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *Component;
typedef unsigned int Reference;
typedef int Boolean;
typedef enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING } Status;
typedef enum { DO_STEP_STATUS, PENDING_STATUS, LAST_SUCCESSFUL_TIME, TERMINATED } StatusKind;
typedef enum { MODEL_EXCHANGE, CO_SIMULATION } Kind;
typedef void (*Log)(void *environment, const char *instance, Status status, const char *category, const char *message,
                    ...);
typedef struct {
    Log log;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, Status);
    void *environment;
} Callbacks;
typedef struct {
    Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged,
        valuesOfContinuousStatesChanged, nextEventTimeDefined;
    double nextEventTime;
} EventInfo;

static Status told(Machine *m, int status, const char *what) {
    if (status == 0) return OK;
    if (m->log)
        ((Log)m->log)(m->environment, MODEL_NAME, status < 0 ? ERROR : DISCARD, "logStatus", "%s: %s", what,
                      status < 0 ? "no such variable, or no value" : MODEL(status_text)(status));
    return status < 0 ? ERROR : DISCARD;
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }
EXPORT Status fmi2SetDebugLogging(Component c, Boolean on, size_t n, const char *const k[]) {
    (void)c; (void)on; (void)n; (void)k;
    return OK;
}
EXPORT Component fmi2Instantiate(const char *name, Kind kind, const char *token, const char *resources,
                                 const Callbacks *callbacks, Boolean visible, Boolean logging) {
    Machine *m;
    int status;
    (void)name; (void)kind; (void)resources; (void)visible; (void)logging;
    if (!token || strcmp(token, TOKEN) != 0) return NULL;
    m = calloc(1, sizeof(Machine));
    if (!m) return NULL;
    if (callbacks) {
        m->environment = callbacks->environment;
        m->log = (void *)callbacks->log;
    }
    status = begin(m);
    if (status != 0) {
        told(m, status, "fmi2Instantiate");
        free(m);
        return NULL;
    }
    return m;
}
EXPORT void fmi2FreeInstance(Component c) { free(c); }
EXPORT Status fmi2SetupExperiment(Component c, Boolean with_tolerance, double tolerance, double start,
                                  Boolean with_stop, double stop) {
    Machine *m = c;
    (void)with_stop; (void)stop;
    m->now.t = start;
    if (with_tolerance && tolerance > 0.0) m->now.tolerance = tolerance < 1e-13 ? 1e-13 : tolerance;
    stale(m);
    return OK;
}
EXPORT Status fmi2EnterInitializationMode(Component c) { (void)c; return OK; }
EXPORT Status fmi2ExitInitializationMode(Component c) {
    int status = settle(c);
    if (status != 0) return told(c, status, "closing the loops");
    return told(c, look_at_events(c), "event functions");
}
EXPORT Status fmi2Terminate(Component c) { (void)c; return OK; }
EXPORT Status fmi2Reset(Component c) { return told(c, begin(c), "fmi2Reset"); }

/* ---- values: all variables are Real ---- */
EXPORT Status fmi2GetReal(Component c, const Reference v[], size_t n, double values[]) {
    size_t k;
    int status = 0;
    for (k = 0; k < n && status == 0; k++) status = value(c, v[k], values + k);
    return told(c, status, "fmi2GetReal");
}
EXPORT Status fmi2SetReal(Component c, const Reference v[], size_t n, const double values[]) {
    size_t k;
    int changed = 0, status = 0;
    for (k = 0; k < n && status == 0; k++) status = set_value(c, v[k], values[k], &changed);
    if (changed && status == 0) status = put_parameters(c);
    return told(c, status, "fmi2SetReal");
}
#define NO_SUCH(type, name) \
    EXPORT Status fmi2Get##name(Component c, const Reference v[], size_t n, type values[]) { \
        (void)v; (void)values; return n == 0 ? OK : told(c, -1, "fmi2Get" #name); } \
    EXPORT Status fmi2Set##name(Component c, const Reference v[], size_t n, const type values[]) { \
        (void)v; (void)values; return n == 0 ? OK : told(c, -1, "fmi2Set" #name); }
NO_SUCH(int, Integer)
NO_SUCH(Boolean, Boolean)
typedef const char *String;
NO_SUCH(String, String)

/* ---- the state of the FMU ---- */
EXPORT Status fmi2GetFMUstate(Component c, void **state) {
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return ERROR;
    memcpy(*state, &((Machine *)c)->now, sizeof(Values));
    return OK;
}
EXPORT Status fmi2SetFMUstate(Component c, void *state) {
    Machine *m = c;
    memcpy(&m->now, state, sizeof(Values));
    stale(m);
    return told(m, put_parameters(m), "fmi2SetFMUstate");
}
EXPORT Status fmi2FreeFMUstate(Component c, void **state) {
    (void)c;
    if (state) { free(*state); *state = NULL; }
    return OK;
}
EXPORT Status fmi2SerializedFMUstateSize(Component c, void *state, size_t *size) {
    (void)c; (void)state;
    *size = sizeof(Values);
    return OK;
}
EXPORT Status fmi2SerializeFMUstate(Component c, void *state, char bytes[], size_t size) {
    if (size < sizeof(Values)) return told(c, -1, "fmi2SerializeFMUstate");
    memcpy(bytes, state, sizeof(Values));
    return OK;
}
EXPORT Status fmi2DeSerializeFMUstate(Component c, const char bytes[], size_t size, void **state) {
    if (size != sizeof(Values)) return told(c, -1, "fmi2DeSerializeFMUstate");
    if (!*state) *state = malloc(sizeof(Values));
    if (!*state) return ERROR;
    memcpy(*state, bytes, sizeof(Values));
    return OK;
}

EXPORT Status fmi2GetDirectionalDerivative(Component c, const Reference unknowns[], size_t n_unknowns,
                                           const Reference knowns[], size_t n_knowns, const double seed[],
                                           double result[]) {
    if (!HAS_DIRECTIONS) return told(c, -1, "fmi2GetDirectionalDerivative");
    return told(c, direction(c, unknowns, n_unknowns, knowns, n_knowns, seed, result), "fmi2GetDirectionalDerivative");
}

/* ---- Model Exchange ---- */
EXPORT Status fmi2EnterEventMode(Component c) { (void)c; return OK; }
EXPORT Status fmi2EnterContinuousTimeMode(Component c) { (void)c; return OK; }
EXPORT Status fmi2NewDiscreteStates(Component c, EventInfo *info) {
    int status;
    memset(info, 0, sizeof *info);
    info->valuesOfContinuousStatesChanged = drifted(c, 1, &status);
    info->terminateSimulation = count_events(c) != 0;
    return told(c, status, "closing the loops");
}
EXPORT Status fmi2CompletedIntegratorStep(Component c, Boolean no_set, Boolean *event, Boolean *terminate) {
    int status;
    (void)no_set;
    *event = drifted(c, 0, &status);
    *terminate = 0;
    return told(c, status, "fmi2CompletedIntegratorStep");
}
EXPORT Status fmi2SetTime(Component c, double t) {
    ((Machine *)c)->now.t = t;
    stale(c);
    return OK;
}
EXPORT Status fmi2SetContinuousStates(Component c, const double x[], size_t n) {
    if (n != NX) return told(c, -1, "fmi2SetContinuousStates");
    memcpy(((Machine *)c)->now.x, x, NX * sizeof(double));
    stale(c);
    return OK;
}
EXPORT Status fmi2GetContinuousStates(Component c, double x[], size_t n) {
    if (n != NX) return told(c, -1, "fmi2GetContinuousStates");
    memcpy(x, ((Machine *)c)->now.x, NX * sizeof(double));
    return OK;
}
EXPORT Status fmi2GetDerivatives(Component c, double der[], size_t n) {
    Machine *m = c;
    if (n != NX) return told(c, -1, "fmi2GetDerivatives");
    return told(m, rates(m, m->now.t, m->now.x, m->now.u, der), "fmi2GetDerivatives");
}
EXPORT Status fmi2GetEventIndicators(Component c, double z[], size_t n) {
    Machine *m = c;
    if (n != NZ) return told(c, -1, "fmi2GetEventIndicators");
    return told(m, event_values(m, m->now.t, m->now.x, z), "fmi2GetEventIndicators");
}
EXPORT Status fmi2GetNominalsOfContinuousStates(Component c, double nominals[], size_t n) {
    size_t k;
    (void)c;
    for (k = 0; k < n; k++) nominals[k] = 1.0;
    return OK;
}

/* ---- Co-Simulation ---- */
EXPORT Status fmi2SetRealInputDerivatives(Component c, const Reference v[], size_t n, const int o[], const double x[]) {
    (void)v; (void)n; (void)o; (void)x;
    return told(c, -1, "fmi2SetRealInputDerivatives");
}
EXPORT Status fmi2GetRealOutputDerivatives(Component c, const Reference v[], size_t n, const int o[], double x[]) {
    (void)v; (void)n; (void)o; (void)x;
    return told(c, -1, "fmi2GetRealOutputDerivatives");
}
EXPORT Status fmi2DoStep(Component c, double t, double h, Boolean no_set) {
    Machine *m = c;
    int status;
    (void)no_set;
    if (m->now.t != t) { m->now.t = t; stale(m); }
    status = step_to(m, t + h);
    if (status == 0 && m->now.terminated) return DISCARD; /* fmi2GetBooleanStatus(terminated) says why */
    return told(m, status, "fmi2DoStep");
}
EXPORT Status fmi2CancelStep(Component c) { return told(c, -1, "fmi2CancelStep"); }
EXPORT Status fmi2GetStatus(Component c, StatusKind s, Status *x) {
    (void)s;
    *x = ((Machine *)c)->now.terminated ? DISCARD : OK;
    return OK;
}
EXPORT Status fmi2GetRealStatus(Component c, StatusKind s, double *x) {
    if (s != LAST_SUCCESSFUL_TIME) return DISCARD;
    *x = ((Machine *)c)->now.t;
    return OK;
}
EXPORT Status fmi2GetIntegerStatus(Component c, StatusKind s, int *x) { (void)c; (void)s; (void)x; return DISCARD; }
EXPORT Status fmi2GetBooleanStatus(Component c, StatusKind s, Boolean *x) {
    if (s != TERMINATED) return DISCARD;
    *x = ((Machine *)c)->now.terminated != 0;
    return OK;
}
EXPORT Status fmi2GetStringStatus(Component c, StatusKind s, const char **x) { (void)c; (void)s; (void)x; return DISCARD; }
