// Roots, inverses and quotients of the Kirchhoff sum on a device, from any approximation that PTX allows, against those
// that are rounded correctly; for tests/cuda/test_corrections.py.
//
//   corrections      prints, by line, what it is, how many operands were tried, and for how many some result was wrong
#include "kirchhoff_operator.cuh"

#include <cstdio>
#include <random>

using namespace subsalt::cuda::migration;
using subsalt::emulation::approximate_inverse;
using subsalt::emulation::approximate_inverse_root;

namespace {

/// Numbers further than this from the nearest are beyond the error that PTX allows.
constexpr int most_steps = 3;

/// Calls `right(operand, steps)` for all operands and all approximations.
template <class Right>
void count(const char* what, unsigned first, unsigned end, Right right) {
    unsigned wrong = 0;
    for (unsigned i = first; i < end; ++i) {
        const float a = __uint_as_float(i);
        bool all = true;
        for (int steps = -most_steps; steps <= most_steps; ++steps)
            all = all && right(a, steps);
        wrong += all ? 0u : 1u;
    }
    std::printf("%s %u %u\n", what, end - first, wrong);
}

/// Quotients of numbers drawn at random, from one approximation.
unsigned wrong_ratios(unsigned tried) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> exponent(-30.0f, 30.0f);
    unsigned wrong = 0;
    for (unsigned i = 0; i < tried; ++i) {
        const float a = std::exp2(exponent(random)), b = std::exp2(exponent(random));
        for (int steps = -most_steps; steps <= most_steps; ++steps)
            if (corrected_ratio(a, b, approximate_inverse(b, steps)) != a / b) {
                ++wrong;
                break;
            }
    }
    return wrong;
}

} // namespace

int main() {
    const unsigned one = __float_as_uint(1.0f), two = __float_as_uint(2.0f), four = __float_as_uint(4.0f);
    // without the correction: whether there is anything to correct
    count("root-approximated", one, four,
          [](float a, int steps) { return a * approximate_inverse_root(a, steps) == __fsqrt_rn(a); });
    count("inverse-approximated", one, two,
          [](float a, int steps) { return approximate_inverse(a, steps) == 1.0f / a; });
    count("root", one, four,
          [](float a, int steps) { return corrected_root(a, approximate_inverse_root(a, steps)) == __fsqrt_rn(a); });
    count("inverse", one, two,
          [](float a, int steps) { return corrected_inverse(a, approximate_inverse(a, steps)) == 1.0f / a; });
    constexpr unsigned tried = 1u << 22;
    std::printf("ratio %u %u\n", tried, wrong_ratios(tried));
}
