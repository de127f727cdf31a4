// Half a vector of floats in double precision, and reading tables at positions that differ by lane.
//
// The same names for 8 doubles (v4), 4 (v3), 2 (v2, neon) and 1 (generic). Every operation is rounded by itself, also
// in the instruction sets with fused multiply-adds: the same bits in all of them.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

#if SUBSALT_LANES == 16

using Wide = __m512d;
SUBSALT_INLINE Wide set_wide(double a) {
    return _mm512_set1_pd(a);
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return _mm512_add_pd(a, b);
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return _mm512_sub_pd(a, b);
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return _mm512_mul_pd(a, b);
}
SUBSALT_INLINE Wide div(Wide a, Wide b) {
    return _mm512_div_pd(a, b);
}
SUBSALT_INLINE Wide least(Wide a, Wide b) {
    return _mm512_min_pd(a, b);
}
SUBSALT_INLINE Wide most(Wide a, Wide b) {
    return _mm512_max_pd(a, b);
}
/// a where x < y, else b.
SUBSALT_INLINE Wide where_below(Wide x, Wide y, Wide a, Wide b) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, y, _CMP_LT_OQ), b, a);
}
/// The lower half of a vector for part 0, the upper for part 1.
template <int part>
SUBSALT_INLINE Wide widened(Vec a) {
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, part));
}
/// Both halves, rounded.
SUBSALT_INLINE Vec narrowed(Wide lower, Wide upper) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lower)), _mm512_cvtpd_ps(upper), 1);
}

/// The entries that the lanes of `inside`, 0 to size - 2 of a table of `size` (at least 16), fall behind, and how far
/// `position` is from there: `inside` is `position` moved into the table.
struct Place {
    Index start;
    __m256i at;
    bool near; // two vectors from `start` hold what all lanes read
    Wide fraction;

    SUBSALT_INLINE Place(Wide position, Wide inside, Index size) {
        const __m256i i = _mm512_cvttpd_epi32(inside);
        fraction = sub(position, _mm512_cvtepi32_pd(i));
        const Index first = _mm256_cvtsi256_si32(i), last = _mm256_extract_epi32(i, 7);
        const Index lower = (first < last ? first : last) & ~Index{7};
        start = lower < size - 16 ? lower : size - 16;
        at = _mm256_sub_epi32(i, _mm256_set1_epi32(static_cast<int>(start)));
        near = _mm256_cmpgt_epu32_mask(at, _mm256_set1_epi32(15)) == 0;
    }
    template <bool together>
    SUBSALT_INLINE Wide read(const double* table) const {
        if constexpr (together)
            return _mm512_permutex2var_pd(_mm512_loadu_pd(table + start), _mm512_cvtepi32_epi64(at),
                                          _mm512_loadu_pd(table + start + 8));
        return _mm512_i32gather_pd(at, table + start, 8);
    }
};

#elif SUBSALT_LANES == 8

using Wide = __m256d;
SUBSALT_INLINE Wide set_wide(double a) {
    return _mm256_set1_pd(a);
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return _mm256_add_pd(a, b);
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return _mm256_sub_pd(a, b);
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return _mm256_mul_pd(a, b);
}
SUBSALT_INLINE Wide div(Wide a, Wide b) {
    return _mm256_div_pd(a, b);
}
SUBSALT_INLINE Wide least(Wide a, Wide b) {
    return _mm256_min_pd(a, b);
}
SUBSALT_INLINE Wide most(Wide a, Wide b) {
    return _mm256_max_pd(a, b);
}
SUBSALT_INLINE Wide where_below(Wide x, Wide y, Wide a, Wide b) {
    return _mm256_blendv_pd(b, a, _mm256_cmp_pd(x, y, _CMP_LT_OQ));
}
template <int part>
SUBSALT_INLINE Wide widened(Vec a) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(a, part));
}
SUBSALT_INLINE Vec narrowed(Wide lower, Wide upper) {
    return _mm256_set_m128(_mm256_cvtpd_ps(upper), _mm256_cvtpd_ps(lower));
}

struct Place {
    Index start;
    __m128i at;
    __m256i pairs; // of floats that are the doubles wanted, in either vector
    Wide upper;    // sign bit set: from the second vector
    bool near;
    Wide fraction;

    SUBSALT_INLINE Place(Wide position, Wide inside, Index size) {
        const __m128i i = _mm256_cvttpd_epi32(inside);
        fraction = sub(position, _mm256_cvtepi32_pd(i));
        const Index first = _mm_cvtsi128_si32(i), last = _mm_extract_epi32(i, 3);
        const Index lower = (first < last ? first : last) & ~Index{3};
        start = lower < size - 8 ? lower : size - 8;
        at = _mm_sub_epi32(i, _mm_set1_epi32(static_cast<int>(start)));
        near = _mm_testz_si128(at, _mm_set1_epi32(~7)) != 0;
        const __m256i wide = _mm256_cvtepi32_epi64(at), twice = _mm256_add_epi64(wide, wide);
        pairs = _mm256_or_si256(twice, _mm256_slli_epi64(_mm256_add_epi64(twice, _mm256_set1_epi64x(1)), 32));
        upper = _mm256_castsi256_pd(_mm256_slli_epi64(wide, 61));
    }
    template <bool together>
    SUBSALT_INLINE Wide read(const double* table) const {
        if constexpr (together) {
            const auto from = [&](const double* p) {
                return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(_mm256_loadu_pd(p)), pairs));
            };
            return _mm256_blendv_pd(from(table + start), from(table + start + 4), upper);
        }
        // gcc 12 calls its own gather without a mask uninitialised
        const Wide none = set_wide(0), all = _mm256_cmp_pd(none, none, _CMP_EQ_OQ);
        return _mm256_mask_i32gather_pd(none, table + start, at, all, 8);
    }
};

#elif SUBSALT_NEON

using Wide = float64x2_t;
SUBSALT_INLINE Wide set_wide(double a) {
    return vdupq_n_f64(a);
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return vaddq_f64(a, b);
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return vsubq_f64(a, b);
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return vmulq_f64(a, b);
}
SUBSALT_INLINE Wide div(Wide a, Wide b) {
    return vdivq_f64(a, b);
}
SUBSALT_INLINE Wide where_below(Wide x, Wide y, Wide a, Wide b) {
    return vbslq_f64(vcltq_f64(x, y), a, b);
}
/// As on x86-64: b where one of them is NaN, or both are zero.
SUBSALT_INLINE Wide least(Wide a, Wide b) {
    return where_below(a, b, a, b);
}
SUBSALT_INLINE Wide most(Wide a, Wide b) {
    return where_below(b, a, a, b);
}
template <int part>
SUBSALT_INLINE Wide widened(Vec a) {
    return part == 0 ? vcvt_f64_f32(vget_low_f32(a)) : vcvt_high_f64_f32(a);
}
SUBSALT_INLINE Vec narrowed(Wide lower, Wide upper) {
    return vcvt_high_f32_f64(vcvt_f32_f64(lower), upper);
}

struct Place {
    Index at[2];
    static constexpr bool near = true;
    Wide fraction;

    SUBSALT_INLINE Place(Wide position, Wide inside, Index) {
        const int64x2_t i = vcvtq_s64_f64(inside);
        fraction = sub(position, vcvtq_f64_s64(i));
        at[0] = vgetq_lane_s64(i, 0);
        at[1] = vgetq_lane_s64(i, 1);
    }
    template <bool>
    SUBSALT_INLINE Wide read(const double* table) const {
        return vsetq_lane_f64(table[at[1]], vdupq_n_f64(table[at[0]]), 1);
    }
};

#elif SUBSALT_LANES == 4

using Wide = __m128d;
SUBSALT_INLINE Wide set_wide(double a) {
    return _mm_set1_pd(a);
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return _mm_add_pd(a, b);
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return _mm_sub_pd(a, b);
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return _mm_mul_pd(a, b);
}
SUBSALT_INLINE Wide div(Wide a, Wide b) {
    return _mm_div_pd(a, b);
}
SUBSALT_INLINE Wide least(Wide a, Wide b) {
    return _mm_min_pd(a, b);
}
SUBSALT_INLINE Wide most(Wide a, Wide b) {
    return _mm_max_pd(a, b);
}
SUBSALT_INLINE Wide where_below(Wide x, Wide y, Wide a, Wide b) {
    return _mm_blendv_pd(b, a, _mm_cmplt_pd(x, y));
}
template <int part>
SUBSALT_INLINE Wide widened(Vec a) {
    return _mm_cvtps_pd(part == 0 ? a : _mm_movehl_ps(a, a));
}
SUBSALT_INLINE Vec narrowed(Wide lower, Wide upper) {
    return _mm_movelh_ps(_mm_cvtpd_ps(lower), _mm_cvtpd_ps(upper));
}

struct Place {
    Index at[2];
    static constexpr bool near = true;
    Wide fraction;

    SUBSALT_INLINE Place(Wide position, Wide inside, Index) {
        const __m128i i = _mm_cvttpd_epi32(inside);
        fraction = sub(position, _mm_cvtepi32_pd(i));
        at[0] = _mm_cvtsi128_si32(i);
        at[1] = _mm_extract_epi32(i, 1);
    }
    template <bool>
    SUBSALT_INLINE Wide read(const double* table) const {
        return _mm_setr_pd(table[at[0]], table[at[1]]);
    }
};

#else

using Wide = double;
SUBSALT_INLINE Wide set_wide(double a) {
    return a;
}
SUBSALT_INLINE Wide add(Wide a, Wide b) {
    return a + b;
}
SUBSALT_INLINE Wide sub(Wide a, Wide b) {
    return a - b;
}
SUBSALT_INLINE Wide mul(Wide a, Wide b) {
    return a * b;
}
SUBSALT_INLINE Wide div(Wide a, Wide b) {
    return a / b;
}
SUBSALT_INLINE Wide least(Wide a, Wide b) {
    return a < b ? a : b;
}
SUBSALT_INLINE Wide most(Wide a, Wide b) {
    return a > b ? a : b;
}
SUBSALT_INLINE Wide where_below(Wide x, Wide y, Wide a, Wide b) {
    return x < y ? a : b;
}
/// A vector of one has no upper half: part 1 is computed like part 0, and dropped.
template <int part>
SUBSALT_INLINE Wide widened(Vec a) {
    return static_cast<double>(a);
}
SUBSALT_INLINE Vec narrowed(Wide lower, Wide) {
    return static_cast<float>(lower);
}

struct Place {
    Index at;
    static constexpr bool near = true;
    Wide fraction;

    SUBSALT_INLINE Place(Wide position, Wide inside, Index) {
        at = static_cast<Index>(inside);
        fraction = position - static_cast<double>(at);
    }
    template <bool>
    SUBSALT_INLINE Wide read(const double* table) const {
        return table[at];
    }
};

#endif

} // namespace subsalt::SUBSALT_NS
