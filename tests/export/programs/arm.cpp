// The same arm on two threads, each with its own workspace: c++ arm_example.cpp arm.o -lm -pthread
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
#include "arm.h"

struct Arm {
    std::vector<double> q, p, work;
    Arm() : q(arm_nq()), p(arm_nv()), work(arm_work_size()) {
        arm_neutral(q.data());
        for (std::size_t i = 0; i < p.size(); ++i) p[i] = 0.1 * double(i + 1);
    }
    void advance(double t_end) {
        double clock[4] = {0.0, 0.0, 0.0, 0.0};
        int status = arm_dopri5(t_end, 1000000, 1e-8, 1e-10, clock, q.data(), p.data(), nullptr, nullptr, work.data());
        if (status != ARM_OK) throw std::runtime_error(arm_status_text(status));
    }
};

int main() {
    Arm one, two;
    std::thread other([&] { two.advance(2.0); });
    one.advance(1.0);
    other.join();
    for (std::size_t i = 0; i < one.q.size(); ++i) std::printf("%a %a\n", one.q[i], one.p[i]);
    for (std::size_t i = 0; i < two.q.size(); ++i) std::printf("%a %a\n", two.q[i], two.p[i]);
    std::printf("%s\n", arm_build());
}
