/* A function for CasADi around an exported library: (q, p, tau, t) -> (qdot, pdot), its Jacobian in closed form, and,
 * where PRODUCTS says so, that matrix times a direction and its transpose times weights without the matrix.
 * The interface is that of casadi.external. Sizes come from external.h, which is written for each function. */
#include <math.h>
#include "external.h"

#ifndef casadi_int
#define casadi_int long long int
#endif
#if defined _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define OF(name) JOIN(FUNCTION, _##name)
#define JAC(name) JOIN(JACOBIAN, name)

enum { Q, P, TAU, T, QDOT, PDOT };
static const casadi_int VECTOR[] = {NV, 1, 1}, ONE[] = {1, 1, 1}, SQUARE[] = {NV, NV, 1}, COLUMN[] = {NV, 1, 1};

EXPORT casadi_int OF(n_in)(void) { return 4; }
EXPORT casadi_int OF(n_out)(void) { return 2; }
EXPORT const char *OF(name_in)(casadi_int i) {
    static const char *names[] = {"q", "p", "tau", "t"};
    return i >= 0 && i < 4 ? names[i] : 0;
}
EXPORT const char *OF(name_out)(casadi_int i) { return i == 0 ? "qdot" : i == 1 ? "pdot" : 0; }
EXPORT const casadi_int *OF(sparsity_in)(casadi_int i) { return i >= 0 && i < 3 ? VECTOR : i == 3 ? ONE : 0; }
EXPORT const casadi_int *OF(sparsity_out)(casadi_int i) { return i == 0 || i == 1 ? VECTOR : 0; }
EXPORT int OF(work)(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {
    if (arg) *arg = 4;
    if (res) *res = 2;
    if (iw) *iw = 0;
    if (w) *w = WORK + 6 * NV;
    return 0;
}

/* an argument that CasADi leaves out is zero */
static const double *given(const double *x, double *zeros) {
    int i;
    if (x) return x;
    for (i = 0; i < NV; i++) zeros[i] = 0.0;
    return zeros;
}

static int rates(const double **arg, double t, double *qdot, double *pdot, double *zeros, double *work) {
    return MODEL(rhs)(t, given(arg[Q], zeros), given(arg[P], zeros + NV), arg[TAU], qdot, pdot, work);
}

EXPORT int FUNCTION(const double **arg, double **res, casadi_int *iw, double *w, int mem) {
    double *zeros = w + WORK, *qdot = res[0] ? res[0] : w + WORK + 4 * NV, *pdot = res[1] ? res[1] : w + WORK + 5 * NV;
    (void)iw; (void)mem;
    return rates(arg, arg[T] ? arg[T][0] : 0.0, qdot, pdot, zeros, w);
}

/* slopes of qdot and pdot by time, 2 NV numbers, by central differences; `zeros` has room for 6 NV numbers */
static int slopes(const double **arg, double t, double *out, double *zeros, double *work) {
    double h = 1e-6 * (1.0 + fabs(t)), *low = zeros + 2 * NV, *high = zeros + 4 * NV;
    int i, status = rates(arg, t - h, low, low + NV, zeros, work);
    if (status == 0) status = rates(arg, t + h, high, high + NV, zeros, work);
    for (i = 0; i < 2 * NV && status == 0; i++) out[i] = (high[i] - low[i]) / (2.0 * h);
    return status;
}

/* ---- the Jacobian: for each result, by each argument; columns one after another ---- */
EXPORT casadi_int JAC(_n_in)(void) { return 6; }
EXPORT casadi_int JAC(_n_out)(void) { return 8; }
EXPORT const casadi_int *JAC(_sparsity_in)(casadi_int i) {
    return i >= 0 && i < 3 ? VECTOR : i == 3 ? ONE : i == 4 || i == 5 ? VECTOR : 0;
}
EXPORT const casadi_int *JAC(_sparsity_out)(casadi_int i) {
    switch (i) {
    case 0: case 1: case 4: case 5: return SQUARE;
    case 2: return EMPTY;          /* speeds do not depend on forces */
    case 6: return LOOPS ? SQUARE : IDENTITY;
    case 3: case 7: return DRIVEN ? COLUMN : EMPTY_COLUMN;
    }
    return 0;
}
EXPORT int JAC(_work)(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {
    if (arg) *arg = 6;
    if (res) *res = 8;
    if (iw) *iw = 0;
    if (w) *w = WORK + 5 * NV * NV + 6 * NV;
    return 0;
}
EXPORT int JACOBIAN(const double **arg, double **res, casadi_int *iw, double *w, int mem) {
    double *A = w + WORK, *B = A + 4 * NV * NV, *zeros = B + NV * NV, t = arg[T] ? arg[T][0] : 0.0;
    int i, j, block, status;
    (void)iw; (void)mem;
#if LOOPS
    status = MODEL(jacobian_rhs)(t, given(arg[Q], zeros), given(arg[P], zeros + NV), arg[TAU], A, B, w);
    for (j = 0; j < NV && res[6] && status == 0; j++)
        for (i = 0; i < NV; i++) res[6][j * NV + i] = B[i * NV + j];
#else
    (void)B;
    status = MODEL(jacobian_rhs)(t, given(arg[Q], zeros), given(arg[P], zeros + NV), 0, A, w);
    for (i = 0; i < NV && res[6] && status == 0; i++) res[6][i] = 1.0;
#endif
    for (block = 0; block < 4 && status == 0; block++) {
        double *out = res[4 * (block / 2) + block % 2];
        for (j = 0; j < NV && out; j++)
            for (i = 0; i < NV; i++) out[j * NV + i] = A[(NV * (block / 2) + i) * 2 * NV + NV * (block % 2) + j];
    }
    if (DRIVEN && status == 0 && (res[3] || res[7])) {
        status = slopes(arg, t, A, zeros, w);
        for (i = 0; i < NV && status == 0; i++) {
            if (res[3]) res[3][i] = A[i];
            if (res[7]) res[7][i] = A[NV + i];
        }
    }
    return status;
}

#if PRODUCTS
/* ---- products: arguments, results, then a direction of the arguments or weights of the results ---- */
#define FWD(name) JOIN(FORWARD, name)
#define ADJ(name) JOIN(REVERSE, name)
enum { DQ = 6, DP, DTAU, DT, W_QDOT = 6, W_PDOT };

EXPORT casadi_int FWD(_n_in)(void) { return 10; }
EXPORT casadi_int FWD(_n_out)(void) { return 2; }
EXPORT const casadi_int *FWD(_sparsity_in)(casadi_int i) {
    return i < 0 || i > 9 ? 0 : i == T || i == DT ? ONE : VECTOR;
}
EXPORT const casadi_int *FWD(_sparsity_out)(casadi_int i) { return i == 0 || i == 1 ? VECTOR : 0; }
EXPORT int FWD(_work)(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {
    if (arg) *arg = 10;
    if (res) *res = 2;
    if (iw) *iw = 0;
    if (w) *w = WORK + 12 * NV;
    return 0;
}
EXPORT int FORWARD(const double **arg, double **res, casadi_int *iw, double *w, int mem) {
    double *zeros = w + WORK, *slope = zeros + 6 * NV, *du = slope + 2 * NV, *dpdot = du + NV, *rest = dpdot + NV;
    double t = arg[T] ? arg[T][0] : 0.0, dt = arg[DT] ? arg[DT][0] : 0.0;
    int i, status = MODEL(jvp)(t, 1, given(arg[Q], zeros), given(arg[P], zeros + NV), given(arg[DQ], rest),
                               given(arg[DP], rest + NV), 0, du, dpdot, w);
    (void)iw; (void)mem;
    for (i = 0; i < 2 * NV; i++) slope[i] = 0.0;
    if (DRIVEN && status == 0 && dt != 0.0) status = slopes(arg, t, slope, zeros, w);
    for (i = 0; i < NV && status == 0; i++) {
        if (res[0]) res[0][i] = du[i] + dt * slope[i];
        if (res[1]) res[1][i] = dpdot[i] + (arg[DTAU] ? arg[DTAU][i] : 0.0) + dt * slope[NV + i];
    }
    return status;
}

EXPORT casadi_int ADJ(_n_in)(void) { return 8; }
EXPORT casadi_int ADJ(_n_out)(void) { return 4; }
EXPORT const casadi_int *ADJ(_sparsity_in)(casadi_int i) { return i < 0 || i > 7 ? 0 : i == T ? ONE : VECTOR; }
EXPORT const casadi_int *ADJ(_sparsity_out)(casadi_int i) { return i < 0 || i > 3 ? 0 : i == T ? ONE : VECTOR; }
EXPORT int ADJ(_work)(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w) {
    if (arg) *arg = 8;
    if (res) *res = 4;
    if (iw) *iw = 0;
    if (w) *w = WORK + 12 * NV;
    return 0;
}
EXPORT int REVERSE(const double **arg, double **res, casadi_int *iw, double *w, int mem) {
    double *zeros = w + WORK, *slope = zeros + 6 * NV, *gq = slope + 2 * NV, *gp = gq + NV, *rest = gp + NV, by_t = 0.0;
    double t = arg[T] ? arg[T][0] : 0.0;
    const double *a = given(arg[W_QDOT], rest), *b = given(arg[W_PDOT], rest + NV);
    int i, status = MODEL(vjp)(t, 1, given(arg[Q], zeros), given(arg[P], zeros + NV), a, b, 0, gq, gp, w);
    (void)iw; (void)mem;
    for (i = 0; i < NV && status == 0; i++) {
        if (res[Q]) res[Q][i] = gq[i];
        if (res[P]) res[P][i] = gp[i];
        if (res[TAU]) res[TAU][i] = b[i];
    }
    if (DRIVEN && status == 0 && res[T]) {
        status = slopes(arg, t, slope, zeros, w);
        for (i = 0; i < NV && status == 0; i++) by_t += a[i] * slope[i] + b[i] * slope[NV + i];
    }
    if (res[T]) res[T][0] = by_t;
    return status;
}
#endif
