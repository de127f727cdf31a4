// A trace averaged by a triangle of half-length N samples around a position p, in double precision.
//
//   value = (S(p - N) - 2 S(p) + S(p + N)) / N^2
//   S(i + f) = S_i + f (S'_i + f sum_k c_k[i] f^k / ((k + 1) (k + 2)))      0 <= f < 1
//
// S is the twice integrated trace: its values S_i and slopes S'_i at the samples, and between them the coefficients c_k
// of the trace, which come divided. Nothing before the trace, a straight line behind it: f goes on beyond 1 there,
// where all c_k are zero.
//
// Claerbout (1992); Lumley, Claerbout & Bevc (1994). Half a vector at a time, as doubles are twice as wide. Per sample
// 60 operations in double precision, a division, and 21 entries of tables, which neighbouring lanes read together.
#pragma once

#include "doubles.hpp"

namespace subsalt::SUBSALT_NS::migration {

/// Write what `Integral` reads as `shares` from the coefficients of a trace, `rows` of `stride`.
inline void share_out(const float* coefficients, Index rows, Index stride, double* shares) {
    for (Index k = 0; k < rows; ++k) {
        const double share = 1.0 / static_cast<double>((k + 1) * (k + 2));
        for (Index i = 0; i < stride; ++i)
            shares[k * stride + i] = static_cast<double>(coefficients[k * stride + i]) * share;
    }
}

/// One trace; `fixed`: its order, 0 when known at run time only.
template <int fixed>
struct Integral {
    const double *values, *slopes, *shares; // shares: c_k / ((k + 1) (k + 2))
    Index order, stride;                    // rows of `stride`

    /// S where the trace has begun.
    template <bool together>
    SUBSALT_INLINE Wide at(const Place& place) const {
        const Index n = fixed > 0 ? fixed : order;
        Wide sum = place.read<together>(shares + n * stride);
        for (Index k = n - 1; k >= 0; --k)
            sum = add(mul(sum, place.fraction), place.read<together>(shares + k * stride));
        const Wide slope = add(place.read<together>(slopes), mul(place.fraction, sum));
        return add(place.read<together>(values), mul(place.fraction, slope));
    }

    /// `from`: where the triangle begins, which may be before the trace.
    template <bool together>
    SUBSALT_INLINE Wide second_difference(Wide from, const Place (&place)[3]) const {
        const Wide zero = set_wide(0.0), middle = at<together>(place[1]);
        const Wide before = where_below(zero, from, at<together>(place[0]), zero);
        return sub(add(before, at<together>(place[2])), add(middle, middle));
    }

    /// `p`: from the first sample of the trace to the last.
    SUBSALT_INLINE Wide averaged(Wide p, Wide half) const {
        const Wide from = sub(p, half), to = add(p, half);
        const Place place[3] = {{from, most(from, set_wide(0.0)), stride},
                                {p, p, stride},
                                {to, least(to, set_wide(static_cast<double>(stride - 2))), stride}};
        const Wide second = place[0].near & place[1].near & place[2].near ? second_difference<true>(from, place)
                                                                          : second_difference<false>(from, place);
        return div(second, mul(half, half));
    }
};

template <int fixed>
SUBSALT_INLINE Vec triangle(const Integral<fixed>& integral, Vec position, Vec half) {
    return narrowed(integral.averaged(widened<0>(position), widened<0>(half)),
                    integral.averaged(widened<1>(position), widened<1>(half)));
}

} // namespace subsalt::SUBSALT_NS::migration
