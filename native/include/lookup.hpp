// Reading a table at positions that differ by lane, and what else only the sum of Kirchhoff migration asks of a vector.
//
// Where neighbouring lanes read neighbouring entries, two loads and a permutation replace a gather; the values are the
// same, so which of the two ran changes no bit.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

#if SUBSALT_LANES == 16

SUBSALT_INLINE Vec root(Vec a) {
    return _mm512_sqrt_ps(a);
}
SUBSALT_INLINE Vec least(Vec a, Vec b) {
    return _mm512_min_ps(a, b);
}
SUBSALT_INLINE Vec most(Vec a, Vec b) {
    return _mm512_max_ps(a, b);
}
SUBSALT_INLINE Vec magnitude(Vec a) {
    return _mm512_abs_ps(a);
}
SUBSALT_INLINE Vec ceiling_of(Vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
SUBSALT_INLINE Vec floor_of(Vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
/// The lanes with a < b, as bits.
SUBSALT_INLINE unsigned bits_below(Vec a, Vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
/// The lanes with a == b, as bits.
SUBSALT_INLINE unsigned bits_equal(Vec a, Vec b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
/// a where x < y, else b.
SUBSALT_INLINE Vec where_below(Vec x, Vec y, Vec a, Vec b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a);
}
/// a where x == y, else b.
SUBSALT_INLINE Vec where_equal(Vec x, Vec y, Vec a, Vec b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ), b, a);
}
SUBSALT_INLINE float smallest(Vec a) {
    return _mm512_reduce_min_ps(a);
}
SUBSALT_INLINE float largest(Vec a) {
    return _mm512_reduce_max_ps(a);
}

/// The entries that the lanes of `position` (at least 0) fall behind, and how far into them. Loads begin at a whole
/// vector of the table, so that none straddles two cache lines: lanes no more than an entry apart still lie in two.
struct Window {
    Index start;
    __m512i at;
    bool near;
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const __m512i i = _mm512_cvttps_epi32(position);
        fraction = sub(position, _mm512_cvtepi32_ps(i));
        const int first = _mm_cvtsi128_si32(_mm512_castsi512_si128(i)) & ~15;
        start = first;
        at = _mm512_sub_epi32(i, _mm512_set1_epi32(first));
        near = _mm512_cmpgt_epu32_mask(at, _mm512_set1_epi32(31)) == 0;
    }
    template <bool together>
    SUBSALT_INLINE Vec read(const float* table) const {
        if constexpr (together)
            return _mm512_permutex2var_ps(load(table + start), at, load(table + start + 16));
        else
            return _mm512_i32gather_ps(at, table + start, 4);
    }
};

/// The first n entries at p, zeros behind; n < lanes.
SUBSALT_INLINE Vec load_first(const float* p, Index n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
}
SUBSALT_INLINE void store_first(float* p, Index n, Vec a) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), a);
}

#elif SUBSALT_LANES == 8

SUBSALT_INLINE Vec root(Vec a) {
    return _mm256_sqrt_ps(a);
}
SUBSALT_INLINE Vec least(Vec a, Vec b) {
    return _mm256_min_ps(a, b);
}
SUBSALT_INLINE Vec most(Vec a, Vec b) {
    return _mm256_max_ps(a, b);
}
SUBSALT_INLINE Vec magnitude(Vec a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
SUBSALT_INLINE Vec ceiling_of(Vec a) {
    return _mm256_ceil_ps(a);
}
SUBSALT_INLINE Vec floor_of(Vec a) {
    return _mm256_floor_ps(a);
}
SUBSALT_INLINE unsigned bits_below(Vec a, Vec b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)));
}
SUBSALT_INLINE unsigned bits_equal(Vec a, Vec b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
}
SUBSALT_INLINE Vec where_below(Vec x, Vec y, Vec a, Vec b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ));
}
SUBSALT_INLINE Vec where_equal(Vec x, Vec y, Vec a, Vec b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_EQ_OQ));
}
SUBSALT_INLINE float smallest(Vec a) {
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}
SUBSALT_INLINE float largest(Vec a) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

struct Window {
    Index start;
    __m256i at;
    Vec upper; // sign bit set: from the second load
    bool near;
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const __m256i i = _mm256_cvttps_epi32(position);
        fraction = sub(position, _mm256_cvtepi32_ps(i));
        const int first = _mm_cvtsi128_si32(_mm256_castsi256_si128(i)) & ~7;
        start = first;
        at = _mm256_sub_epi32(i, _mm256_set1_epi32(first));
        upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
        near = _mm256_testz_si256(at, _mm256_set1_epi32(~15)) != 0;
    }
    template <bool together>
    SUBSALT_INLINE Vec read(const float* table) const {
        if constexpr (together)
            return _mm256_blendv_ps(_mm256_permutevar8x32_ps(load(table + start), at),
                                    _mm256_permutevar8x32_ps(load(table + start + 8), at), upper);
        else
            return _mm256_i32gather_ps(table + start, at, 4);
    }
};

#elif SUBSALT_NEON

SUBSALT_INLINE Vec root(Vec a) {
    return vsqrtq_f32(a);
}
SUBSALT_INLINE Vec where_below(Vec x, Vec y, Vec a, Vec b) {
    return vbslq_f32(vcltq_f32(x, y), a, b);
}
SUBSALT_INLINE Vec where_equal(Vec x, Vec y, Vec a, Vec b) {
    return vbslq_f32(vceqq_f32(x, y), a, b);
}
/// As on x86-64: b where one of them is NaN, or both are zero.
SUBSALT_INLINE Vec least(Vec a, Vec b) {
    return where_below(a, b, a, b);
}
SUBSALT_INLINE Vec most(Vec a, Vec b) {
    return where_below(b, a, a, b);
}
SUBSALT_INLINE Vec magnitude(Vec a) {
    return vabsq_f32(a);
}
SUBSALT_INLINE Vec ceiling_of(Vec a) {
    return vrndpq_f32(a);
}
SUBSALT_INLINE Vec floor_of(Vec a) {
    return vrndmq_f32(a);
}
/// The lanes in which all bits are set, as bits.
SUBSALT_INLINE unsigned bits_of(uint32x4_t mask) {
    const std::uint32_t weight[] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(weight)));
}
SUBSALT_INLINE unsigned bits_below(Vec a, Vec b) {
    return bits_of(vcltq_f32(a, b));
}
SUBSALT_INLINE unsigned bits_equal(Vec a, Vec b) {
    return bits_of(vceqq_f32(a, b));
}
SUBSALT_INLINE float smallest(Vec a) {
    return vminvq_f32(a);
}
SUBSALT_INLINE float largest(Vec a) {
    return vmaxvq_f32(a);
}

struct Window {
    std::int32_t at[4];
    static constexpr bool near = true;
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const int32x4_t i = vcvtq_s32_f32(position);
        fraction = sub(position, vcvtq_f32_s32(i));
        vst1q_s32(at, i);
    }
    template <bool>
    SUBSALT_INLINE Vec read(const float* table) const {
        const float values[] = {table[at[0]], table[at[1]], table[at[2]], table[at[3]]};
        return vld1q_f32(values);
    }
};

#elif SUBSALT_LANES == 4

SUBSALT_INLINE Vec root(Vec a) {
    return _mm_sqrt_ps(a);
}
SUBSALT_INLINE Vec least(Vec a, Vec b) {
    return _mm_min_ps(a, b);
}
SUBSALT_INLINE Vec most(Vec a, Vec b) {
    return _mm_max_ps(a, b);
}
SUBSALT_INLINE Vec magnitude(Vec a) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
}
SUBSALT_INLINE Vec ceiling_of(Vec a) {
    return _mm_ceil_ps(a);
}
SUBSALT_INLINE Vec floor_of(Vec a) {
    return _mm_floor_ps(a);
}
SUBSALT_INLINE unsigned bits_below(Vec a, Vec b) {
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmplt_ps(a, b)));
}
SUBSALT_INLINE unsigned bits_equal(Vec a, Vec b) {
    return static_cast<unsigned>(_mm_movemask_ps(_mm_cmpeq_ps(a, b)));
}
SUBSALT_INLINE Vec where_below(Vec x, Vec y, Vec a, Vec b) {
    return _mm_blendv_ps(b, a, _mm_cmplt_ps(x, y));
}
SUBSALT_INLINE Vec where_equal(Vec x, Vec y, Vec a, Vec b) {
    return _mm_blendv_ps(b, a, _mm_cmpeq_ps(x, y));
}
SUBSALT_INLINE float smallest(Vec a) {
    const __m128 m = _mm_min_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}
SUBSALT_INLINE float largest(Vec a) {
    const __m128 m = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

struct Window {
    Index at[4];
    static constexpr bool near = true;
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const __m128i i = _mm_cvttps_epi32(position);
        fraction = sub(position, _mm_cvtepi32_ps(i));
        at[0] = _mm_cvtsi128_si32(i);
        at[1] = _mm_extract_epi32(i, 1);
        at[2] = _mm_extract_epi32(i, 2);
        at[3] = _mm_extract_epi32(i, 3);
    }
    template <bool>
    SUBSALT_INLINE Vec read(const float* table) const {
        return _mm_setr_ps(table[at[0]], table[at[1]], table[at[2]], table[at[3]]);
    }
};

#else

SUBSALT_INLINE Vec root(Vec a) {
    return __builtin_sqrtf(a);
}
SUBSALT_INLINE Vec least(Vec a, Vec b) {
    return a < b ? a : b;
}
SUBSALT_INLINE Vec most(Vec a, Vec b) {
    return a > b ? a : b;
}
SUBSALT_INLINE Vec magnitude(Vec a) {
    return __builtin_fabsf(a);
}
SUBSALT_INLINE Vec ceiling_of(Vec a) {
    return __builtin_ceilf(a);
}
SUBSALT_INLINE Vec floor_of(Vec a) {
    return __builtin_floorf(a);
}
SUBSALT_INLINE unsigned bits_below(Vec a, Vec b) {
    return a < b ? 1 : 0;
}
SUBSALT_INLINE unsigned bits_equal(Vec a, Vec b) {
    return a == b ? 1 : 0;
}
SUBSALT_INLINE Vec where_below(Vec x, Vec y, Vec a, Vec b) {
    return x < y ? a : b;
}
SUBSALT_INLINE Vec where_equal(Vec x, Vec y, Vec a, Vec b) {
    return x == y ? a : b;
}
SUBSALT_INLINE float smallest(Vec a) {
    return a;
}
SUBSALT_INLINE float largest(Vec a) {
    return a;
}

struct Window {
    Index at;
    static constexpr bool near = true;
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        at = static_cast<Index>(position);
        fraction = position - static_cast<float>(at);
    }
    template <bool>
    SUBSALT_INLINE Vec read(const float* table) const {
        return table[at];
    }
};

#endif

#if SUBSALT_LANES < 16
SUBSALT_INLINE Vec load_first(const float* p, Index n) {
    float first[lanes] = {};
    for (Index j = 0; j < n; ++j)
        first[j] = p[j];
    return load(first);
}
SUBSALT_INLINE void store_first(float* p, Index n, Vec a) {
    float all[lanes];
    store(all, a);
    for (Index j = 0; j < n; ++j)
        p[j] = all[j];
}
#endif

/// A quotient, by the name that kirchhoff_formulas.hpp uses.
SUBSALT_INLINE Vec ratio(Vec a, Vec b) {
    return div(a, b);
}

/// All lanes, as bits.
constexpr unsigned all_lanes = (1u << SUBSALT_LANES) - 1u;

} // namespace subsalt::SUBSALT_NS
