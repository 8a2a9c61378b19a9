/* What CVODE would do: rates and Jacobian of y = (q, p), through its types. (These are not SUNDIALS' own headers.) */
#include <stdio.h>
typedef struct { double *data; } *N_Vector;
typedef struct { double *data; int rows; } *SUNMatrix;
static double *N_VGetArrayPointer(N_Vector v) { return v->data; }
static double *SUNDenseMatrix_Column(SUNMatrix A, int j) { return A->data + j * A->rows; }
#define LOOP_SUNDIALS
#include "loop.h"

#define N (LOOP_NQ + LOOP_NV)

int main(void) {
    static double work[LOOP_WORK_SIZE], room[5 * LOOP_NV * LOOP_NV], state[N], rates[N], jacobian[N * N];
    double tau[LOOP_NV] = {0.3, 0.0, -0.1};
    loop_cv_data data = {tau, work, room};
    struct { double *data; } y = {state}, ydot = {rates};
    struct { double *data; int rows; } J = {jacobian, N};
    int i;
    for (i = 0; i < N; i++)
        if (scanf("%lf", state + i) != 1) return 99;
    i = loop_cv_rhs(0.0, (N_Vector)&y, (N_Vector)&ydot, &data);
    if (i == 0) i = loop_cv_jac(0.0, (N_Vector)&y, (N_Vector)&ydot, (SUNMatrix)&J, &data, NULL, NULL, NULL);
    if (i != 0) return i;
    for (i = 0; i < N; i++) printf("%a\n", rates[i]);
    for (i = 0; i < N * N; i++) printf("%a\n", jacobian[i]); /* column by column */
    return 0;
}
