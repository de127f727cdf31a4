// Snapshots in 16 bits: rows along z as integers, with a power of two as scale for every 64 of them.
//
//   pack       u = 2^e q, |q| < 2^15      4 bytes read and 2 written per point; the read is from cache in a segment
//   unpack     2^e q, exact               2 bytes per point
//
// A row of n numbers takes n mantissas q, then one scale for each block of 64, then 0 where the sum is odd: rows are
// whole words of 4 bytes. With 2^(b-1) <= max |u| < 2^b of a block, q = rint(2^(15-b) u), to even, is at most 2^15, and
// 32767 stands for 2^15. So |2^e q - u| <= 2^-15 (1 + 2^-15) max |u|, e = b - 15. The scale is kept as the exponent of
// 2^e with its bias, so that unpacking shifts it into place. It is 0 in a block whose numbers are all below 2^-103,
// which become 0, and 255 in one with a number that is not finite, where all become NaN.
//
// Blocks lie along z, which is never cut: the numbers are those of the row, whatever ranks, threads or tiles it has.
// The same formula in NumPy: `src/subsalt/kernels/scaled16.py`. All instruction sets give the same bits.
#pragma once

#include "kernels/imaging.hpp"

namespace subsalt::SUBSALT_NS {

constexpr Index block16 = 64; // numbers under one scale

/// 16-bit numbers that a row of n takes.
SUBSALT_INLINE Index row16(Index n) {
    return (n + (n + block16 - 1) / block16 + 1) / 2 * 2;
}

/// A float by its bits.
SUBSALT_INLINE float of_bits(std::uint32_t bits) {
    float a;
    __builtin_memcpy(&a, &bits, sizeof a);
    return a;
}

/// 2^e by its exponent with bias; 0 of 0, and infinity, which makes NaN of q = 0, of 255.
SUBSALT_INLINE float scale_of(std::int16_t biased) {
    return of_bits(static_cast<std::uint32_t>(biased) << 23);
}

#if SUBSALT_LANES == 16

using Bits = __m512i;
SUBSALT_INLINE Bits magnitude(Vec a) {
    return _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(0x7fffffff));
}
SUBSALT_INLINE Bits larger(Bits a, Bits b) {
    return _mm512_max_epi32(a, b);
}
SUBSALT_INLINE void store_rounded(std::int16_t* out, Vec a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(a)));
}
SUBSALT_INLINE Vec load_i16(const std::int16_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}

#elif SUBSALT_LANES == 8

using Bits = __m256i;
SUBSALT_INLINE Bits magnitude(Vec a) {
    return _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(0x7fffffff));
}
SUBSALT_INLINE Bits larger(Bits a, Bits b) {
    return _mm256_max_epi32(a, b);
}
SUBSALT_INLINE void store_rounded(std::int16_t* out, Vec a) {
    const __m256i q = _mm256_cvtps_epi32(a);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
}
SUBSALT_INLINE Vec load_i16(const std::int16_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

#elif SUBSALT_NEON

using Bits = int32x4_t;
SUBSALT_INLINE Bits magnitude(Vec a) {
    return vandq_s32(vreinterpretq_s32_f32(a), vdupq_n_s32(0x7fffffff));
}
SUBSALT_INLINE Bits larger(Bits a, Bits b) {
    return vmaxq_s32(a, b);
}
SUBSALT_INLINE void store_rounded(std::int16_t* out, Vec a) {
    vst1_s16(out, vqmovn_s32(vcvtnq_s32_f32(a)));
}
SUBSALT_INLINE Vec load_i16(const std::int16_t* p) {
    return vcvtq_f32_s32(vmovl_s16(vld1_s16(p)));
}

#elif SUBSALT_LANES == 4

using Bits = __m128i;
SUBSALT_INLINE Bits magnitude(Vec a) {
    return _mm_and_si128(_mm_castps_si128(a), _mm_set1_epi32(0x7fffffff));
}
SUBSALT_INLINE Bits larger(Bits a, Bits b) {
    return _mm_max_epi32(a, b);
}
SUBSALT_INLINE void store_rounded(std::int16_t* out, Vec a) {
    const __m128i q = _mm_cvtps_epi32(a);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packs_epi32(q, q));
}
SUBSALT_INLINE Vec load_i16(const std::int16_t* p) {
    return _mm_cvtepi32_ps(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

#else

using Bits = std::int32_t;
SUBSALT_INLINE Bits magnitude(Vec a) {
    Bits bits;
    __builtin_memcpy(&bits, &a, sizeof bits);
    return bits & 0x7fffffff;
}
SUBSALT_INLINE Bits larger(Bits a, Bits b) {
    return a > b ? a : b;
}
SUBSALT_INLINE void store_rounded(std::int16_t* out, Vec a) {
    const float q = __builtin_rintf(a);
    *out = static_cast<std::int16_t>(q > 32767.0f ? 32767.0f : q);
}
SUBSALT_INLINE Vec load_i16(const std::int16_t* p) {
    return static_cast<float>(*p);
}

#endif

/// The largest of all lanes.
SUBSALT_INLINE std::int32_t largest_lane(Bits a) {
    std::int32_t lane[SUBSALT_LANES];
    __builtin_memcpy(lane, &a, sizeof lane);
    std::int32_t most = lane[0];
    for (Index k = 1; k < lanes; ++k)
        most = lane[k] > most ? lane[k] : most;
    return most;
}

/// The mantissas of a block of the imaged field; returns its scale.
SUBSALT_INLINE std::int16_t pack_block(std::int16_t* out, const float* p, const float* q) {
    constexpr Index count = block16 / lanes;
    Vec u[count];
    for (Index k = 0; k < count; ++k)
        u[k] = imaged(p, q, k * lanes);
    Bits most = magnitude(u[0]);
    for (Index k = 1; k < count; ++k)
        most = larger(most, magnitude(u[k]));
    const std::int32_t exponent = largest_lane(most) >> 23; // b + 126
    if (exponent < 24 || exponent == 255) {
        __builtin_memset(out, 0, block16 * sizeof *out);
        return exponent == 255 ? 255 : 0;
    }
    const Vec factor = set1(of_bits(static_cast<std::uint32_t>(268 - exponent) << 23)); // 2^(15-b)
    for (Index k = 0; k < count; ++k)
        store_rounded(out + k * lanes, mul(u[k], factor));
    return static_cast<std::int16_t>(exponent - 14);
}

/// snapshot_row into 16 bits.
inline void pack_row(std::int16_t* out, const float* p, const float* q, Index n) {
    std::int16_t* scale = out + n;
    Index z = 0;
    for (; z + block16 <= n; z += block16)
        *scale++ = pack_block(out + z, p + z, q == nullptr ? nullptr : q + z);
    if (z < n) {
        float rest[block16] = {};
        std::int16_t mantissas[block16];
        for (Index k = 0; z + k < n; ++k)
            rest[k] = imaged1(p, q, z + k);
        *scale++ = pack_block(mantissas, rest, nullptr);
        __builtin_memcpy(out + z, mantissas, (n - z) * sizeof *out);
    }
    if (scale != out + row16(n)) *scale = 0;
}

/// correlate_row with a packed row u.
inline void correlate16_row(float* image, const std::int16_t* u, const float* p, const float* q, float scale, Index n) {
    const Vec s = set1(scale);
    for (Index z = 0, block = n; z < n; ++block) {
        const Index end = z + block16 < n ? z + block16 : n;
        const float unit = scale_of(u[block]);
        const Vec units = set1(unit);
        for (; z + lanes <= end; z += lanes)
            store(image + z, add_product(s, mul(load_i16(u + z), units), imaged(p, q, z), load(image + z)));
        for (; z < end; ++z)
            image[z] = add_product(scale, static_cast<float>(u[z]) * unit, imaged1(p, q, z), image[z]);
    }
}

} // namespace subsalt::SUBSALT_NS
