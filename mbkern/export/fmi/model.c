/* The machine of an FMU, whatever the version of FMI: its values, how they follow from each other, steps, events.
 *
 * Sizes and tables come from fmu.h, which is written for each FMU; the equations from the exported library. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fmu.h"

#define NX (NQ + NV)
/* value references: time, states, their derivatives, inputs, outputs, parameters, event indicators */
#define VR_X 1
#define VR_DER (VR_X + NX)
#define VR_U (VR_DER + NX)
#define VR_Y (VR_U + NU)
#define VR_P (VR_Y + NY)
#define VR_Z (VR_P + NP)
#define VR_END (VR_Z + NZ)
#define ROOM(n) ((n) > 0 ? (n) : 1)

/* all that makes a state of the FMU */
typedef struct {
    double t, x[ROOM(NX)], u[ROOM(NU)], parameter[ROOM(NP)];
    double clock[4];              /* of the integrator */
    double tolerance;
    double side[ROOM(NZ)];        /* signs of the event functions when they were last looked at */
    int64_t left[ROOM(NZ)];       /* crossings left before an event ends the simulation; 0: it never does */
    int terminated;
} Values;

typedef struct {
    Values now;
    double der[ROOM(NX)], y[ROOM(NY)], z[ROOM(NZ)];
    int has_der, has_y, has_z;    /* whether they belong to the values */
    double tau[ROOM(NV)], wrench[ROOM(6 * N_BODIES)];
    double work[WORK];
    double A[ROOM(HAS_DIRECTIONS * 4 * NV * NV)], B[ROOM(HAS_DIRECTIONS * LOOPS * NV * NV)]; /* too large for a stack */
    void *environment;
    void *log;
    int may_return_early;
} Machine;

static void stale(Machine *m) { m->has_der = m->has_y = m->has_z = 0; }

/* ---- parameters ---- */
static int put_parameters(Machine *m) {
    int status = MODEL(init)(m->work);
#if NP > 0
    int64_t i, at = 0;
    for (i = 0; i < N_SETTINGS && status == 0; at += SETTING_SIZES[i], i++)
        status = MODEL(set_parameter)(m->work, i, m->now.parameter + at);
#endif
    return status;
}

static int begin(Machine *m) {
    memset(&m->now, 0, sizeof m->now);
    memcpy(m->now.x, START_X, sizeof START_X);
    memcpy(m->now.parameter, START_P, sizeof START_P);
    memcpy(m->now.left, EVENT_COUNTS, sizeof EVENT_COUNTS);
    m->now.tolerance = TOLERANCE;
    stale(m);
    return put_parameters(m);
}

/* ---- what follows from the values ---- */
static void forces(Machine *m, const double *u) {
    int i;
    for (i = 0; i < NV; i++) m->tau[i] = 0.0;
    for (i = 0; i < 6 * N_BODIES; i++) m->wrench[i] = 0.0;
    for (i = 0; i < NU; i++) {
        if (INPUT_PLACES[i] < NV) m->tau[INPUT_PLACES[i]] = u[i];
        else m->wrench[INPUT_PLACES[i] - NV] = u[i];
    }
}

static int rates(Machine *m, double t, const double *x, const double *u, double *der) {
    forces(m, u);
#if HAS_WRENCH
    return MODEL(rhs_with_wrenches)(t, x, x + NQ, m->tau, m->wrench, der, der + NQ, m->work);
#else
    return MODEL(rhs)(t, x, x + NQ, m->tau, der, der + NQ, m->work);
#endif
}

static int outputs(Machine *m, double t, const double *x, double *y) {
    int status = 0;
    (void)m; (void)t; (void)x; (void)y;
#if HAS_ENERGY
    status = MODEL(energy)(t, x, x + NQ, y + AT_ENERGY, m->work);
#endif
#if HAS_SPEEDS
    if (status == 0) status = MODEL(velocities)(t, x, x + NQ, y + AT_SPEEDS, m->work);
#endif
#if N_POSES > 0
    {
        int64_t i;
        for (i = 0; i < N_POSES && status == 0; i++) {
            double R[9], *r = y + AT_POSES + 12 * i;
            int j;
            status = MODEL(frame_pose)(t, x, MODEL(frame)(POSES[i], 1), R, r, m->work);
            for (j = 0; j < 9; j++) r[3 + j] = R[j];
        }
    }
#endif
    return status;
}

static int event_values(Machine *m, double t, const double *x, double *z) {
    int i;
    (void)m; (void)t; (void)x; (void)z;
    for (i = 0; i < NZ; i++) {
#if NZ > 0
        z[i] = MODEL(event)(i, t, x);
        if (!(fabs(z[i]) <= 1e300)) return -1;
#endif
    }
    return 0;
}

/* value by its reference; 0, or a status */
static int value(Machine *m, unsigned int vr, double *out) {
    int status = 0;
    if (vr == 0) *out = m->now.t;
    else if (vr < VR_DER) *out = m->now.x[vr - VR_X];
    else if (vr < VR_U) {
        if (!m->has_der) status = rates(m, m->now.t, m->now.x, m->now.u, m->der);
        m->has_der = status == 0;
        *out = m->der[vr - VR_DER];
    } else if (vr < VR_Y) *out = m->now.u[vr - VR_U];
    else if (vr < VR_P) {
        if (!m->has_y) status = outputs(m, m->now.t, m->now.x, m->y);
        m->has_y = status == 0;
        *out = m->y[vr - VR_Y];
    } else if (vr < VR_Z) *out = m->now.parameter[vr - VR_P];
    else if (vr < VR_END) {
        if (!m->has_z) status = event_values(m, m->now.t, m->now.x, m->z);
        m->has_z = status == 0;
        *out = m->z[vr - VR_Z];
    } else return -1;
    return status;
}

/* states, inputs and parameters can be set */
static int set_value(Machine *m, unsigned int vr, double given, int *changed) {
    if (vr >= VR_X && vr < VR_DER) m->now.x[vr - VR_X] = given;
    else if (vr >= VR_U && vr < VR_Y) m->now.u[vr - VR_U] = given;
    else if (vr >= VR_P && vr < VR_Z) { m->now.parameter[vr - VR_P] = given; *changed = 1; }
    else return -1;
    stale(m);
    m->now.clock[1] = m->now.clock[2] = m->now.clock[3] = 0.0; /* another problem for the integrator */
    return 0;
}

/* ---- closed loops: an importer that integrates lets them open; Newton closes them again ---- */
#define NEWTON_STEPS 30
#define CLOSED 1e-12            /* residuals that are rounding */
#define MOST_OPEN 100.0         /* of the tolerance of the run, before Model Exchange asks for an event */
#if LOOPS
/* the largest residual of the constraints */
static int opening(Machine *m, double *largest) {
    double g[ROOM(N_ROWS)];
    int i, status = MODEL(constraint_residuals)(m->now.t, m->now.x, g, m->work);
    for (*largest = 0.0, i = 0; i < N_ROWS; i++) *largest = fabs(g[i]) > *largest ? fabs(g[i]) : *largest;
    return status;
}

/* the nearest configuration that closes the loops, and momenta that satisfy the constraints there; -1: there is none */
static int close_loops(Machine *m) {
    double q[ROOM(NQ)], p[ROOM(NV)], largest;
    int i, j, k, status = opening(m, &largest);
    for (k = 0; k < NEWTON_STEPS && largest > CLOSED && status == 0; k++) {
        status = MODEL(closer)(m->now.t, m->now.x, q, m->work);
        for (i = 0; i < N_QUATERNIONS && status == 0; i++) {
            double *r = q + QUATERNIONS[i], norm = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
            for (j = 0; j < 4; j++) r[j] /= norm;
        }
        if (status == 0) memcpy(m->now.x, q, NQ * sizeof(double));
        if (status == 0) status = opening(m, &largest);
    }
    if (status == 0 && !(largest <= 1e3 * CLOSED)) status = -1;
    if (status == 0) status = MODEL(true_momenta)(m->now.t, m->now.x, m->now.x + NQ, p, m->work);
    if (status == 0) memcpy(m->now.x + NQ, p, NV * sizeof(double));
    stale(m);
    return status;
}
#endif

/* at the beginning */
static int settle(Machine *m) {
#if LOOPS
    return close_loops(m);
#else
    (void)m;
    return 0;
#endif
}

/* whether the loops have opened too far for the tolerance of the run; with `mend` they are closed then */
static int drifted(Machine *m, int mend, int *status) {
    *status = 0;
#if LOOPS
    {
        double largest;
        *status = opening(m, &largest);
        if (*status != 0 || largest <= MOST_OPEN * m->now.tolerance) return 0;
        if (mend) *status = close_loops(m);
        return 1;
    }
#else
    (void)m; (void)mend;
    return 0;
#endif
}

/* ---- derivatives of the derivatives and outputs along a direction ---- */
#if HAS_DIRECTIONS
static int along(Machine *m, const double *dt_x_u, double *ddt, double *dy) {
    /* rates by the Jacobian in closed form; what is linear (forces) by a difference, which is exact but for rounding */
    const double *dx = dt_x_u, *du = dt_x_u + NX;
    double shifted[ROOM(NU)], der[ROOM(NX)], size = 0.0;
    int i, j, status;
    forces(m, m->now.u);
#if LOOPS
    status = MODEL(jacobian_rhs)(m->now.t, m->now.x, m->now.x + NQ, m->tau, m->A, m->B, m->work);
#else
    status = MODEL(jacobian_rhs)(m->now.t, m->now.x, m->now.x + NQ, HAS_WRENCH ? m->wrench : NULL, m->A, m->work);
#endif
    for (i = 0; i < NX && status == 0; i++) {
        ddt[i] = 0.0;
        for (j = 0; j < NX; j++) ddt[i] += m->A[i * NX + j] * dx[j];
    }
    for (i = 0; i < NU; i++) {
        size += fabs(du[i]);
        shifted[i] = m->now.u[i] + du[i];
    }
    if (status == 0 && size > 0.0) {
        double before[ROOM(NX)];
        status = rates(m, m->now.t, m->now.x, m->now.u, before);
        if (status == 0) status = rates(m, m->now.t, m->now.x, shifted, der);
        for (i = NQ; i < NX && status == 0; i++) ddt[i] += der[i] - before[i];
    }
    if (status == 0 && NY > 0) { /* central differences along the direction */
        double x[ROOM(NX)], low[ROOM(NY)], high[ROOM(NY)], h, largest = 0.0;
        for (i = 0; i < NX; i++) largest = fabs(dx[i]) > largest ? fabs(dx[i]) : largest;
        h = largest > 0.0 ? 1e-5 / largest : 1.0;
        for (i = 0; i < NX; i++) x[i] = m->now.x[i] - h * dx[i];
        status = outputs(m, m->now.t, x, low);
        for (i = 0; i < NX; i++) x[i] = m->now.x[i] + h * dx[i];
        if (status == 0) status = outputs(m, m->now.t, x, high);
        for (i = 0; i < NY; i++) dy[i] = largest > 0.0 ? (high[i] - low[i]) / (2.0 * h) : 0.0;
    }
    return status;
}
#else
static int along(Machine *m, const double *dt_x_u, double *ddt, double *dy) {
    (void)m; (void)dt_x_u; (void)ddt; (void)dy;
    return -1;
}
#endif

static int direction(Machine *m, const unsigned int *unknowns, size_t n_unknowns, const unsigned int *knowns,
                     size_t n_knowns, const double *seed, double *result) {
    double d[ROOM(NX + NU)], ddt[ROOM(NX)], dy[ROOM(NY)];
    size_t k;
    int status;
    memset(d, 0, sizeof d);
    memset(ddt, 0, sizeof ddt);
    memset(dy, 0, sizeof dy);
    for (k = 0; k < n_knowns; k++) {
        if (knowns[k] >= VR_X && knowns[k] < VR_DER) d[knowns[k] - VR_X] = seed[k];
        else if (knowns[k] >= VR_U && knowns[k] < VR_Y) d[NX + knowns[k] - VR_U] = seed[k];
        else return -1;
    }
    status = along(m, d, ddt, dy);
    for (k = 0; k < n_unknowns && status == 0; k++) {
        if (unknowns[k] >= VR_DER && unknowns[k] < VR_U) result[k] = ddt[unknowns[k] - VR_DER];
        else if (unknowns[k] >= VR_Y && unknowns[k] < VR_P) result[k] = dy[unknowns[k] - VR_Y];
        else return -1;
    }
    return status;
}

/* ---- events ---- */
static double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

static int look_at_events(Machine *m) {
    int i, status = event_values(m, m->now.t, m->now.x, m->z);
    for (i = 0; i < NZ && status == 0; i++) m->now.side[i] = sign(m->z[i]);
    return status;
}

static int crosses(const Machine *m, int i, double z) {
    int direction = EVENT_DIRECTIONS[i];
    return m->now.side[i] * z < 0.0 && (direction == 0 || (z > 0.0) == (direction > 0));
}

/* count the crossings since the last look; whether the simulation is to end */
static int count_events(Machine *m) {
    int i, ends = 0;
    if (event_values(m, m->now.t, m->now.x, m->z) != 0) return 0;
    for (i = 0; i < NZ; i++) {
        double at = fabs(m->z[i]) > 0.0 ? m->z[i] : -m->now.side[i]; /* exactly at zero is beyond it */
        if (crosses(m, i, at) && m->now.left[i] > 0 && --m->now.left[i] == 0) ends = 1;
        if (at != 0.0) m->now.side[i] = sign(at);
    }
    m->now.terminated |= ends;
    return ends;
}

/* ---- co-simulation ---- */
static int advance(Machine *m, double t_end, int64_t steps) {
    forces(m, m->now.u);
    stale(m);
    return MODEL(dopri5)(t_end, steps, m->now.tolerance, 0.01 * m->now.tolerance, m->now.clock, m->now.x,
                         m->now.x + NQ, m->tau, HAS_WRENCH ? m->wrench : NULL, m->work);
}

static int crossed(Machine *m) {
    int i;
    if (NZ == 0 || event_values(m, m->now.t, m->now.x, m->z) != 0) return 0;
    for (i = 0; i < NZ; i++)
        if (crosses(m, i, m->z[i])) return 1;
    return 0;
}

/* to t_end, or to the first event that ends the simulation */
static int step_to(Machine *m, double t_end) {
    int status = 0;
    m->now.clock[0] = m->now.t;
    if (NZ == 0) status = advance(m, t_end, INT64_MAX);
    while (NZ > 0 && m->now.t < t_end && status == 0 && !m->now.terminated) {
        Values before = m->now;
        status = advance(m, t_end, 1);
        m->now.t = m->now.clock[0];
        if (status == 0 && crossed(m)) { /* where: by halving the step, each time from its beginning */
            double low = before.t, high = m->now.t;
            Values beyond = m->now;
            while (high - low > 1e-12 * (1.0 + fabs(high)) && status == 0) {
                double middle = 0.5 * (low + high);
                m->now = before;
                m->now.clock[1] = middle - before.t;
                status = advance(m, middle, INT64_MAX);
                m->now.t = middle;
                if (crossed(m)) { high = middle; beyond = m->now; } else low = middle;
            }
            if (status == 0) {
                m->now = beyond;
                m->now.clock[1] = before.clock[1];
                stale(m);
                count_events(m);
            }
        }
    }
    m->now.t = m->now.clock[0];
    return status;
}
