// Reading a table at positions that differ by lane, and what else only the sum of Kirchhoff migration asks of a vector.
//
// Where neighbouring lanes read neighbouring entries, one load or two and a permutation replace a gather; the values
// are the same, so which of them ran changes no bit.
#pragma once

#include "simd.hpp"

namespace subsalt::SUBSALT_NS {

/// How far apart the entries lie that the lanes of a vector read: in as many entries in a row as a vector has lanes, in
/// twice as many, or anywhere.
enum class Spread { one, two, any };

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

    /// Calls `use` with what is known of the lanes, as a type.
    template <class Use>
    SUBSALT_INLINE Vec by_spread(const Use& use) const {
        return near ? use.template operator()<Spread::two>() : use.template operator()<Spread::any>();
    }

    SUBSALT_INLINE explicit Window(Vec position) {
        const __m512i i = _mm512_cvttps_epi32(position);
        fraction = sub(position, _mm512_cvtepi32_ps(i));
        const int first = _mm_cvtsi128_si32(_mm512_castsi512_si128(i)) & ~15;
        start = first;
        at = _mm512_sub_epi32(i, _mm512_set1_epi32(first));
        near = _mm512_cmpgt_epu32_mask(at, _mm512_set1_epi32(31)) == 0;
    }
    template <Spread spread>
    SUBSALT_INLINE Vec read(const float* table) const {
        if constexpr (spread == Spread::two)
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

/// As with 16 lanes; where the trace of an image is sampled like the trace that is read, or finer, its lanes nearly
/// always read eight entries in a row. One load of these straddles two cache lines three times in eight, and is cheaper
/// than two loads, two permutations and a choice.
struct Window {
    __m256i entry;
    int first; // entry of the first lane
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        entry = _mm256_cvttps_epi32(position);
        fraction = sub(position, _mm256_cvtepi32_ps(entry));
        first = _mm_cvtsi128_si32(_mm256_castsi256_si128(entry));
    }
    SUBSALT_INLINE __m256i from(int start) const { return _mm256_sub_epi32(entry, _mm256_set1_epi32(start)); }
    /// Whether all lanes read one of `n` entries (a power of two) from `start`.
    SUBSALT_INLINE bool within(int start, int n) const {
        return _mm256_testz_si256(from(start), _mm256_set1_epi32(-n)) != 0;
    }
    template <class Use>
    SUBSALT_INLINE Vec by_spread(const Use& use) const {
        if (within(first, 8)) return use.template operator()<Spread::one>();
        return within(first & ~7, 16) ? use.template operator()<Spread::two>() : use.template operator()<Spread::any>();
    }
    template <Spread spread>
    SUBSALT_INLINE Vec read(const float* table) const {
        if constexpr (spread == Spread::one) return _mm256_permutevar8x32_ps(load(table + first), from(first));
        if constexpr (spread == Spread::any) return _mm256_i32gather_ps(table, entry, 4);
        const int start = first & ~7;
        const __m256i at = from(start);
        const Vec upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)); // sign bit set: from the second load
        return _mm256_blendv_ps(_mm256_permutevar8x32_ps(load(table + start), at),
                                _mm256_permutevar8x32_ps(load(table + start + 8), at), upper);
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
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const int32x4_t i = vcvtq_s32_f32(position);
        fraction = sub(position, vcvtq_f32_s32(i));
        vst1q_s32(at, i);
    }
    template <class Use>
    SUBSALT_INLINE Vec by_spread(const Use& use) const {
        return use.template operator()<Spread::any>();
    }
    template <Spread>
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
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        const __m128i i = _mm_cvttps_epi32(position);
        fraction = sub(position, _mm_cvtepi32_ps(i));
        at[0] = _mm_cvtsi128_si32(i);
        at[1] = _mm_extract_epi32(i, 1);
        at[2] = _mm_extract_epi32(i, 2);
        at[3] = _mm_extract_epi32(i, 3);
    }
    template <class Use>
    SUBSALT_INLINE Vec by_spread(const Use& use) const {
        return use.template operator()<Spread::any>();
    }
    template <Spread>
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
    Vec fraction;

    SUBSALT_INLINE explicit Window(Vec position) {
        at = static_cast<Index>(position);
        fraction = position - static_cast<float>(at);
    }
    template <class Use>
    SUBSALT_INLINE Vec by_spread(const Use& use) const {
        return use.template operator()<Spread::any>();
    }
    template <Spread>
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
