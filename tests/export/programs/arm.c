/* One second of an arm: the forces that act, the state after 1000 steps of RK4, the energy it has kept.
 * cc arm_example.c arm.o -lm */
#include <stdio.h>
#include "arm.h"

int main(void) {
    double q[ARM_NQ], p[ARM_NV], qdot[ARM_NQ], pdot[ARM_NV], energy[3], tau[ARM_NV], work[ARM_WORK_SIZE];
    int i, status;

    arm_neutral(q);
    for (i = 0; i < ARM_NV; i++) {
        p[i] = 0.1 * (i + 1);
        tau[i] = 0.5;
    }
    status = arm_rhs(0.0, ARM_SIZE(q, ARM_NQ), ARM_SIZE(p, ARM_NV), tau, qdot, pdot, ARM_SIZE(work, ARM_WORK_SIZE));
    if (status != ARM_OK) {
        fprintf(stderr, "%s\n", arm_status_text(status));
        return status;
    }
    for (i = 0; i < ARM_NV; i++) printf("%s %a %a\n", arm_speed_name(i), qdot[i], pdot[i]);
    status = arm_rk4(0.0, 1e-3, 1000, q, p, NULL, NULL, work);
    if (status == ARM_OK) status = arm_energy(0.0, q, p, energy, work);
    if (status != ARM_OK) {
        fprintf(stderr, "%s\n", arm_status_text(status));
        return status;
    }
    for (i = 0; i < ARM_NV; i++) printf("%s %a %a\n", arm_coordinate_name(i), q[i], p[i]);
    printf("H %a\n", energy[2]);

    q[0] = 1.0 / 0.0; /* what is wrong is said, and nothing passes for a result */
    status = arm_rhs(0.0, q, p, NULL, qdot, pdot, work);
    printf("%d %s %d\n", status, arm_status_text(status), qdot[0] != qdot[0]);
    return 0;
}
