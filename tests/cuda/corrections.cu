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

/// Counts quotients of the operands that `draw(i, a, b)` gives, from all approximations; `corrected` is what is tried.
template <class Draw, class Corrected>
void count_ratios(const char* what, unsigned tried, Draw draw, Corrected corrected) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < tried; ++i) {
        float a = 0.0f, b = 0.0f;
        draw(i, a, b);
        bool all = true;
        for (int steps = -most_steps; steps <= most_steps; ++steps)
            all = all && corrected(a, b, approximate_inverse(b, steps)) == a / b;
        wrong += all ? 0u : 1u;
    }
    std::printf("%s %u %u\n", what, tried, wrong);
}

/// Quotients next to the middle m / 2^25 of two floats: 2^25 a = m b - 1 or + 1, one for every odd b of 24 bits. Which
/// sign it is follows from m having 25 bits.
constexpr unsigned hardest = 1u << 22;
void hardest_ratio(unsigned i, float& a, float& b) {
    const std::uint64_t divisor = (1u << 23) + 1 + 2 * i, bits = (1u << 25) - 1;
    std::uint64_t inverse = divisor; // right in 3 bits; Newton doubles them
    for (int k = 0; k < 4; ++k)
        inverse *= 2 - divisor * inverse;
    const bool above = (inverse & bits) >> 24 != 0;
    const std::uint64_t m = (above ? inverse : 0 - inverse) & bits;
    a = static_cast<float>((above ? m * divisor - 1 : m * divisor + 1) >> 25);
    b = static_cast<float>(divisor);
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
    std::mt19937 random(1);
    std::uniform_real_distribution<float> exponent(-30.0f, 30.0f);
    const auto at_random = [&](unsigned, float& a, float& b) {
        a = std::exp2(exponent(random)), b = std::exp2(exponent(random));
    };
    // the last step left out: the quotient that it corrects
    count_ratios("ratio-uncorrected", hardest, hardest_ratio,
                 [](float a, float b, float y) { return a * corrected_inverse(b, y); });
    count_ratios("ratio-hardest", hardest, hardest_ratio, corrected_ratio);
    count_ratios("ratio", 1u << 21, at_random, corrected_ratio);
}
