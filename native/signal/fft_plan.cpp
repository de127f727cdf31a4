#include "signal/fft_plan.hpp"

#include "signal/fixed_math.hpp"

#include <stdexcept>

namespace subsalt::signal {

FftPlan::FftPlan(int64_t points) : n(points), place(static_cast<size_t>(points > 0 ? points : 0)) {
    int64_t rest = n;
    const auto stage = [&](int r) {
        std::vector<float> factors;
        for (int64_t k = 0; k < rest / r; ++k) {
            for (int64_t j = 1; j < r; ++j) {
                const double angle = -2.0 * fixed::kPi * static_cast<double>(k * j % rest) / static_cast<double>(rest);
                const fixed::SinCos turn = fixed::sincos(angle);
                factors.push_back(static_cast<float>(turn.cos));
                factors.push_back(static_cast<float>(turn.sin));
            }
        }
        radix.push_back(r);
        turns.push_back(std::move(factors));
        rest /= r;
    };
    if (rest >= 2 && rest % 3 == 0) stage(3);
    while (rest >= 4 && rest % 4 == 0)
        stage(4);
    if (rest == 2) stage(2);
    if (rest != 1 || n < 2) throw std::invalid_argument("a transform has 2^a or 3 2^a points");
    for (int64_t k = 0; k < n; ++k) {
        int64_t at = 0, frequency = k, size = n;
        for (const int r : radix) {
            size /= r;
            at += frequency % r * size;
            frequency /= r;
        }
        place[static_cast<size_t>(k)] = at;
    }
}

int64_t fft_size(int64_t least) {
    int64_t n = 2;
    while (n < least) {
        // 2, 3, 4, 6, 8, 12 ...
        n = (n & (n - 1)) == 0 ? n / 2 * 3 : n / 3 * 4;
    }
    return n;
}

} // namespace subsalt::signal
