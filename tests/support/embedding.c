/* A simulator written in C: it knows mbkern by a function pointer and the header only. */
#include <stddef.h>

/* a stand-in for the serial vector of SUNDIALS */
typedef struct { void *content; void *ops; } *N_Vector;
typedef struct { long length; int own_data; double *data; } *Content;
static double *N_VGetArrayPointer(N_Vector v) { return ((Content)v->content)->data; }
#define MBKERN_SUNDIALS
/* and for its dense matrix: column by column */
typedef struct { long rows; double *data; } *SUNMatrix;
static double *SUNDenseMatrix_Column(SUNMatrix A, long j) { return A->data + j * A->rows; }
#define MBKERN_SUNDIALS_DENSE
#include "mbkern.h"

long nq(const void *user) { return mbkern_nq(user); }
long nv(const void *user) { return mbkern_nv(user); }
int status(const void *user) { return mbkern_status(user); }

void evaluate(mbkern_ode f, double t, const double *y, double *dydt, void *user) { f(t, y, dydt, user); }

void evaluate_tau(mbkern_ode_tau f, double t, const double *y, const double *tau, double *dydt, void *user) {
    f(t, y, tau, dydt, user);
}

/* The classical Runge-Kutta method with a fixed step h, y in place; scratch holds 5 n numbers.
 * Returns the status of the first call that failed. */
int rk4(mbkern_ode f, void *user, double t, double h, long steps, double *y, double *scratch) {
    const long n = mbkern_nq(user) + mbkern_nv(user);
    double *k1 = scratch, *k2 = k1 + n, *k3 = k2 + n, *k4 = k3 + n, *z = k4 + n;
    for (long s = 0; s < steps; s++, t += h) {
        f(t, y, k1, user);
        if (mbkern_status(user) != MBKERN_OK) return mbkern_status(user);
        for (long i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * k1[i];
        f(t + 0.5 * h, z, k2, user);
        if (mbkern_status(user) != MBKERN_OK) return mbkern_status(user);
        for (long i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * k2[i];
        f(t + 0.5 * h, z, k3, user);
        if (mbkern_status(user) != MBKERN_OK) return mbkern_status(user);
        for (long i = 0; i < n; i++) z[i] = y[i] + h * k3[i];
        f(t + h, z, k4, user);
        if (mbkern_status(user) != MBKERN_OK) return mbkern_status(user);
        for (long i = 0; i < n; i++) y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    }
    return MBKERN_OK;
}

/* What CVODE does with a right-hand side: one explicit Euler step, halved after a recoverable failure.
 * Returns the number of halvings, or -1 when the function said that nothing would help. */
int euler_like_cvode(mbkern_ode_status f, void *user, double t, double h, double *y, double *dydt) {
    struct { long length; int own_data; double *data; } cy = {0, 0, y}, cd = {0, 0, dydt};
    struct { void *content; void *ops; } vy = {&cy, NULL}, vd = {&cd, NULL};
    mbkern_cv_data data = {f, user};
    const long n = mbkern_nq(user) + mbkern_nv(user);
    for (int halvings = 0; halvings < 60; halvings++, h *= 0.5) {
        int flag = mbkern_cv_rhs(t + h, (N_Vector)&vy, (N_Vector)&vd, &data);
        if (flag < 0) return -1;
        if (flag > 0) continue;
        for (long i = 0; i < n; i++) y[i] += h * dydt[i];
        return halvings;
    }
    return -1;
}

/* What CVODE does with a Jacobian: J column by column, through its signature. Returns what the function returned. */
int jacobian_like_cvode(mbkern_ode_status f, void *user, mbkern_ode_jacobian jacobian, void *data, double t, double *y,
                        double *room, double *columns) {
    struct { long length; int own_data; double *data; } cy = {0, 0, y};
    struct { void *content; void *ops; } vy = {&cy, NULL};
    struct { long rows; double *data; } matrix = {mbkern_nq(user) + mbkern_nv(user), columns};
    mbkern_cv_jac_data all = {{f, user}, jacobian, data, room};
    return mbkern_cv_jac(t, (N_Vector)&vy, NULL, (SUNMatrix)&matrix, &all, NULL, NULL, NULL);
}
