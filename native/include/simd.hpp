// One float vector of the instruction set this file is compiled for: 16 lanes (v4), 8 (v3), 4 (v2 and, on ARM, neon),
// or 1 (generic).
//
// `fma` is one rounding, except in v2, which has no such instruction: there it is a multiplication and an addition, and
// v2 is therefore a numerics class of its own. Nothing here is shared between instruction sets: SUBSALT_NS differs.
#pragma once

#include "problem.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/// Whether the vectors are NEON's; 4 lanes on another processor are those of v2.
#if SUBSALT_LANES == 4 && defined(__aarch64__)
#define SUBSALT_NEON 1
#else
#define SUBSALT_NEON 0
#endif

/// Whether a multiply-add is rounded once.
#if SUBSALT_LANES == 4 && !SUBSALT_NEON
#define SUBSALT_FUSED 0
#else
#define SUBSALT_FUSED 1
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes" // of vectors as arguments of templates: only their names differ
#endif

#define SUBSALT_INLINE inline __attribute__((always_inline))
#define SUBSALT_INLINED __attribute__((always_inline)) // of a lambda

namespace subsalt::SUBSALT_NS {

#if SUBSALT_LANES == 16

using Vec = __m512;
SUBSALT_INLINE Vec load(const float* p) {
    return _mm512_loadu_ps(p);
}
SUBSALT_INLINE void store(float* p, Vec a) {
    _mm512_storeu_ps(p, a);
}
SUBSALT_INLINE void stream(float* p, Vec a) {
    _mm512_stream_ps(p, a);
}
SUBSALT_INLINE Vec set1(float a) {
    return _mm512_set1_ps(a);
}
SUBSALT_INLINE Vec add(Vec a, Vec b) {
    return _mm512_add_ps(a, b);
}
SUBSALT_INLINE Vec sub(Vec a, Vec b) {
    return _mm512_sub_ps(a, b);
}
SUBSALT_INLINE Vec mul(Vec a, Vec b) {
    return _mm512_mul_ps(a, b);
}
SUBSALT_INLINE Vec div(Vec a, Vec b) {
    return _mm512_div_ps(a, b);
}
SUBSALT_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
SUBSALT_INLINE Vec fms(Vec a, Vec b, Vec c) {
    return _mm512_fmsub_ps(a, b, c);
}
/// c - a b
SUBSALT_INLINE Vec fnma(Vec a, Vec b, Vec c) {
    return _mm512_fnmadd_ps(a, b, c);
}
/// 16 unsigned 16-bit numbers as floats
SUBSALT_INLINE Vec load_u16(const std::uint16_t* p) {
    const __m256i u = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(u));
}
/// a where the bits of mask are set, else b
SUBSALT_INLINE Vec select(Vec mask, Vec a, Vec b) {
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_castps_si512(mask), _mm512_castps_si512(a), _mm512_castps_si512(b), 0xca));
}
/// a where t is not zero, else b
SUBSALT_INLINE Vec where_nonzero(Vec t, Vec a, Vec b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(t, _mm512_setzero_ps(), _CMP_NEQ_UQ), b, a);
}
/// a in the lanes with z0 <= z + lane < z1, else b
SUBSALT_INLINE Vec within(Index z, Index z0, Index z1, Vec a, Vec b) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i at = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(z)));
    const __mmask16 in = _mm512_cmpge_epi32_mask(at, _mm512_set1_epi32(static_cast<int>(z0))) &
                         _mm512_cmplt_epi32_mask(at, _mm512_set1_epi32(static_cast<int>(z1)));
    return _mm512_mask_blend_ps(in, b, a);
}

#elif SUBSALT_LANES == 8

using Vec = __m256;
SUBSALT_INLINE Vec load(const float* p) {
    return _mm256_loadu_ps(p);
}
SUBSALT_INLINE void store(float* p, Vec a) {
    _mm256_storeu_ps(p, a);
}
SUBSALT_INLINE void stream(float* p, Vec a) {
    _mm256_stream_ps(p, a);
}
SUBSALT_INLINE Vec set1(float a) {
    return _mm256_set1_ps(a);
}
SUBSALT_INLINE Vec add(Vec a, Vec b) {
    return _mm256_add_ps(a, b);
}
SUBSALT_INLINE Vec sub(Vec a, Vec b) {
    return _mm256_sub_ps(a, b);
}
SUBSALT_INLINE Vec mul(Vec a, Vec b) {
    return _mm256_mul_ps(a, b);
}
SUBSALT_INLINE Vec div(Vec a, Vec b) {
    return _mm256_div_ps(a, b);
}
SUBSALT_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
SUBSALT_INLINE Vec fms(Vec a, Vec b, Vec c) {
    return _mm256_fmsub_ps(a, b, c);
}
SUBSALT_INLINE Vec fnma(Vec a, Vec b, Vec c) {
    return _mm256_fnmadd_ps(a, b, c);
}
SUBSALT_INLINE Vec load_u16(const std::uint16_t* p) {
    const __m128i u = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(u));
}
SUBSALT_INLINE Vec select(Vec mask, Vec a, Vec b) {
    return _mm256_blendv_ps(b, a, mask);
}
SUBSALT_INLINE Vec where_nonzero(Vec t, Vec a, Vec b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(t, _mm256_setzero_ps(), _CMP_NEQ_UQ));
}
SUBSALT_INLINE Vec within(Index z, Index z0, Index z1, Vec a, Vec b) {
    const __m256i at = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)z));
    const __m256i out = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)z0), at),
                                        _mm256_cmpgt_epi32(at, _mm256_set1_epi32((int)(z1 - 1))));
    return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(out));
}

#elif SUBSALT_NEON

using Vec = float32x4_t;
SUBSALT_INLINE Vec load(const float* p) {
    return vld1q_f32(p);
}
SUBSALT_INLINE void store(float* p, Vec a) {
    vst1q_f32(p, a);
}
SUBSALT_INLINE void stream(float* p, Vec a) {
    vst1q_f32(p, a); // the language of NEON has no store past the caches
}
SUBSALT_INLINE Vec set1(float a) {
    return vdupq_n_f32(a);
}
SUBSALT_INLINE Vec add(Vec a, Vec b) {
    return vaddq_f32(a, b);
}
SUBSALT_INLINE Vec sub(Vec a, Vec b) {
    return vsubq_f32(a, b);
}
SUBSALT_INLINE Vec mul(Vec a, Vec b) {
    return vmulq_f32(a, b);
}
SUBSALT_INLINE Vec div(Vec a, Vec b) {
    return vdivq_f32(a, b);
}
SUBSALT_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return vfmaq_f32(c, a, b);
}
SUBSALT_INLINE Vec fms(Vec a, Vec b, Vec c) {
    return vfmaq_f32(vnegq_f32(c), a, b);
}
SUBSALT_INLINE Vec fnma(Vec a, Vec b, Vec c) {
    return vfmsq_f32(c, a, b);
}
SUBSALT_INLINE Vec load_u16(const std::uint16_t* p) {
    return vcvtq_f32_u32(vmovl_u16(vld1_u16(p)));
}
SUBSALT_INLINE Vec select(Vec mask, Vec a, Vec b) {
    return vbslq_f32(vreinterpretq_u32_f32(mask), a, b);
}
SUBSALT_INLINE Vec where_nonzero(Vec t, Vec a, Vec b) {
    return vbslq_f32(vceqzq_f32(t), b, a);
}
SUBSALT_INLINE Vec within(Index z, Index z0, Index z1, Vec a, Vec b) {
    constexpr std::int32_t lane[] = {0, 1, 2, 3};
    const int32x4_t at = vaddq_s32(vld1q_s32(lane), vdupq_n_s32(static_cast<int>(z)));
    const uint32x4_t in =
        vandq_u32(vcgeq_s32(at, vdupq_n_s32(static_cast<int>(z0))), vcltq_s32(at, vdupq_n_s32(static_cast<int>(z1))));
    return vbslq_f32(in, a, b);
}

#elif SUBSALT_LANES == 4

using Vec = __m128;
SUBSALT_INLINE Vec load(const float* p) {
    return _mm_loadu_ps(p);
}
SUBSALT_INLINE void store(float* p, Vec a) {
    _mm_storeu_ps(p, a);
}
SUBSALT_INLINE void stream(float* p, Vec a) {
    _mm_stream_ps(p, a);
}
SUBSALT_INLINE Vec set1(float a) {
    return _mm_set1_ps(a);
}
SUBSALT_INLINE Vec add(Vec a, Vec b) {
    return _mm_add_ps(a, b);
}
SUBSALT_INLINE Vec sub(Vec a, Vec b) {
    return _mm_sub_ps(a, b);
}
SUBSALT_INLINE Vec mul(Vec a, Vec b) {
    return _mm_mul_ps(a, b);
}
SUBSALT_INLINE Vec div(Vec a, Vec b) {
    return _mm_div_ps(a, b);
}
SUBSALT_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return _mm_add_ps(_mm_mul_ps(a, b), c);
}
SUBSALT_INLINE Vec fms(Vec a, Vec b, Vec c) {
    return _mm_sub_ps(_mm_mul_ps(a, b), c);
}
SUBSALT_INLINE Vec fnma(Vec a, Vec b, Vec c) {
    return _mm_sub_ps(c, _mm_mul_ps(a, b));
}
SUBSALT_INLINE Vec load_u16(const std::uint16_t* p) {
    return _mm_cvtepi32_ps(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
SUBSALT_INLINE Vec select(Vec mask, Vec a, Vec b) {
    return _mm_blendv_ps(b, a, mask);
}
SUBSALT_INLINE Vec where_nonzero(Vec t, Vec a, Vec b) {
    return _mm_blendv_ps(b, a, _mm_cmpneq_ps(t, _mm_setzero_ps()));
}
SUBSALT_INLINE Vec within(Index z, Index z0, Index z1, Vec a, Vec b) {
    const __m128i at = _mm_add_epi32(_mm_setr_epi32(0, 1, 2, 3), _mm_set1_epi32((int)z));
    const __m128i out =
        _mm_or_si128(_mm_cmpgt_epi32(_mm_set1_epi32((int)z0), at), _mm_cmpgt_epi32(at, _mm_set1_epi32((int)(z1 - 1))));
    return _mm_blendv_ps(a, b, _mm_castsi128_ps(out));
}

#else

using Vec = float;
SUBSALT_INLINE Vec load(const float* p) {
    return *p;
}
SUBSALT_INLINE void store(float* p, Vec a) {
    *p = a;
}
SUBSALT_INLINE void stream(float* p, Vec a) {
    *p = a;
}
SUBSALT_INLINE Vec set1(float a) {
    return a;
}
SUBSALT_INLINE Vec add(Vec a, Vec b) {
    return a + b;
}
SUBSALT_INLINE Vec sub(Vec a, Vec b) {
    return a - b;
}
SUBSALT_INLINE Vec mul(Vec a, Vec b) {
    return a * b;
}
SUBSALT_INLINE Vec div(Vec a, Vec b) {
    return a / b;
}
SUBSALT_INLINE Vec fma(Vec a, Vec b, Vec c) {
    return __builtin_fmaf(a, b, c);
}
SUBSALT_INLINE Vec fms(Vec a, Vec b, Vec c) {
    return __builtin_fmaf(a, b, -c);
}
SUBSALT_INLINE Vec fnma(Vec a, Vec b, Vec c) {
    return __builtin_fmaf(-a, b, c);
}
SUBSALT_INLINE Vec load_u16(const std::uint16_t* p) {
    return static_cast<float>(*p);
}
SUBSALT_INLINE Vec select(Vec mask, Vec a, Vec b) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &mask, sizeof bits);
    return bits != 0 ? a : b;
}
SUBSALT_INLINE Vec where_nonzero(Vec t, Vec a, Vec b) {
    return t != 0.0f ? a : b;
}
SUBSALT_INLINE Vec within(Index z, Index z0, Index z1, Vec a, Vec b) {
    return z0 <= z && z < z1 ? a : b;
}

#endif

constexpr Index lanes = SUBSALT_LANES;

/// The number of the last lane at p whose bits are not all zero, and one; 0 when all are.
SUBSALT_INLINE Index last_set(const float* p) {
#if SUBSALT_LANES == 16
    const __m512i bits = _mm512_loadu_si512(p);
    const unsigned set = _mm512_test_epi32_mask(bits, bits);
#elif SUBSALT_LANES == 8
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i zero = _mm256_cmpeq_epi32(bits, _mm256_setzero_si256());
    const unsigned set = ~static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(zero))) & 0xffu;
#elif SUBSALT_NEON
    const uint32x4_t bits = vld1q_u32(reinterpret_cast<const std::uint32_t*>(p));
    const std::uint32_t weight[] = {1, 2, 4, 8};
    const unsigned set = vaddvq_u32(vandq_u32(vtstq_u32(bits, bits), vld1q_u32(weight)));
#elif SUBSALT_LANES == 4
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i zero = _mm_cmpeq_epi32(bits, _mm_setzero_si128());
    const unsigned set = ~static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(zero))) & 0xfu;
#else
    unsigned set;
    __builtin_memcpy(&set, p, sizeof set);
    set = set != 0 ? 1 : 0;
#endif
    return set == 0 ? 0 : 32 - __builtin_clz(set);
}

/// After `stream`, which goes past the caches to an aligned place: make it visible to other threads.
SUBSALT_INLINE void end_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/// Whether vectors can be shifted into each other; elsewhere neighbours along a row are loaded, unaligned.
#if SUBSALT_LANES >= 8
#define SUBSALT_SHIFTS 1
#else
#define SUBSALT_SHIFTS 0
#endif

/// Lanes k .. k + lanes - 1 of the concatenation lo, hi, 0 < k < lanes.
#if SUBSALT_LANES == 8
template <int k>
SUBSALT_INLINE Vec shift(Vec lo, Vec hi) {
    // AVX2 shifts halves of a vector: the one in the middle is put together first
    const __m256i a = _mm256_castps_si256(lo), b = _mm256_castps_si256(hi),
                  middle = _mm256_permute2x128_si256(a, b, 0x21);
    if constexpr (k < 4)
        return _mm256_castsi256_ps(_mm256_alignr_epi8(middle, a, 4 * k));
    else
        return _mm256_castsi256_ps(_mm256_alignr_epi8(b, middle, 4 * k - 16));
}
#elif SUBSALT_LANES == 16
template <int k>
SUBSALT_INLINE Vec shift(Vec lo, Vec hi) {
    return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(hi), _mm512_castps_si512(lo), k));
}
#endif

/// Scalar multiply-add of the same numerics class as `fma`.
SUBSALT_INLINE float fma1(float a, float b, float c) {
#if SUBSALT_FUSED
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

#if SUBSALT_LANES > 1
// one number by the same names, for formulas.hpp
SUBSALT_INLINE float add(float a, float b) {
    return a + b;
}
SUBSALT_INLINE float mul(float a, float b) {
    return a * b;
}
SUBSALT_INLINE float fma(float a, float b, float c) {
    return fma1(a, b, c);
}
#endif

/// A number in all lanes, or that number.
template <class N>
SUBSALT_INLINE N of(float a) {
    if constexpr (sizeof(N) == sizeof(float))
        return a;
    else
        return set1(a);
}

/// The cache that a row's kernel asks for what the next row needs: none, when that is in cache already.
enum class Fetch : int { none = 0, l1 = 1, l2 = 2 };

/// Ask for a cache line. One row ahead into L1 gave 1.40 of the plain loop on one core (isotropic, 256^3, order 8, Zen
/// 5 with 48 KiB L1), two rows ahead into L2 1.10, no prefetch 0.81; VTI 1.15, 1.04, 0.80. Zen 4 with 32 KiB prefers L2
/// (docs/notes/kernels.md), so which of the two is found by trial.
template <Fetch F = Fetch::l1>
SUBSALT_INLINE void prefetch(const void* p) {
    __builtin_prefetch(p, 0, F == Fetch::l2 ? 2 : 3);
}

/// Whether a cache line of 64 bytes begins at p: vectors of 8 lanes ask for each line once, not twice.
SUBSALT_INLINE bool begins_line([[maybe_unused]] const void* p) {
#if SUBSALT_LANES == 8
    return (reinterpret_cast<std::uintptr_t>(p) & 63) == 0;
#else
    return true;
#endif
}

/// Ask for a cache line in L2.
SUBSALT_INLINE void prefetch_l2(const void* p) {
    __builtin_prefetch(p, 0, 2);
}

/// Flush denormals while it lives: they cost hundreds of cycles each and carry no signal. ARM looks before it rounds,
/// x86-64 after: what is rounded up to 2^-126 is zero here and 2^-126 there.
class FlushDenormals {
public:
#if defined(__x86_64__)
    FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
    ~FlushDenormals() { _mm_setcsr(saved_); }

private:
    unsigned saved_;
#elif defined(__aarch64__)
    FlushDenormals() {
        asm volatile("mrs %0, fpcr" : "=r"(saved_));
        asm volatile("msr fpcr, %0" : : "r"(saved_ | (1ull << 24)));
    }
    ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }

private:
    std::uint64_t saved_;
#else
    FlushDenormals() {}
    ~FlushDenormals() {}
#endif
    FlushDenormals(const FlushDenormals&) = delete;
    FlushDenormals& operator=(const FlushDenormals&) = delete;
};

} // namespace subsalt::SUBSALT_NS
